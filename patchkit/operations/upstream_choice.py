"""Which releases that a series does not list check-upstream looks at, and as what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from patchkit.core.series import LockDocument
from patchkit.core.upstream import Release, Target, Upstream, VersionsDocument
from patchkit.core.upstream_report import FoundRelease
from patchkit.operations.known import load_known
from patchkit.operations.upstream_targets import Wanted


def shipped_releases(folder: Path, beside: Collection[str] = ()) -> list[Release]:
    """Return the releases that patchkit lists, and neither the series in ``folder`` nor ``beside`` (versions) has.

    Raises StoreError.
    """
    unlisted = [target.release for target in load_known(folder).unlisted if target.name not in beside]
    return [release for release in unlisted if release is not None]


def as_carried(
    wanted: Iterable[Wanted],
    touched: Iterable[str],
    known: Sequence[Target],
    upstream: Upstream,
    *,
    with_clone: bool,
) -> list[Wanted]:
    """Return releases that the series does not list as rebase takes them, everything else as it is.

    A release whose wheel has not all of the files is the commit of its tag, which takes a clone. One whose commit the
    series lists (``known``) is that target, and no second one.
    """
    commits = {target.commit for target in known if target.commit is not None}
    paths = list(touched)
    found: list[Wanted] = []
    for each in wanted:
        release = each.target.release
        if each.listed or release is None:
            found.append(each)
        elif each.target.commit not in commits:
            unshipped = [path for path in paths if not upstream.ships(release, path)] if release.ships != UNSEEN else []
            found.append(_of_tag(each, release, unshipped[0], upstream, with_clone=with_clone) if unshipped else each)
    return found


UNSEEN = ("?",)
"""What a release ships of which nobody has read the wheel."""


def _of_tag(wanted: Wanted, release: Release, unshipped: str, upstream: Upstream, *, with_clone: bool) -> Wanted:
    if not with_clone or release.tag is None or release.commit is None:
        ships_what = " and ".join(release.ships)
        return replace(
            wanted,
            missing=f"the wheel of v{release.version} has no {unshipped}: it ships {ships_what}",
            hint=f"give a clone of {upstream.name} with --git REPO: its tag's commit is taken",
        )
    target = Target(release.tag, release.version, None, release.commit, {}, None)
    return replace(wanted, target=target, kind="revision")


MOST_NEW = 20
"""New releases that are looked at without being named: each is a download, and an index can claim any number."""


def worth_a_look(
    versions: VersionsDocument, shipped: Iterable[Release], found: Iterable[Release | FoundRelease]
) -> tuple[list[Release | FoundRelease], list[str]]:
    """Return the releases of ``shipped`` and ``found`` that are looked at without being named, and what else is new.

    Of the hundreds of pre-releases and dev builds that is the newest one, if it is ahead of every release: what the
    others broke, the releases behind them have broken too. Of releases that were found it is the newest ``MOST_NEW``,
    for the same reason; second are the versions of the others, the oldest first.
    """
    from packaging.version import Version  # noqa: PLC0415 - 15 ms that other commands do without

    by_version = {Version(release.version): release for release in (*shipped, *found)}
    own = {Version(release.version) for release in shipped}
    final = [version for version in by_version if not version.is_prerelease]
    newest = max(by_version, default=None)
    known = [*(Version(release.version) for release in versions.upstream.releases), *final]
    left_out = sorted(version for version in final if version not in own)[:-MOST_NEW]
    skipped = set(left_out)
    looked_at = [by_version[version] for version in final if version not in skipped]
    if newest is not None and newest.is_prerelease and newest > max(known, default=Version("0")):
        looked_at.append(by_version[newest])
    return looked_at, [by_version[version].version for version in left_out]


def since_the_series_began(wanted: Sequence[Wanted], lock: LockDocument) -> tuple[list[Wanted], list[str]]:
    """Return those that are no older than the oldest target in the lock, and the titles of the others.

    A series that was made for one release is for what comes after it; what came before can be named.
    """
    from packaging.version import Version  # noqa: PLC0415 - 15 ms that other commands do without

    oldest = min((Version(each.target.as_of) for each in wanted if each.target.name in lock.targets), default=None)
    kept: list[Wanted] = []
    earlier: list[str] = []
    for each in wanted:
        if oldest is not None and each.target.name not in lock.targets and Version(each.target.as_of) < oldest:
            earlier.append(each.target.title)
        else:
            kept.append(each)
    return kept, earlier
