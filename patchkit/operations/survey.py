"""Which release a tree is, told by blob ids, before anything is planned: every file that the series touches is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import msgspec
from msgspec.structs import replace

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.manifest import parse_manifest
from patchkit.core.report import Problem
from patchkit.core.series import LockDocument
from patchkit.core.state import Ambiguous, Recognised, Unknown, recognise, touched_paths
from patchkit.errors import TreeBusyError
from patchkit.operations.locked import Sources
from patchkit.trees.interface import SourceTree


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


def survey(sources: Sources, tree: SourceTree, asked: str | None) -> Survey:
    """Read what the series touches and tell which target the tree is.

    ``asked`` is the target the user named, if any: the tree must then be that one.
    """
    contents = {path: tree.read(path) for path in touched_paths(sources.lock)}
    found = _told(sources, tree, asked, contents)
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
        edition = _other_edition(tree, blobs, lock)
        if edition is not None:
            nearest = found.nearest if isinstance(found, Unknown) else None
            return Survey(contents, blobs, asked or nearest, strange=tuple(blobs), problems=(edition,))
    if asked is not None:
        chains = lock.targets[asked]
        strange = tuple(path for path in chains.paths if blobs[path] not in chains.chain(path))
        problems: tuple[Problem, ...] = ()
        if strange and isinstance(found, Recognised):
            problems = (
                Problem(
                    f"the tree is {found.target}, not {asked}",
                    path=strange[0],
                    hint=f"use --megatron {found.target}, or leave --megatron out",
                ),
            )
        return Survey(contents, blobs, asked, strange=strange, problems=problems)
    match found:
        case Recognised(target, same):
            return Survey(contents, blobs, target, same)
        case Ambiguous(names):
            problem = Problem(f"the tree could be any of {', '.join(names)}", hint="say which one with --megatron")
            return Survey(contents, blobs, None, problems=(problem,))
        case Unknown(str() as nearest, strange):
            problems = ()
            if 2 * len(strange) > len(lock.targets[nearest].paths):
                # Most files are strange: this is another release, and telling what is wrong with each would mislead.
                message = f"{tree.label} is no release that this series knows; it resembles {nearest} most"
                hint = "supported: " + ", ".join(lock.targets)
                problems = (Problem(message, path=strange[0], hint=hint),)
            return Survey(contents, blobs, nearest, strange=strange, problems=problems)
        case Unknown(_, strange):
            problem = Problem(
                f"{tree.label} is no release that this series knows",
                path=strange[0] if strange else None,
                hint="supported: " + ", ".join(lock.targets),
            )
            return Survey(contents, blobs, None, strange=strange, problems=(problem,))


_DIST_INFO = re.compile(r"-(\d[^-/+]*)(?:\+[^-/]*)?\.dist-info/")


def _version_told(tree: SourceTree) -> str | None:
    """Return the version that the metadata beside a tree names, to choose among releases whose files are the same.

    package_info.py is not asked: upstream's tags 0.17.0 and 0.19.0 carry another release's number in it.
    """
    match = _DIST_INFO.search(tree.manifest_path)
    return match[1] if match else None


def _other_edition(tree: SourceTree, blobs: Mapping[str, str | None], lock: LockDocument) -> Problem | None:
    """Return a problem that says so when the tree is as another edition of the series left it, by its own record."""
    content = tree.read(tree.manifest_path)
    if content is None:
        return None
    record = parse_manifest(content, f"{tree.label}: {tree.manifest_path}")
    left = {path: pair.after for patch in record.patches for path, pair in patch.files.items()}
    if not left or any(blobs.get(path) != blob for path, blob in left.items()):
        return None
    ours = lock.targets.get(record.target)
    if ours is not None and all(blob in ours.chain(path) for path, blob in left.items()):
        # This edition gives those files too: what is strange are others, of which the record says nothing.
        return None
    names = ", ".join(patch.name for patch in record.patches)
    return Problem(
        f"another edition of the series is applied ({names}, for {record.target}, by patchkit {record.tool})",
        path=next(iter(left)),
        hint="revert it with the patchkit that applied it, or install the release again; then apply",
    )


def refuse_torn_reading(tree: SourceTree, found: Survey) -> None:
    """Raise TreeBusyError when a surveyed file has changed since: what was found wrong is then another's write."""
    for path, content in found.contents.items():
        if tree.read(path) != content:
            raise TreeBusyError(f"{tree.label}: {path} changed while it was read", hint="run the command again")
