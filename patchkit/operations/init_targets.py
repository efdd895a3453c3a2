"""What a new list of upstream's targets says of the releases, branches and commits that a team names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from patchkit.core.upstream import Branch, PinnedCommit, Release, Upstream, find_target
from patchkit.errors import RevisionNotFoundError, TreeError, UsageError
from patchkit.operations.import_base import pinned_commit, tag_asked
from patchkit.operations.known import Known
from patchkit.operations.revisions import revision_called
from patchkit.operations.update_versions import packages
from patchkit.progress import Reporter

if TYPE_CHECKING:
    from patchkit.trees.git import GitTree

Entry = Release | Branch | PinnedCommit


def named_entries(
    names: Sequence[str],
    known: Known,
    *,
    repository: Path | None,
    touched: Sequence[str],
    cache: Path,
    reporter: Reporter,
) -> list[Entry]:
    """Return the entries of the targets called ``names``, each once, without blob ids.

    A release that patchkit lists, or the package index has, is a release; one whose wheel lacks one of the files
    ``touched`` is the commit of its tag. Anything else is looked for in ``repository``: a branch becomes a tracked one,
    a tag or commit a pinned commit. Raises UsageError for a name that nobody knows, and the errors of git and of the
    index.
    """
    found: dict[str, Entry] = {}
    for name in names:
        reporter.step(f"looking for {name}")
        entry = _entry(name, known, repository=repository, touched=touched, cache=cache, reporter=reporter)
        found.setdefault(entry.version if isinstance(entry, Release) else entry.name, entry)
    return list(found.values())


def _entry(
    name: str, known: Known, *, repository: Path | None, touched: Sequence[str], cache: Path, reporter: Reporter
) -> Entry:
    upstream = known.upstream
    release: Release | None = None
    revision = name
    try:
        target = find_target(known.targets, name)
    except UsageError as unknown:
        version = upstream.version_asked(name)
        if version is not None:
            release = _of_index(version, upstream, repository, cache, reporter)
        if release is None and repository is None:
            hint = f"{unknown.hint}; for another revision give a clone of {upstream.name} with --git REPO"
            raise UsageError(unknown.message, hint=hint) from unknown
    else:
        release = target.release
        listed = known.entry(target)
        if isinstance(listed, PinnedCommit):
            return replace(listed, blobs={})
        if release is None and repository is None:
            raise UsageError(f"{name} is a branch, which only a clone has", hint="add --git REPO")
    unshipped = [path for path in touched if release is not None and not upstream.ships(release, path)]
    if release is not None and not unshipped:
        return replace(release, blobs={})
    note = ""
    if release is not None:
        if repository is None:
            raise UsageError(
                f"the wheel of v{release.version} has no {unshipped[0]}: it ships {' and '.join(release.ships)}",
                hint=f"give a clone of {upstream.name} with --git REPO: its tag's commit is taken",
            )
        revision = _spelling(release, upstream, repository)
        note = f"{revision} as it is in git: its wheel has not all of the files"
    assert repository is not None  # noqa: S101 - tested above
    return _of_git(repository, revision, upstream, note)


def _spelling(release: Release, upstream: Upstream, repository: Path) -> str:
    """Return what a clone calls a release. Raises RevisionNotFoundError."""
    from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for

    for spelling in (release.tag, upstream.tag_of(release.version), release.commit):
        with suppress(RevisionNotFoundError):
            if spelling:
                GitTree(repository, spelling)
                return spelling
    raise RevisionNotFoundError(f"{repository}: v{release.version} is not in this clone", hint="fetch its tag")


def _of_index(
    version: str, upstream: Upstream, repository: Path | None, cache: Path, reporter: Reporter
) -> Release | None:
    """Return a release that the package index has, or None. Raises the errors of ``patchkit.trees.index``."""
    if not upstream.distribution:
        return None
    from patchkit.trees.archive import WheelTree  # noqa: PLC0415 - zipfile only where a wheel is read
    from patchkit.trees.index import fetch_wheel  # noqa: PLC0415 - only where the index is asked
    from patchkit.trees.index_listing import list_releases  # noqa: PLC0415 - as above
    from patchkit.trees.package_indexes import PackageIndexes  # noqa: PLC0415 - as above

    indexes = PackageIndexes()
    releases = list_releases(upstream.distribution, indexes=indexes, reporter=reporter).releases
    listed = next((each for each in releases if each.version == version), None)
    if listed is None or not listed.files:
        return None
    tag = _tag(upstream, version, repository)
    date = listed.date or (tag[1] if tag else "")
    if not date:
        raise UsageError(
            f"the package index does not tell when {upstream.distribution} {version} was uploaded",
            hint="--git REPO gives the day of its tag's commit",
        )
    wheel = WheelTree(
        fetch_wheel(upstream.distribution, version, listed.files, cache=cache, indexes=indexes, reporter=reporter)
    )
    missing = [package for package in upstream.shipped if next(iter(wheel.paths(package)), None) is None]
    if missing:
        raise TreeError(
            f"{wheel.label} has no folder {missing[0]}, so that it is no {upstream.name}",
            hint="--package says the folders of the packages, --source which of their folders a wheel does not have",
        )
    return Release(
        version=version,
        tag=upstream.tag_of(version) if tag else None,
        commit=tag[0] if tag else None,
        date=date,
        python=listed.python,
        yanked=listed.yanked,
        ships=packages(wheel.paths()),
        blobs={},
        files=dict(listed.files),
    )


def _tag(upstream: Upstream, version: str, repository: Path | None) -> tuple[str, str] | None:
    """Return commit and day of a release's tag; None when no clone has it."""
    if repository is None:
        return None
    from patchkit.trees.release_tags import release_tags  # noqa: PLC0415 - git only where it is asked for

    wanted = upstream.tag_of(version)
    found = next((tag for tag in release_tags(repository, upstream.tag) if tag.name == wanted), None)
    return None if found is None else (found.commit, found.date)


def _of_git(repository: Path, revision: str, upstream: Upstream, note: str) -> Branch | PinnedCommit:
    from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for

    tree = revision_called(revision, upstream, lambda name: GitTree(repository, name))
    missing = [package for package in upstream.packages if next(iter(tree.paths(package)), None) is None]
    if missing:
        raise TreeError(
            f"{repository}: {revision} has no folder {missing[0]}, so that it is no {upstream.name}",
            hint="is it the clone of another project?",
        )
    pinned = pinned_commit(tree, upstream, note, name=tag_asked(tree))
    if _is_branch(tree):
        return Branch(name=tree.revision, commit=tree.commit, date=pinned.date, as_of=pinned.as_of, note=note, blobs={})
    return pinned


def _is_branch(tree: GitTree) -> bool:
    names = (f"refs/heads/{tree.revision}", f"refs/remotes/origin/{tree.revision}")
    return bool(tree.ask("for-each-ref", "--format=%(refname)", *names).strip()) and "/" not in tree.revision
