"""Files that are read whole: how large they may be, and what they must be.

A name that somebody else chose may be that of a named pipe, which waits for a writer for ever, of a device without an
end, or of a sparse file that takes no place on the disk and as much memory as it claims.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn

LARGEST = 256 << 20
"""Bytes of the largest file that is read, where no smaller number is said."""
MOST_TOGETHER = 1 << 30
"""Bytes of all files that one folder of ours brings into memory at once."""

_PIECE = 1 << 20

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISLNK, "a link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class OddFileError(OSError):
    """A file that is not read, whoever may read it: it is no regular one, or too large."""


class OddFolderError(OddFileError, IsADirectoryError):
    """A folder in the place of a file."""


def kind_of(mode: int) -> str:
    """Return what a file of ``mode`` (stat(2)) is, such as ``a named pipe``."""
    return next((name for is_one, name in _KINDS if is_one(mode)), "a file")


def read_regular(path: Path, most: int = LARGEST) -> bytes:
    """Return the bytes of a regular file, or of the one that a link leads to.

    Raises OSError with the name: as open(2) does, and OddFileError for one of more than ``most`` bytes and for anything
    else than a regular file (OddFolderError for a folder).
    """
    with _regular(path) as file:
        return _read(file, path, most)


def read_unlinked(path: Path, most: int = LARGEST) -> bytes:
    """As read_regular, for what must lie where its name says: a link in its place is an OddFileError too."""
    with _regular(path, follow=False) as file:
        return _read(file, path, most)


def read_given(path: Path, most: int = LARGEST) -> bytes:
    """As read_regular, for a name that the user gave: also of a pipe, such as a shell's ``<(command)``, or a device."""
    try:
        with path.open("rb") as file:
            return _read(file, path, most)
    except IsADirectoryError as error:
        raise _refused(path, errno.EISDIR, "it is no regular file but a folder") from error


class Together:
    """The files of one folder, read in one or several goes: how many bytes all of them may have."""

    def __init__(self, folder: Path, most: int = MOST_TOGETHER) -> None:
        self._folder = folder
        self._most = most
        self._left = most

    def read(self, paths: Iterable[Path]) -> dict[Path, bytes]:
        """Return the bytes of regular files by path.

        Raises OSError as read_regular does, and with the name of the folder where all that were asked for have too many
        bytes: then none of these is read.
        """
        sizes = {path: _size(path) for path in paths}
        if sum(sizes.values()) > self._left:
            self._refuse(sizes)
        found: dict[Path, bytes] = {}
        for path in sizes:
            # A file may have grown meanwhile.
            if _size(path) > self._left:
                self._refuse([path])
            found[path] = read_regular(path, min(LARGEST, self._left))
            self._left -= len(found[path])
        return found

    def _refuse(self, paths: Iterable[Path]) -> NoReturn:
        """Raise OSError for the first that is too large by itself, or for all of them."""
        for path in paths:
            if _size(path) > LARGEST:
                raise _too_large(path, LARGEST)
        raise _refused(self._folder, errno.EFBIG, f"its files have more than {self._most >> 20} MiB together")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # reading it says what is the matter


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a regular file, as hexadecimal digits, read in pieces. Raises OSError as read_regular."""
    found = hashlib.sha256()
    for piece in pieces(path):
        found.update(piece)
    return found.hexdigest()


def pieces(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a regular file in pieces. Raises OSError as read_regular."""
    with _regular(path) as file:
        while piece := file.read(_PIECE):
            yield piece


@contextmanager
def _regular(path: Path, *, follow: bool = True) -> Iterator[BinaryIO]:
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    except OSError as error:
        # Systems have several numbers for a link that is not followed (open(2)).
        if not follow and path.is_symlink():
            raise _irregular(path, path.lstat().st_mode) from error
        # A socket cannot be opened at all (ENXIO), and the words for that say nothing of it.
        if error.errno in (errno.ENXIO, errno.EOPNOTSUPP) and path.exists():
            raise _irregular(path, path.stat().st_mode) from error
        raise
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise _irregular(path, mode)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def read_open(file: BinaryIO, most: int) -> bytes | None:
    """Return what is left in an open file; None when that is more than ``most`` bytes. Raises OSError.

    What claims too much is not read at all. A file may grow meanwhile, and a device or a pipe has no size.
    """
    size = os.fstat(file.fileno()).st_size
    if size > most:
        return None
    # Python makes room for as many bytes as it is asked for, before it reads one.
    content = file.read(size + 1)
    if len(content) <= size:
        return content
    pieces = [content]
    left = most - len(content)
    while left >= 0 and (piece := file.read(_PIECE)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if left >= 0 else None


def _read(file: BinaryIO, path: Path, most: int) -> bytes:
    content = read_open(file, most)
    if content is None:
        raise _too_large(path, most)
    return content


def _too_large(path: Path, most: int) -> OSError:
    return _refused(path, errno.EFBIG, f"it is larger than {most >> 20} MiB")


def _irregular(path: Path, mode: int) -> OSError:
    number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    return _refused(path, number, f"it is no regular file but {kind_of(mode)}")


def _refused(path: Path, number: int, words: str) -> OddFileError:
    kind = OddFolderError if number == errno.EISDIR else OddFileError
    return kind(number, words, str(path))
