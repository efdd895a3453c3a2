"""The journal of a write: what every file held before and shall hold after, on disk before the first file changes.

It is a folder ``journal`` with ``journal.json`` and one file per content, named by its blob id. It comes into being by
one rename, so it is there whole or not at all, and it is gone by one rename as well.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec

from patchkit.core.blobs import blob_id
from patchkit.errors import InterruptedWriteError, UnsafePathError
from patchkit.reading import read_unlinked
from patchkit.trees.interface import Interrupted
from patchkit.trees.nofollow import in_the_way, read_file
from patchkit.trees.paths import checked

_SCHEMA = 1
_NAME = "journal"
_INDEX = "journal.json"


_BlobId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{40}$")]


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a write."""

    path: str
    before: _BlobId | None
    """Blob id of the old content, None when there was no file."""
    after: _BlobId | None
    """Blob id of the new content, None when the file goes away."""
    mode: Annotated[int, msgspec.Meta(ge=0, le=0o7777)]
    """Permission bits of the file, old and new."""


@dataclass(frozen=True, slots=True)
class Journal:
    """All that is needed to undo a write."""

    operation: str
    token: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]*$")]
    """Random part of the names of temporary files beside their targets."""
    entries: tuple[Entry, ...]
    folders: tuple[str, ...]
    """Folders that the write makes, outermost first."""

    def temporaries(self) -> dict[str, str]:
        """Return, by path of an entry, that of the file which is written first and then takes its place."""
        # By the number of an entry among all of them: an undo of some has the names that the write had.
        return {
            entry.path: f"{folder}{slash}.patchkit-{self.token}-{number}"
            for number, entry in enumerate(self.entries)
            for folder, slash, _name in [entry.path.rpartition("/")]
        }


Own: TypeAlias = Callable[[str, bool], bool]
"""Tells whether a path from the root is one that a journal may name, and the second says whether for a folder."""


def anywhere(_path: str, _folder: bool) -> bool:  # noqa: FBT001 - the type of Own
    """Say so of every path."""
    return True


class _Schema(msgspec.Struct):
    schema: int


def is_reserved(name: str) -> bool:
    """Tell whether the top-level ``name`` in a state folder belongs to the write itself."""
    return name in {"lock", _NAME} or name.startswith(f"{_NAME}.")


def exists(state_dir: Path) -> bool:
    """Tell whether ``state_dir`` has the journal of a write that has not ended."""
    return os.path.lexists(state_dir / _NAME)


