"""A write of many files that survives a kill: what is to be written is kept until all of it is.

Files are renamed into their places one after another, so that a process killed in between leaves some of them old. What
was kept then lets the next command finish the write, or drop it if it had not begun.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from patchkit.core.series import SCHEMA, Document
from patchkit.errors import TreeBusyError, WriteFailedError
from patchkit.store.documents import load_document, read_file
from patchkit.store.files import write_files
from patchkit.unfinished import sweep

_LIST = "list.yaml"
_COMMENT = "A write that was cut short; `patchkit rebase --continue` finishes it."


class _Pending(Document, frozen=True):
    """What is to be written."""

    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)]
    files: tuple[str, ...]
    """Absolute paths; the content of the n-th is in the file called n."""
    removed: tuple[str, ...]


def write_all(place: Path, files: Mapping[Path, bytes], removed: Iterable[Path]) -> None:
    """Write ``files`` and remove ``removed``, all or nothing; ``place`` is a folder that need not exist.

    Raises WriteFailedError, TreeBusyError. Killed before ``place`` is there, nothing has been written; ``finish`` is
    for later.
    """
    from patchkit.store.yaml_text import print_yaml  # noqa: PLC0415 - only writing needs it

    gone = tuple(removed)
    listed = _Pending(SCHEMA, tuple(str(path.resolve()) for path in files), tuple(str(path.resolve()) for path in gone))
    with _alone(place):
        draft = place.with_name(f"{place.name}.new")
        _remove(draft)
        kept = {draft / str(number): content for number, content in enumerate(files.values())}
        kept[draft / _LIST] = print_yaml(msgspec.to_builtins(listed), _COMMENT)
        try:
            write_files(kept)
            draft.rename(place)
        except OSError as error:
            raise WriteFailedError(f"cannot write {place}: {error.strerror or error}") from error
        try:
            write_files(files, gone)
        except WriteFailedError as error:
            if not _begun(place):
                _done(place)
            else:
                error.hint = "some files are written; the next `patchkit rebase --continue` writes the rest"
            raise
        _done(place)


def is_pending(place: Path) -> bool:
    """Tell whether a write was cut short. Raises TreeBusyError when it is under way."""
    if not place.is_dir():
        return False
    with _alone(place):
        return place.is_dir()


def finish(place: Path) -> tuple[str, ...]:
    """Finish a write that was cut short; return the paths. Raises WriteFailedError, StoreError, TreeBusyError."""
    with _alone(place):
        listed = load_document(_Pending, place / _LIST)
        files = {Path(path): read_file(place / str(number)) for number, path in enumerate(listed.files)}
        _sweep(files)
        write_files(files, [path for path in map(Path, listed.removed) if path.exists()])
        _done(place)
    return (*listed.files, *listed.removed)


def drop(place: Path) -> bool:
    """Drop a write that had not begun; False when some file has its new content already.

    Raises StoreError, TreeBusyError.
    """
    with _alone(place):
        if _begun(place):
            return False
        _sweep(map(Path, load_document(_Pending, place / _LIST).files))
        _done(place)
        return True


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Keep other processes from ``place``. Raises TreeBusyError at once when one is at it.

    Locked is the folder that it lies in, with flock(2), which dies with the process and leaves no file. A file system
    that cannot lock a folder (some NFS) is gone on with unlocked.
    """
    descriptor = None
    with suppress(OSError):
        descriptor = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if descriptor is not None:
            _lock(descriptor, place.parent.parent)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock(descriptor: int, series: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        hint = "wait until it has ended, then run this again"
        raise TreeBusyError(f"another patchkit process is writing to {series}", hint=hint) from error
    except OSError:
        pass


def _begun(place: Path) -> bool:
    listed = load_document(_Pending, place / _LIST)
    for number, path in enumerate(listed.files):
        if Path(path).is_file() and read_file(Path(path)) == read_file(place / str(number)):
            return True
    return any(not Path(path).exists() for path in listed.removed)


def _sweep(files: Iterable[Path]) -> None:
    """Remove the unfinished copies that ``write_files`` had made beside its files."""
    for path in files:
        sweep(path)


def _done(place: Path) -> None:
    """Take away what was kept, at once: half of it would look like a write that was cut short."""
    old = place.with_name(f"{place.name}.old")
    _remove(old)
    try:
        place.rename(old)
    except OSError as error:
        raise WriteFailedError(f"cannot remove {place}: {error.strerror or error}") from error
    _remove(old)


def _remove(folder: Path) -> None:
    try:
        if folder.is_dir():
            shutil.rmtree(folder)
    except OSError as error:
        raise WriteFailedError(f"cannot remove {error.filename}: {error.strerror or error}") from error
