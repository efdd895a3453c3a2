"""Loading our side, and reading upstream's side from the package index or a git repository."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from patchkit.core.printing import shell_word
from patchkit.core.upstream import Target, VersionsDocument, find_target, targets
from patchkit.core.version_range import in_range
from patchkit.errors import RevisionNotFoundError, StoreError, TreeError, UsageError
from patchkit.operations import commands
from patchkit.operations.coverage import refuse_bad_ranges
from patchkit.operations.known import load_known
from patchkit.operations.locked import Sources
from patchkit.operations.revisions import revision_called
from patchkit.progress import Reporter, silent
from patchkit.store.cache import default_cache
from patchkit.store.location import default_patches, versions_file
from patchkit.store.lock import LOCK, load_lock
from patchkit.store.series import load_series
from patchkit.store.versions import load_versions

if TYPE_CHECKING:
    from concurrent.futures import Future

    from patchkit.trees.package_indexes import PackageIndexes


class Workspace(msgspec.Struct, frozen=True):
    """Everything on our side: series, lock, and what is known of upstream."""

    sources: Sources
    versions: VersionsDocument
    targets: tuple[Target, ...]

    def target(self, asked: str) -> Target:
        """Return the target called ``asked``. Raises UsageError when it is unknown or not in the lock."""
        folder = self.sources.series.folder
        try:
            target = find_target(self.targets, asked)
        except UsageError:
            unlisted = load_known(folder).find_unlisted(asked) if asked != "latest" else None
            if unlisted is None:
                raise
            raise _not_made_for(unlisted, folder) from None
        if target.name not in self.sources.lock.targets:
            raise _not_made_for(target, folder)
        return target

    def named(self, name: str) -> Target:
        """Return the target with exactly this name."""
        return next(target for target in self.targets if target.name == name)


def load_workspace(patches: Path | None = None) -> Workspace:
    """Load the series in ``patches`` (None: the built-in one) with its lock and versions. Raises SourceError."""
    folder = patches or default_patches()
    series = load_series(folder)
    refuse_bad_ranges(series)
    path = versions_file(folder)
    versions = load_versions(path)
    known = targets(versions.upstream)
    lock = load_lock(series)
    strange = [name for name in lock.targets if name not in {target.name for target in known}]
    if strange:
        raise StoreError(
            str(folder / LOCK),
            f"targets.{strange[0]}",
            f"{path} knows no such target",
            hint=f"run `{commands.regenerate(folder)}`",
        )
    return Workspace(Sources(series, lock), versions, known)


def _not_made_for(target: Target, folder: Path) -> UsageError:
    return UsageError(
        f"{target.title} is known, but the series was not made for it",
        hint=f"carry it there: `{commands.carry_to(target, folder)}`",
    )


def fetch_release(
    versions: VersionsDocument,
    target: Target,
    *,
    cache: Path | None = None,
    python: str | None = None,
    exact_platform: bool = False,
    indexes: PackageIndexes | None = None,
    reporter: Reporter = silent,
) -> Path:
    """Return the wheel of a release, from the cache or the package index that pip is configured for.

    Whoever fetches several gives the ``indexes`` to ask. Raises UsageError for a target that is no release, and the
    errors of ``patchkit.trees.index.fetch_wheel``.
    """
    from patchkit.trees.index import fetch_wheel  # noqa: PLC0415 - only fetching needs it

    if target.release is None:
        raise UsageError(f"{target.title} is no release on the package index", hint="use --git REPO")
    wanted = python or f"{sys.version_info.major}.{sys.version_info.minor}"
    if exact_platform and not in_range(wanted, target.release.python):
        raise UsageError(
            f"{target.title} needs Python {target.release.python}, the wheel would be for {wanted}",
            hint="name the Python that will install it with --python X.Y",
        )
    return fetch_wheel(
        versions.upstream.distribution,
        target.release.version,
        target.release.files,
        cache=cache or default_cache(),
        python=python,
        exact_platform=exact_platform,
        indexes=indexes,
        reporter=reporter,
    )


def fetch_releases(
    versions: VersionsDocument,
    wanted: Sequence[Target],
    *,
    cache: Path,
    indexes: PackageIndexes | None = None,
    reporter: Reporter = silent,
) -> dict[str, TreeError]:
    """Bring the wheels of the releases among ``wanted`` into the cache, several at a time.

    Asked are ``indexes``, None: those that pip is set up for. Returns what went wrong, by target name and in the order
    of ``wanted``: one release that is out of reach says nothing about the others. Of any other error, that of the first
    target is raised when all are done.
    """
    missing = [
        target for target in wanted if target.release is not None and cached_release(target, cache=cache) is None
    ]
    if not missing:
        return {}
    from patchkit.trees.package_indexes import PackageIndexes  # noqa: PLC0415 - only a cold cache needs it

    with nullcontext(indexes) if indexes is not None else PackageIndexes() as asking:
        tasks = _fetched(versions, missing, cache, asking, reporter)
    errors = {name: error for name, task in tasks.items() if (error := task.exception()) is not None}
    for error in errors.values():
        if not isinstance(error, TreeError):
            raise error
    return {name: error for name, error in errors.items() if isinstance(error, TreeError)}


def _fetched(
    versions: VersionsDocument, missing: Sequence[Target], cache: Path, indexes: PackageIndexes, reporter: Reporter
) -> dict[str, Future[Path]]:
    """Return, by target name, what became of each fetch when all are done."""
    from concurrent.futures import ThreadPoolExecutor, wait  # noqa: PLC0415 - only a cold cache needs it

    what = f"fetching {len(missing)} releases" if len(missing) > 1 else f"fetching {missing[0].title}"
    reporter.step(what)
    reporter.count(0, len(missing), what)
    before = indexes.received
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        fetch = partial(fetch_release, versions, cache=cache, indexes=indexes)
        tasks = {target.name: pool.submit(fetch, target) for target in missing}
        try:
            left, done = set(tasks.values()), 0
            while left:
                ended, left = wait(left, _SHOWN_EVERY, return_when="FIRST_COMPLETED")
                size = f"{(indexes.received - before) / 2**20:.1f} MiB"
                for number in range(done + 1, done + len(ended) + 1) if ended else (done,):
                    reporter.count(number, len(missing), f"{what} ({size})")
                done += len(ended)
        except BaseException:
            # Whoever gives up waits for nothing that is on its way or has not begun.
            indexes.give_up()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return tasks


_AT_ONCE = 6
"""Downloads that run at the same time; more of them only wait for each other."""
_SHOWN_EVERY = 0.25
"""Seconds after which it is told how much has come, where no release is finished before."""


def cached_release(target: Target, *, cache: Path | None = None) -> Path | None:
    """Return a wheel of a release that is in the cache already, or None."""
    from patchkit.trees.index import cached_wheel  # noqa: PLC0415 - only fetching needs it

    return cached_wheel(target.release.files, cache or default_cache()) if target.release else None


def find_revision(workspace: Workspace, repository: Path, megatron: str) -> tuple[str, str | None]:
    """Return the git revision that ``--megatron`` means in a clone, and the target it must then be.

    A release is looked for by its recorded tag and by the usual spellings, also one that upstream_versions.yaml does
    not know; a branch or commit by its name. A revision that it does not know is left to be recognised by its files:
    the target is then None.
    """
    from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for

    try:
        target = workspace.target(megatron)
    except UsageError:
        called = revision_called(megatron, workspace.versions.upstream, lambda name: GitTree(repository, name))
        return called.revision, None
    # "latest" is our word for a release; a branch of that name is something else.
    spellings = [
        None if megatron == "latest" else megatron,
        target.tag,
        target.usual_tag or None,
        f"origin/{target.name}",
        target.commit,
    ]
    for spelling in spellings:
        if spelling is None:
            continue
        try:
            GitTree(repository, spelling)
        except RevisionNotFoundError:
            continue
        return spelling, target.name
    fetch = f"fetch it: git -C {shell_word(str(repository))} fetch --tags"
    if target.release is None:
        raise RevisionNotFoundError(f"{repository}: {target.title} is not in this clone", hint=fetch)
    of_index = "leave --git out to take it from the package index, or name a commit with --megatron"
    if target.tag is None:
        raise RevisionNotFoundError(f"{repository}: {target.title} has no public tag", hint=of_index)
    raise RevisionNotFoundError(f"{repository}: {target.title} is not in this clone", hint=f"{fetch}; or {of_index}")
