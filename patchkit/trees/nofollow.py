"""Files below a root, reached folder by folder from an open one so that no link is ever followed.

A check of each component by name could be outrun by whoever swaps a folder for a link meanwhile; a descriptor cannot.
The root itself may be a link.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import UnsafePathError
from patchkit.reading import LARGEST, kind_of, read_open

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
"""What systems answer to O_NOFOLLOW on a link; Linux says ENOTDIR when O_DIRECTORY is given too (open(2))."""


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file."""

    content: bytes
    mode: int
    """Permission bits."""


def read_file(root: Path, path: str) -> Found | None:
    """Return the regular file ``path``, or None when there is none, also where a folder stands there.

    Raises UnsafePathError on a link, and OSError, also for a pipe, a socket or a device, and for a file of more than
    ``LARGEST`` bytes.
    """
    try:
        with parent_folder(root, path) as folder:
            return _read(folder, path)
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def parent_folder(root: Path, path: str, *, make: bool = False) -> Iterator[int]:
    """Give a descriptor of the folder that holds ``path``, made first if ``make``. Raises UnsafePathError, OSError."""
    descriptor = os.open(root, _FOLDER)
    try:
        *folders, _name = path.split("/")
        for part in folders:
            inner = _enter(descriptor, part, path, make=make)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    except OSError as error:
        # The system knows only the last part of the name, or not even that.
        error.filename = str(root / path)
        raise
    finally:
        os.close(descriptor)


def in_the_way(root: Path, path: str) -> str | None:
    """Return what keeps a file from being put at ``path``, where none is; None when nothing does.

    Raises UnsafePathError, OSError.
    """
    try:
        with parent_folder(root, path) as folder:
            status = os.stat(path.rpartition("/")[2], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return "a file is in the place of a folder above it"
    return "a folder is in its place" if stat.S_ISDIR(status.st_mode) else None


def remove_if_empty(root: Path, path: str) -> None:
    """Remove the folder ``path`` where nothing is in it. Raises UnsafePathError, OSError: a link there is no folder."""
    with parent_folder(root, path) as folder:
        os.rmdir(path.rpartition("/")[2], dir_fd=folder)


def missing_folders(root: Path, path: str) -> list[str]:
    """Return the folders above ``path`` that do not exist, outermost first."""
    parts = path.split("/")[:-1]
    above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    return [folder for folder in above if not os.path.lexists(root / folder)]


def _enter(folder: int, part: str, path: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=folder)
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        _refuse_link(folder, part, path, error)
        raise


def _read(folder: int, path: str) -> Found | None:
    name = path.rpartition("/")[2]
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for its writer.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        _refuse_link(folder, name, path, error)
        if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):
            # A socket cannot be opened at all, and the words for that say nothing of it.
            raise _irregular(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode) from error
        raise
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            return None
        if not stat.S_ISREG(status.st_mode):
            raise _irregular(status.st_mode)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = read_open(file, LARGEST)
            if content is None:
                raise OSError(errno.EFBIG, f"it is larger than {LARGEST >> 20} MiB")
            return Found(content, stat.S_IMODE(status.st_mode))
    finally:
        os.close(descriptor)


def _irregular(mode: int) -> OSError:
    return OSError(errno.EINVAL, f"it is no regular file but {kind_of(mode)}")


def _refuse_link(folder: int, name: str, path: str, error: OSError) -> None:
    """Raise UnsafePathError when ``error`` is there because ``name`` is a link."""
    if error.errno not in _LINK_ERRORS:
        return
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise UnsafePathError(
            f"{path}: {name} is a link, and links are not followed",
            hint="name the folder that the link leads to, or put a copy in its place",
        ) from error
