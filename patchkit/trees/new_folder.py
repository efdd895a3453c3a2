"""A folder that appears with all its files or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchkit.core.kept_names import MANIFEST, leads_into_state
from patchkit.errors import TreeError, UnsafePathError, WriteFailedError
from patchkit.trees.paths import checked
from patchkit.unfinished import unfinished

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderWriter:
    """Takes the files of a folder under construction; a path that was written before is an error (OSError)."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._made = {""}

    def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Write the file ``path``. Raises UnsafePathError, OSError."""
        target = self._place(path)
        descriptor = os.open(target, _FLAGS, 0o777 if executable else 0o666)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]

    def link(self, path: str, target: str) -> None:
        """Make ``path`` a link to ``target``, which has to stay inside. Raises UnsafePathError, OSError."""
        if not target or "\0" in target:
            raise UnsafePathError(f"{path} is a link to {target!r}, which is no path")
        if not _stays_inside(path, target):
            raise UnsafePathError(f"{path} is a link to {target!r}, which is not inside the tree")
        Path(self._place(path)).symlink_to(target)

    def folder(self, path: str) -> None:
        """Make the folder ``path``, which may be there already. Raises UnsafePathError, OSError."""
        self._make(checked(path))

    def _place(self, path: str) -> str:
        if leads_into_state(path) and path != MANIFEST:
            # A repository that comes with a journal or a lock would have the next command undo it, or wait.
            raise UnsafePathError(f"{path} is where patchkit keeps its own files")
        self._make(checked(path).rpartition("/")[0])
        return f"{self._root}/{path}"

    def _make(self, folder: str) -> None:
        if folder in self._made:
            return
        self._make(folder.rpartition("/")[0])
        os.mkdir(f"{self._root}/{folder}")  # noqa: PTH102 - a Path for each of hundreds of files costs more than the call
        self._made.add(folder)


@contextmanager
def new_folder(destination: Path) -> Iterator[FolderWriter]:
    """Fill a hidden folder beside ``destination`` and give it that name at the end; remove it when anything fails.

    ``destination`` may exist as an empty folder. Raises TreeError when it is anything else, WriteFailedError.
    """
    destination = Path(os.path.abspath(destination))  # noqa: PTH100 - "." needs a name; Path.resolve follows links
    try:
        _refuse_occupied(destination)
        destination.parent.mkdir(parents=True, exist_ok=True)
        with unfinished(destination, folder=True) as building:
            yield FolderWriter(building)
            building.rename(destination)
    except OSError as error:
        raise _failed(destination, error) from error


def _refuse_occupied(destination: Path) -> None:
    if destination.is_symlink() or (destination.exists() and not destination.is_dir()):
        raise TreeError(f"{destination} exists and is no folder")
    if destination.is_dir() and any(destination.iterdir()):
        raise TreeError(f"{destination} exists and is not empty", hint="name a folder that does not exist yet")


def _failed(destination: Path, error: OSError) -> WriteFailedError:
    where = "" if error.filename is None else f" ({os.fsdecode(error.filename)})"
    return WriteFailedError(f"cannot write {destination}: {error.strerror}{where}; nothing was left there")


def _stays_inside(path: str, target: str) -> bool:
    """Tell whether a link at ``path`` to ``target`` leads to a place below the root whatever other links there are.

    ``..`` counts at the beginning alone, where it climbs real folders; after a name it could climb out of a link.
    """
    climbs = 0
    parts = target.split("/")
    while parts and parts[0] == "..":
        climbs += 1
        parts.pop(0)
    return not target.startswith("/") and ".." not in parts and climbs <= path.count("/")
