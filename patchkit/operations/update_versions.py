"""update: releases that were discovered, added to upstream_versions.yaml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.printing import shell_word
from patchkit.core.report import Problem
from patchkit.core.upstream import Release, Target, Upstream
from patchkit.core.upstream_report import FoundRelease
from patchkit.operations.coverage import refuse_bad_ranges, variants_for
from patchkit.operations.discover import Discovered
from patchkit.operations.sources import fetch_release, fetch_releases
from patchkit.progress import Reporter, silent
from patchkit.store.cache import default_cache
from patchkit.store.files import write_files
from patchkit.store.location import own_versions_file
from patchkit.store.series import Series, load_series
from patchkit.store.versions import add_releases, load_versions
from patchkit.trees.archive import WheelTree
from patchkit.trees.git_program import GitProgram, opened
from patchkit.trees.layout import seen

if TYPE_CHECKING:
    from patchkit.trees.package_indexes import PackageIndexes


@dataclass(frozen=True, slots=True)
class Updated:
    """What update wrote."""

    written: tuple[str, ...] = ()
    """The file, or nothing."""
    added: tuple[str, ...] = ()
    """Versions."""
    problems: tuple[Problem, ...] = ()
    """Releases that are not what they seem, and were not added."""
    notes: tuple[str, ...] = ()
    """Releases that cannot be added yet, and why."""


def update(
    folder: Path,
    discovered: Discovered,
    *,
    repository: Path | GitProgram | None = None,
    cache: Path | None = None,
    indexes: PackageIndexes | None = None,
    reporter: Reporter = silent,
) -> Updated:
    """Add the releases of ``discovered`` to the upstream_versions.yaml of the series in ``folder``; one write.

    What a release ships and the blob ids of the files that the series touches are those of its wheel, fetched by the
    digest that the index gave, several at a time (from ``indexes``; None: where pip looks); where there is a tag,
    ``repository`` must have the same. The lock is left alone: the series is not made for these releases yet. Raises
    UsageError when the file is not the series' own or belongs to an installed patchkit, SourceError, and the errors of
    ``patchkit.trees.index.fetch_wheel``, of several that of the first release; nothing is written then.
    """
    path = own_versions_file(folder)
    clone = opened(repository, download=False) if repository is not None else None
    versions = load_versions(path)
    upstream = versions.upstream
    series = load_series(folder)
    refuse_bad_ranges(series)
    notes: list[str] = []
    problems: list[Problem] = []
    releases: list[Release] = []
    unread: list[Release] = []
    remarks: dict[str, dict[str, str]] = {}
    for found in discovered.found:
        reason = _why_not_yet(found, discovered)
        if any(found.version == release.version for release in upstream.releases):
            continue
        if reason is not None:
            notes.append(f"v{found.version} is not added: {reason}")
            continue
        release = discovered.release(found)
        assert release is not None  # noqa: S101 - the reason would be that
        unread.append(release)
    place = cache or default_cache()
    targets = [Target(release.version, release.version, None, None, {}, release) for release in unread]
    failed = fetch_releases(versions, targets, cache=place, indexes=indexes, reporter=reporter)
    for unseen, target in zip(unread, targets, strict=True):
        if target.name in failed:
            raise failed[target.name]
        wheel = WheelTree(fetch_release(versions, target, cache=place, reporter=reporter))
        release = _read(unseen, wheel, upstream, series)
        other = _differing(release, clone)
        if other is None or other:
            problems += _not_the_tag(release, clone, other)
            continue
        releases.append(release)
        remarks[release.version] = _remarks(release, discovered)
    if not releases:
        return Updated(problems=tuple(problems), notes=tuple(notes))
    _mark_the_same((*upstream.releases, *releases), remarks)
    write_files({path: add_releases(path, releases, remarks)})
    return Updated((str(path),), tuple(release.version for release in releases), tuple(problems), tuple(notes))


def _why_not_yet(found: FoundRelease, discovered: Discovered) -> str | None:
    listed = discovered.releases.get(found.version)
    if listed is None:
        return f"{f'tag {found.tag}' if found.tag else 'it'} has no wheel on the package index that answered"
    if not listed.files:
        return "the package index does not tell the SHA-256 of its wheels"
    if not found.date:
        return "the package index does not tell when it was uploaded; --git REPO gives the day of its tag's commit"
    return None


def _read(release: Release, wheel: WheelTree, upstream: Upstream, series: Series) -> Release:
    """Return a release with what only its wheel tells."""
    tree = seen(wheel, upstream)
    blobs = {path: blob_id_if_any(tree.read(path)) for path in _touched(release.version, upstream, series)}
    found = {path: blob for path, blob in blobs.items() if blob is not None}
    return structs.replace(release, ships=packages(wheel.paths()), blobs=found)


def _touched(version: str, upstream: Upstream, series: Series) -> list[str]:
    """Return the files that the series touches on a release, and those it touches on the listed one below."""
    from packaging.version import Version  # noqa: PLC0415 - slow, and needed here alone

    below = [release for release in upstream.releases if Version(release.version) < Version(version)]
    paths = set(max(below, key=lambda release: Version(release.version)).blobs) if below else set()
    target = Target(version, version, None, None, {}, None)
    for patch in series.patches:
        for variant in variants_for(patch.document, target):
            paths.update(file.path for file in patch.variant(variant.file).files)
    return sorted(paths)


def packages(paths: Iterable[str]) -> tuple[str, ...]:
    """Return what can be imported of a wheel with these files: its packages, below folders without a module."""
    folders: dict[str, set[str]] = {"": set()}
    modules: set[str] = set()
    for path in paths:
        *above, name = path.split("/")
        if above and (above[0].endswith((".dist-info", ".data")) or not name.endswith(".py")):
            continue
        for depth in range(len(above)):
            folders.setdefault("/".join(above[:depth]), set()).add("/".join(above[: depth + 1]))
        if above:
            modules.add("/".join(above))
    todo, found = sorted(folders[""]), []
    while todo:
        folder = todo.pop(0)
        if folder in modules:
            found.append(folder.replace("/", "."))
        else:
            todo += sorted(folders.get(folder, ()))
    return tuple(sorted(found))


def _differing(release: Release, clone: GitProgram | None) -> list[str] | None:
    """Return the touched files that the release's tag has otherwise than its wheel; None when it cannot be read."""
    if release.commit is None or clone is None:
        return []
    from patchkit.trees.release_tags import blobs_at  # noqa: PLC0415 - git only where it is asked for

    blobs, lost = blobs_at(clone, {release.commit: release.blobs})
    if lost:
        return None
    return [path for path, blob in release.blobs.items() if blobs[release.commit][path] != blob]


