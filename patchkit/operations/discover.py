"""discover: releases that upstream_versions.yaml does not list, and where upstream contradicts what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.core.report import Problem
from patchkit.core.upstream import Release, Upstream, VersionsDocument
from patchkit.core.upstream_report import FoundRelease
from patchkit.errors import DamagedCloneError, IndexUnavailableError, TreeError
from patchkit.operations.contradictions import CHANGED, against_index, against_tags, refuse_stranger
from patchkit.operations.upstream_choice import UNSEEN
from patchkit.progress import Reporter, silent

if TYPE_CHECKING:
    from patchkit.trees.git_program import GitProgram
    from patchkit.trees.index_listing import ListedRelease, Listing
    from patchkit.trees.package_indexes import PackageIndexes
    from patchkit.trees.release_tags import ReleaseTag

_WHICH = "one of the two is not what was released: find out which, and take that index out of pip's settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What upstream has, held against what the file says."""

    found: tuple[FoundRelease, ...]
    """Releases that the file does not list, by version; none that is older than the oldest listed one."""
    problems: tuple[Problem, ...]
    """Where upstream is no longer what the file says, the gravest first: a summary names no more than a few."""
    faults: tuple[Problem, ...] = ()
    """What the repository that was given has lost, or has in another form than its ids say."""
    notes: tuple[str, ...]
    """What could not be looked at, and what is worth knowing but no problem."""
    releases: Mapping[str, ListedRelease] = field(default_factory=dict)
    """What the index has, by version; empty when it gave no answer."""
    index: bool
    """Whether an index answered."""
    tags: bool
    """Whether the tags of a repository were read."""

    def release(self, found: FoundRelease) -> Release | None:
        """Return a release that was found as far as the index tells; None where that names no wheel by its digest."""
        listed = self.releases.get(found.version)
        if listed is None or not listed.files:
            return None
        return Release(
            version=found.version,
            tag=found.tag,
            commit=found.commit,
            date=found.date,
            python=listed.python,
            yanked=found.yanked,
            ships=UNSEEN,
            blobs={},
            files=dict(listed.files),
        )


def discover(
    versions: VersionsDocument,
    *,
    repository: Path | GitProgram | None = None,
    pre: bool = False,
    offline: bool = False,
    indexes: PackageIndexes | None = None,
    reporter: Reporter = silent,
) -> Discovered:
    """Look for releases at the package indexes that pip is set up for and, with ``repository``, among its tags.

    Pre-releases and dev builds are found with ``pre`` only, yanked releases always. ``offline`` asks no index; whoever
    asks more of them gives the ``indexes``. That an index is out of reach, or that a partial clone lacks something, is
    a note, what a clone has lost a fault; the caller tells from ``index`` and ``tags`` whether anything was looked at.
    Nothing is written. Raises TreeError when ``repository`` is no git repository, or none of this upstream.
    """
    upstream = versions.upstream
    weighed: list[tuple[int, Problem]] = []
    faults: list[Problem] = []
    notes: list[str] = []
    listing = None if offline else _listing(upstream, indexes, notes, reporter)
    tags: tuple[ReleaseTag, ...] | None = None
    clone = None
    if repository is not None:
        from patchkit.trees.git_program import opened  # noqa: PLC0415 - git only where it is asked for

        clone = opened(repository, download=False)
        reporter.step(f"looking for tags in {clone.repository}")
        tags = _tags(clone, upstream.tag, notes, faults)
    if listing is not None:
        weighed += ((CHANGED, Problem(message, hint=_WHICH)) for message in listing.contradictions)
        weighed += against_index(upstream, listing, notes)
    if clone is not None and tags is not None:
        weighed += ((CHANGED, problem) for problem in against_tags(upstream, clone, tags, notes, faults))
        if not faults:
            refuse_stranger(upstream, clone, tags)
    releases = {release.version: release for release in listing.releases} if listing else {}
    return Discovered(
        found=_found(upstream, releases, tags or (), pre=pre),
        problems=tuple(problem for _, problem in sorted(weighed, key=itemgetter(0))),
        faults=tuple(faults),
        notes=tuple(notes),
        releases=releases,
        index=listing is not None,
        tags=tags is not None,
    )


def _listing(
    upstream: Upstream, indexes: PackageIndexes | None, notes: list[str], reporter: Reporter
) -> Listing | None:
    if not upstream.distribution:
        notes.append(f"{upstream.name} is on no package index: its releases are the tags of a clone, --git REPO")
        return None
    from patchkit.trees.index_listing import list_releases  # noqa: PLC0415 - only this asks an index

    try:
        listing = list_releases(upstream.distribution, indexes=indexes, reporter=reporter)
    except IndexUnavailableError as error:
        notes.append(error.message)
        return None
    notes.extend(listing.problems)
    return listing


def _tags(clone: GitProgram, pattern: str, notes: list[str], faults: list[Problem]) -> tuple[ReleaseTag, ...] | None:
    from patchkit.trees.release_tags import release_tags  # noqa: PLC0415 - git only where it is asked for

    try:
        return release_tags(clone, pattern)
    except DamagedCloneError as error:
        faults.append(Problem(error.message, hint=error.hint))
        return None
    except TreeError as error:
        # A place that is no repository was a mistake of whoever named it; a git that gives no answer is none.
        notes.append(f"the tags of {clone.repository} cannot be read: {error.message}")
        return None


def _found(
    upstream: Upstream, releases: Mapping[str, ListedRelease], tags: tuple[ReleaseTag, ...], *, pre: bool
) -> tuple[FoundRelease, ...]:
    from packaging.version import Version  # noqa: PLC0415 - slow, and needed here alone

    known = {Version(release.version) for release in upstream.releases}
    # By value: a tag core_v1.0 is that of a wheel 1.0.0.
    listed_of = {Version(name): listed for name, listed in releases.items()}
    tag_of = {Version(tag.version): tag for tag in tags}
    found: list[FoundRelease] = []
    for version in sorted({*listed_of, *tag_of}):
        if version in known or (known and version < min(known)) or (version.is_prerelease and not pre):
            continue
        listed, tag = listed_of.get(version), tag_of.get(version)
        where = (("index",) if listed else ()) + (("tag",) if tag else ())
        release = FoundRelease(
            version=listed.version if listed else str(version),
            where=where,
            date=(listed.date if listed else "") or (tag.date if tag else ""),
            tag=tag.name if tag else None,
            commit=tag.commit if tag else None,
            yanked=listed.yanked if listed else None,
            pre_release=version.is_prerelease,
        )
        found.append(release)
    return tuple(found)
