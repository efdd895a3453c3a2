"""The base of a history: which texts the series is carried from, and how it lies there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.upstream import Target
from patchkit.errors import RevisionNotFoundError, StoreError, TreeError, UsageError
from patchkit.operations.history_states import Chain, Link, StateTable
from patchkit.operations.revisions import revision_called
from patchkit.operations.sources import Workspace
from patchkit.progress import Reporter
from patchkit.store.lock import text_digest
from patchkit.trees.git import GitTree
from patchkit.trees.git_texts import CommitFiles
from patchkit.trees.interface import SourceTree

if TYPE_CHECKING:
    from patchkit.operations.layers import Layer


class Base(msgspec.Struct, frozen=True):
    """Where the series is carried from."""

    target: Target
    reason: str
    """Why this one."""
    chains: tuple[Chain, ...]
    load: Callable[[], Sequence[Layer]]
    """Gives the patches as they lie on it."""


def state_table(workspace: Workspace, base: Base, names: Sequence[str], cache: Path, reporter: Reporter) -> StateTable:
    """Return the table of what becomes of the named patches, of all for no name, carried from ``base``.

    Raises what StateTable does.
    """
    series = workspace.sources.series
    return StateTable(series, base.target, base.chains, base.load, cache, names=names, reporter=reporter)


Opener = Callable[[Target], SourceTree]
"""Gives the tree of a target of the lock."""


def of_target(workspace: Workspace, target: Target, reason: str, opener: Opener) -> Base:
    """Return a target of the lock as a base. Its texts are read only when they are needed."""
    series, lock = workspace.sources.series, workspace.sources.lock.targets[target.name]
    links: dict[str, list[Link]] = {}
    for patch in series.patches:
        locked = lock.patches[patch.name]
        for path, pair in locked.files.items():
            link = Link(patch.name, patch.digest, locked.text or "", pair.before, pair.after)
            links.setdefault(path, []).append(link)

    def load() -> Sequence[Layer]:
        from patchkit.operations.layers import layers  # noqa: PLC0415 - not needed where everything is known

        tree = opener(target)
        for path, each in links.items():
            found = blob_id_if_any(tree.read(path))
            if found != each[0].before:
                raise TreeError(
                    f"{tree.label}: {path} is not {target.title}'s: it is blob {found}, the lock has {each[0].before}",
                    hint="somebody moved the tag; name another base with --from BASE",
                )
        return layers(series, target, tree.read)

    return Base(target, reason, _chains(target, links), load)


def of_tree(workspace: Workspace, target: Target, reason: str, tree: SourceTree) -> Base:
    """Return a revision that is not in the lock as a base. Raises UsageError when a patch does not fit it."""
    from patchkit.operations.layers import layers  # noqa: PLC0415 - as above

    try:
        found = layers(workspace.sources.series, target, tree.read)
    except StoreError as error:
        raise UsageError(
            f"the series does not fit {tree.label}: {error.message}", hint="name a target of the series with --from"
        ) from error
    links: dict[str, list[Link]] = {}
    for layer in found:
        for file in layer.text.files:
            pair = blob_id_if_any(layer.before[file.path]), blob_id_if_any(layer.after[file.path])
            text = text_digest(layer.patch.texts[layer.variant])
            links.setdefault(file.path, []).append(Link(layer.patch.name, layer.patch.digest, text, *pair))
    return Base(target, reason, _chains(target, links), lambda: found)


def asked_base(workspace: Workspace, repository: GitTree, asked: str, opener: Opener) -> Base:
    """Return the base called ``asked``: a target, or any revision. Raises UsageError, RevisionNotFoundError."""
    try:
        target = workspace.target(asked)
    except UsageError as unknown:
        from patchkit.operations.import_base import version_or_tag  # noqa: PLC0415 - 40 ms that a target does without

        try:
            tree = revision_called(asked, workspace.versions.upstream, repository.at)
        except RevisionNotFoundError:
            raise unknown from None
        revision = Target(
            tree.commit[:8],
            version_or_tag(tree, workspace.versions.upstream, CommitFiles(tree)),
            None,
            tree.commit,
            {},
            None,
        )
        return of_tree(workspace, revision, "asked for", CommitFiles(tree))
    return of_target(workspace, target, "asked for", opener)


def chosen_base(workspace: Workspace, beginning: GitTree, blobs: Mapping[str, str | None], opener: Opener) -> Base:
    """Return the best base for a history from the commit of ``beginning``, which has ``blobs`` by path.

    That is the target of that commit; else the newest one with exactly its texts; else the newest release up to the
    version that the commit says it is; else such a target that is no release. Raises UsageError when nothing is that
    old.
    """
    lock = workspace.sources.lock.targets
    known = [target for target in workspace.targets if target.name in lock and _before(workspace, target)]
    same = [target for target in known if all(blobs.get(path) == blob for path, blob in _before(workspace, target))]
    if same:
        target = next((target for target in same if target.commit == beginning.commit), same[-1])
        return of_target(workspace, target, "its texts are those at the beginning", opener)
    from packaging.version import Version  # noqa: PLC0415 - 15 ms that texts of a target do without

    from patchkit.operations.import_base import version_or_tag  # noqa: PLC0415 - as above

    as_of = version_or_tag(beginning, workspace.versions.upstream, CommitFiles(beginning))
    older = [target for target in known if Version(target.as_of) <= Version(as_of)]
    if not older:
        raise UsageError(
            f"no target of the series is as old as {beginning.revision}, which calls itself {as_of}",
            hint="name the target whose texts are to be carried with --from BASE",
        )
    best = max(older, key=lambda target: (target.release is not None, Version(target.as_of)))
    return of_target(workspace, best, f"the newest release up to {as_of}, as the beginning calls itself", opener)


def _chains(target: Target, links: Mapping[str, Sequence[Link]]) -> tuple[Chain, ...]:
    if not links:
        raise UsageError(f"no patch of the series is for {target.title}", hint="name another base with --from BASE")
    return tuple(Chain(path, tuple(each)) for path, each in links.items())


def touched_paths(workspace: Workspace) -> tuple[str, ...]:
    """Return every file that the series touches on some target."""
    locked = (patch for target in workspace.sources.lock.targets.values() for patch in target.patches.values())
    return tuple(sorted({path for patch in locked for path in patch.files}))


def _before(workspace: Workspace, target: Target) -> list[tuple[str, str | None]]:
    """Return what a target has at each touched file, before any patch."""
    lock = workspace.sources.lock.targets[target.name]
    first: dict[str, str | None] = {}
    for patch in lock.patches.values():
        for path, pair in patch.files.items():
            first.setdefault(path, pair.before)
    return list(first.items())