def _not_the_tag(release: Release, clone: GitProgram | None, paths: list[str] | None) -> list[Problem]:
    if clone is not None and paths is None:
        return [
            Problem(
                f"v{release.version} is not added: {clone.repository} lacks objects of {release.tag}",
                hint=f"its wheel is compared with them: git -C {shell_word(str(clone.repository))} fetch --tags",
            )
        ]
    return [
        Problem(
            f"v{release.version} is not added: {path} in its wheel is not that of the tag {release.tag}",
            path=path,
            hint="find out which one upstream means, and enter the release by hand",
        )
        for path in paths or ()
    ]


def _remarks(release: Release, discovered: Discovered) -> dict[str, str]:
    """Return the comments that say what an empty value means."""
    remarks: dict[str, str] = {}
    if release.tag is None:
        remarks["tag"] = "the repository had none" if discovered.tags else "not known: no repository was looked at"
    if not discovered.releases[release.version].date:
        remarks["date"] = "of the tag's commit: the index gives none"
    if not release.python:
        remarks["python"] = "the index gives no Requires-Python"
    return remarks


def _mark_the_same(releases: Iterable[Release], remarks: Mapping[str, dict[str, str]]) -> None:
    """Note at each new release whether its files are those of the one before it."""
    from packaging.version import Version  # noqa: PLC0415 - slow, and needed here alone

    ordered = sorted(releases, key=lambda release: Version(release.version))
    for before, release in pairwise(ordered):
        if release.version in remarks and release.blobs and release.blobs == before.blobs:
            remarks[release.version]["blobs"] = f"the same as in {before.version}"
