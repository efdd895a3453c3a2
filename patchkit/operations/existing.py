"""Whether a folder that exists is what a command would make there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.manifest import Manifest, parse_manifest
from patchkit.core.upstream import Upstream
from patchkit.errors import TreeError
from patchkit.operations.answer import read_manifest
from patchkit.trees.directory import DirectoryTree
from patchkit.trees.interface import Edits
from patchkit.trees.layout import holds, open_folder


def is_occupied(destination: Path) -> bool:
    """Tell whether something is at ``destination``; an empty folder is nothing."""
    return destination.exists() and not (destination.is_dir() and not any(destination.iterdir()))


class Made(NamedTuple):
    """What a command would make of a tree."""

    blobs: Mapping[str, str]
    """The blob id of each file of the tree that is taken, by path."""
    edits: Edits
    """What is changed in it, patchkit's record included."""
    record: str
    """Path of that record."""


def what_differs(destination: Path, made: Made, upstream: Upstream) -> str | None:
    """Return why the folder ``destination`` is not what would be made; None when it is.

    The version of patchkit in the record does not count, nor do further files that Python does not load, byte code in
    its own folders, which comes with the first import, what belongs to git or to patchkit, and what may be done with a
    file (its mode).
    """
    if not holds(destination, upstream):
        return f"it has no {upstream.packages[0]}"
    folder, record = DirectoryTree(destination), made.record
    try:
        there = open_folder(destination, upstream)
        if there.interrupted() is not None:
            return "an earlier write to it was interrupted"
        wanted = made.edits.get(record)
        difference = _of_records(None if wanted is None else parse_manifest(wanted, record), read_manifest(there))
        if difference is not None:
            return difference
        return _of_files(folder, made)
    except TreeError as error:
        return error.message


def _of_files(folder: DirectoryTree, made: Made) -> str | None:
    """Return which file of ``folder`` is not what would be made, or would not be made; None where all are."""
    changed = {path: blob_id_if_any(content) for path, content in made.edits.items() if path != made.record}
    for path, blob in {**made.blobs, **changed}.items():
        content = folder.read(path)
        if blob_id_if_any(content) != blob:
            return f"{path} is missing" if content is None else f"{path} has another text"
    expected = made.blobs.keys() | {path for path, content in made.edits.items() if content is not None}
    more = (*filter(_is_loaded, folder.paths()), *folder.others())
    other = next((path for path in more if path not in expected), None)
    return None if other is None else f"it has {other} as well"


def _is_loaded(path: str) -> bool:
    """Tell whether Python may come to a file, in the place of another one too; notes are nobody's business."""
    return path.endswith((".py", ".pyc", ".so", ".pyd", ".pth")) or ".dist-info/" in path or ".egg-info" in path


def _of_records(wanted: Manifest | None, found: Manifest | None) -> str | None:
    """Return what two records differ in; None where it is nothing but the version of patchkit."""
    if wanted is None or found is None:
        return None if wanted is found else "it has a record" if wanted is None else "it has no record of patchkit's"
    if found.target != wanted.target:
        return f"its record says {found.target}, not {wanted.target}"
    if found.series != wanted.series:
        return "its record is of another series, or of another edition of it"
    names = [", ".join(patch.name for patch in record.patches) for record in (found, wanted)]
    if names[0] != names[1]:
        return f"its record says {names[0]}, not {names[1]}"
    return None if replace(found, tool=wanted.tool) == wanted else "its record says something else"
