"""Which release a tree is, told by blob ids, before anything is planned: every file that the series touches is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

import msgspec
from msgspec.structs import replace

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.manifest import Manifest, parse_manifest
from patchkit.core.report import Problem
from patchkit.core.series import LockDocument
from patchkit.core.state import Ambiguous, Recognised, Unknown, recognise, touched_paths
from patchkit.errors import TreeBusyError
from patchkit.operations.locked import Sources
from patchkit.store.series import Series
from patchkit.trees.interface import SourceTree, restoring
from patchkit.trees.layout import tree_option


class Survey(msgspec.Struct, frozen=True):
    """A tree as found."""

    contents: Mapping[str, bytes | None]
    """Every path that the series touches on any target."""
    blobs: Mapping[str, str | None]
    target: str | None
    """The target that the tree is, was asked to be, or is nearest to; None when there is no telling."""
    same: tuple[str, ...] = ()
    """Targets with the same files."""
    strange: tuple[str, ...] = ()
    """Paths whose content no state of the target has."""
    folders: frozenset[str] = frozenset()
    """Paths at which the tree has a folder."""
    problems: tuple[Problem, ...] = ()
    """Why the tree cannot be worked on at all, if so."""
    restore: Callable[[str], str] = repr
    """Says, for a hint, how the file of a path gets its old text back."""


def survey(sources: Sources, tree: SourceTree, asked: str | None) -> Survey:
    """Read what the series touches and tell which target the tree is.

    ``asked`` is the target the user named, if any: the tree must then be that one.
    """
    contents = {path: tree.read(path) for path in touched_paths(sources.lock)}
    found = replace(_told(sources, tree, asked, contents), restore=partial(restoring, tree))
    if not isinstance(tree, _KnowsFolders):
        return found
    absent = (path for path, content in contents.items() if content is None)
    return replace(found, folders=frozenset(path for path in absent if tree.has_folder(path)))


@runtime_checkable
class _KnowsFolders(Protocol):
    """A tree in which a folder may stand where a file should; a git tree and a wheel list files alone."""

    def has_folder(self, path: str) -> bool: ...


def _told(sources: Sources, tree: SourceTree, asked: str | None, contents: Mapping[str, bytes | None]) -> Survey:
    lock = sources.lock
    blobs = {path: blob_id_if_any(content) for path, content in contents.items()}
    found = recognise(lock, blobs, told=_version_told(tree))
    if not isinstance(found, Recognised):
        others = _of_others(tree, blobs, sources)
        if others is not None:
            nearest = found.nearest if isinstance(found, Unknown) else None
            return Survey(contents, blobs, asked or nearest, strange=tuple(blobs), problems=(others,))
    here = Survey(contents, blobs, None)
    return _unasked(found, here, tree, lock) if asked is None else _as_asked(found, here, asked, lock)


def _as_asked(found: Recognised | Ambiguous | Unknown, here: Survey, asked: str, lock: LockDocument) -> Survey:
    """Return the tree as the target ``asked``.

    Where it is another one, or is nearer to it, the answer is about that: with the states of the target that was asked
    for it would tell of changed files where there are none.
    """
    chains = lock.targets[asked]
    strange = tuple(path for path in chains.paths if here.blobs[path] not in chains.chain(path))
    if strange and isinstance(found, Recognised):
        problem = _not_asked_for(f"the tree is {found.target}, not {asked}", strange[0], found.target)
        return replace(here, target=found.target, same=found.same, problems=(problem,))
    if isinstance(found, Unknown) and found.nearest not in (None, asked) and _mostly(strange, asked, lock):
        message = f"the tree is not {asked}; it resembles {found.nearest} most"
        problem = _not_asked_for(message, strange[0], str(found.nearest))
        return replace(here, target=found.nearest, strange=found.strange, problems=(problem,))
    return replace(here, target=asked, strange=strange)


def _unasked(found: Recognised | Ambiguous | Unknown, here: Survey, tree: SourceTree, lock: LockDocument) -> Survey:
    """Return the tree as what its files say that it is."""
    supported = "supported: " + ", ".join(lock.targets)
    match found:
        case Recognised(target, same):
            return replace(here, target=target, same=same)
        case Ambiguous(names):
            problem = Problem(f"the tree could be any of {', '.join(names)}", hint="say which one with --megatron")
            return replace(here, problems=(problem,))
        case Unknown(str() as nearest, strange):
            problems: tuple[Problem, ...] = ()
            if _mostly(strange, nearest, lock):
                # This is another release, and telling what is wrong with each file would mislead.
                message = f"{tree.label} is no release that this series knows; it resembles {nearest} most"
                problems = (Problem(message, path=strange[0], hint=supported),)
            return replace(here, target=nearest, strange=strange, problems=problems)
        case Unknown(_, strange):
            message = f"{tree.label} is no release that this series knows"
            problem = Problem(message, path=strange[0] if strange else None, hint=supported)
            return replace(here, strange=strange, problems=(problem,))


def _mostly(strange: Sequence[str], target: str, lock: LockDocument) -> bool:
    """Tell whether most files of a target are strange."""
    return 2 * len(strange) > len(lock.targets[target].paths)


def _not_asked_for(message: str, path: str, target: str) -> Problem:
    return Problem(message, path=path, hint=f"use --megatron {target}, or leave --megatron out")


_DIST_INFO = re.compile(r"-(\d[^-/+]*)(?:\+[^-/]*)?\.dist-info/")


def _version_told(tree: SourceTree) -> str | None:
    """Return the version that the metadata beside a tree names, to choose among releases whose files are the same.

    package_info.py is not asked: upstream's tags 0.17.0 and 0.19.0 carry another release's number in it.
    """
    match = _DIST_INFO.search(tree.manifest_path)
    return match[1] if match else None


def _of_others(tree: SourceTree, blobs: Mapping[str, str | None], sources: Sources) -> Problem | None:
    """Return a problem when the tree is as another series, or another edition of this one, left it, by its record."""
    content = tree.read(tree.manifest_path)
    if content is None:
        return None
    record = parse_manifest(content, f"{tree.label}: {tree.manifest_path}")
    left = {path: pair.after for patch in record.patches for path, pair in patch.files.items()}
    if not left or any(blobs.get(path) != blob for path, blob in left.items()):
        return None
    ours = sources.lock.targets.get(record.target)
    if ours is not None and all(blob in ours.chain(path) for path, blob in left.items()):
        # This edition gives those files too: what is strange are others, of which the record says nothing.
        return None
    path = next(iter(left))
    names = ", ".join(patch.name for patch in record.patches)
    if is_edition(record, sources.series):
        return Problem(
            f"another edition of the series is applied ({names}, for {record.target}, by patchkit {record.tool})",
            path=path,
            hint="revert it with the patchkit that applied it, or begin with a tree of the release; then apply",
        )
    series = sources.series
    return Problem(
        f"another series is applied ({names}, for {record.target}, by patchkit {record.tool}): "
        f"{short(record.series)}, not {series.folder} ({short(series.digest)})",
        path=path,
        hint=f"one tree takes one series: take that one out first, `patchkit revert{tree_option(tree)} --patches` with "
        "its folder",
    )


def is_edition(record: Manifest, series: Series) -> bool:
    """Tell whether a record in a tree is of an edition of ``series``: it has a patch of one of its names."""
    own = {patch.name for patch in series.patches}
    return any(patch.name in own for patch in record.patches)


def short(digest: str) -> str:
    """Return the digest of a series as people are told it."""
    return digest.removeprefix("sha256:")[:8]


def refuse_torn_reading(tree: SourceTree, found: Survey) -> None:
    """Raise TreeBusyError when a surveyed file has changed since: what was found wrong is then another's write."""
    for path, content in found.contents.items():
        if tree.read(path) != content:
            raise TreeBusyError(f"{tree.label}: {path} changed while it was read", hint="run the command again")