def is_clean(state_dir: Path) -> bool:
    """Tell whether no write is under way in ``state_dir`` and no earlier one left anything of its own there."""
    try:
        return not any(is_reserved(path.name) for path in state_dir.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return True


def commit(journal: Journal, contents: Iterable[bytes], state_dir: Path) -> None:
    """Bring the journal and the bytes it speaks of onto the disk, then into being. Raises OSError, nothing is left."""
    folder = state_dir / f"{_NAME}.tmp-{os.getpid()}"
    try:
        folder.mkdir()
        for content in contents:
            _save(folder / blob_id(content), content)
        _save(folder / _INDEX, json.dumps({"schema": _SCHEMA, **asdict(journal)}, indent=1).encode())
        sync_folder(folder)
        folder.rename(state_dir / _NAME)
    except BaseException:
        _discard(folder)
        raise


def load(state_dir: Path, own: Own = anywhere) -> Journal:
    """Return the journal in ``state_dir``. Raises InterruptedWriteError when it cannot be read.

    So it is when it names a file that is not ``own``.
    """
    if (state_dir / _NAME).is_symlink():
        raise _unreadable(state_dir, "it is a link, and links are not followed")
    try:
        text = read_unlinked(state_dir / _NAME / _INDEX)
        schema = msgspec.json.decode(text, type=_Schema).schema
        if schema != _SCHEMA:
            raise _unreadable(state_dir, f"it has schema {schema}, and this patchkit reads {_SCHEMA}")
        journal = msgspec.json.decode(text, type=Journal)
        _refuse_other_names(journal, own, state_dir)
        return journal
    except (OSError, ValueError, RecursionError, UnsafePathError) as error:
        raise _unreadable(state_dir, _said(error)) from error


def saved(state_dir: Path, blob: str) -> bytes:
    """Return the content that the journal keeps under ``blob``. Raises InterruptedWriteError when it is not whole."""
    try:
        content = read_unlinked(state_dir / _NAME / blob)
    except OSError as error:
        raise _unreadable(state_dir, _said(error)) from error
    if blob_id(content) != blob:
        raise _unreadable(state_dir, f"the content saved as {blob} is damaged")
    return content


def progress(root: Path, journal: Journal) -> Interrupted:
    """Tell by what the files below ``root`` hold how far the write came, or whether somebody has written since."""
    sorted_paths: dict[str, list[str]] = {"written": [], "pending": [], "damaged": []}
    for entry in journal.entries:
        sorted_paths[_condition(root, entry)].append(entry.path)
    new = {entry.path for entry in journal.entries if entry.before is None}
    made = tuple(path for path in sorted_paths["written"] if path in new)
    return Interrupted(journal.operation, **{name: tuple(paths) for name, paths in sorted_paths.items()}, made=made)


def _condition(root: Path, entry: Entry) -> str:
    try:
        found = read_file(root, entry.path)
        if found is None and entry.after is None and in_the_way(root, entry.path):
            # That the file is gone is not all: its old content cannot be put back there.
            return "damaged"
    except (OSError, UnsafePathError):
        return "damaged"
    now = None if found is None else blob_id(found.content)
    return {entry.before: "pending", entry.after: "written"}.get(now, "damaged")


def retire(state_dir: Path) -> None:
    """Make the journal not exist any more. Raises OSError; the journal is still there then."""
    folder = state_dir / f"{_NAME}.old-{os.getpid()}"
    (state_dir / _NAME).rename(folder)
    with suppress(OSError):
        sync_folder(state_dir)
    _discard(folder)


def sweep(state_dir: Path) -> None:
    """Remove what killed processes left of journals that were never, or are no longer, in force."""
    for folder in state_dir.glob(f"{_NAME}.*"):
        _discard(folder)


def sync_folder(folder: Path) -> None:
    """Bring the names in ``folder`` onto the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _save(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _discard(folder: Path) -> None:
    # What cannot be removed now is swept by the next write.
    with suppress(OSError):
        # A tree may come from a stranger: what a link in the place of a journal leads to is not ours to remove.
        if folder.is_symlink():
            folder.unlink()
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for name in os.listdir(descriptor):  # noqa: PTH208 - of the folder itself, whatever has its name by now
                os.unlink(name, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        folder.rmdir()


def _refuse_other_names(journal: Journal, own: Own, state_dir: Path) -> None:
    """Raise InterruptedWriteError where a name is none that a write from here could have."""
    # A tree of a stranger may come with a journal. A name made of its parts must lead nowhere else either.
    named = [*((path, True) for path in journal.folders), *((entry.path, False) for entry in journal.entries)]
    for path, is_folder in named:
        if not own(checked(path), is_folder):
            what = "folder that was made" if is_folder else "file that was written"
            raise _unreadable(state_dir, f"{path!r} is no {what} from here")
    seen: set[str] = set()
    for entry in journal.entries:
        # Temporary files are told apart by the path of their entry.
        if entry.path in seen:
            raise _unreadable(state_dir, f"it has {entry.path!r} twice")
        seen.add(entry.path)
        if entry.before == entry.after:
            reason = f"it has {entry.path!r} as a file that the write did not change"
            right = "no write leaves that: see whether the files are as they should be"
            raise _unreadable(state_dir, reason, hint=f"{right}, then remove {state_dir / _NAME}")


def _said(error: Exception) -> str:
    """Return the words of an error, with the last part of the name that the system did not like."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{os.path.basename(os.fsdecode(error.filename))}: {error.strerror}"  # noqa: PTH119 - not a Path
    return str(error)


def _unreadable(state_dir: Path, reason: str, hint: str = "") -> InterruptedWriteError:
    return InterruptedWriteError(
        f"an earlier write was cut short and its journal {state_dir / _NAME} cannot be read: {reason}",
        hint=hint or f"restore the tree by hand, then remove {state_dir / _NAME}",
    )
