"""Files and folders that are built beside the place they are to take, and what is left of them after a kill.

Whoever builds one holds a flock(2) on it, which the kernel drops with the process. So the next who builds something for
the same place can tell what a killed process left from what another one is working on, whatever clocks and process
numbers say, and takes the former away.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from patchkit.folders import remove

_MARK = ".patchkit-"
_DIGITS = re.compile(r"[0-9a-f]{8}")
"""What is behind it. Anything else is somebody else's file."""


@contextmanager
def unfinished(place: Path, *, folder: bool = False) -> Iterator[Path]:
    """Give a new file or folder beside ``place``, for this user alone; what still has that name at the end goes away.

    What killed processes left beside ``place`` is removed first. Raises OSError.
    """
    sweep(place)
    while True:
        building = place.with_name(f".{place.name}{_MARK}{os.urandom(4).hex()}")
        if folder:
            building.mkdir()
        try:
            flags = os.O_RDONLY if folder else os.O_RDWR | os.O_CREAT | os.O_EXCL
            descriptor = os.open(building, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            with suppress(FileNotFoundError):
                building.rmdir()
                raise
            if folder:
                continue  # swept between the two calls
            raise
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not building.exists():
                continue  # swept before it was locked
            yield building
            return
        finally:
            # While it is locked nobody else takes it away.
            _remove(building)
            os.close(descriptor)


def sweep(place: Path) -> None:
    """Remove what killed processes left that were building something for ``place``.

    ``place`` is the caller's own: where a file of a stranger names it, so may what has such a name beside it be.
    """
    # What cannot be listed is no hindrance either.
    with suppress(OSError):
        for building in leftovers(place):
            _remove_if_left(building)


def leftovers(place: Path) -> list[Path]:
    """Return what has the name of something that is built for ``place``, or was removed from there. Raises OSError."""
    start = f".{place.name}{_MARK}"
    try:
        names = [name for name in os.listdir(place.parent) if name.startswith(start)]  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        # The system does not say which folder it was that could not be read to its end.
        error.filename = error.filename or str(place.parent)
        raise
    return [place.with_name(name) for name in names if _DIGITS.fullmatch(name, len(start))]


def remove_folder(place: Path, *, last: str) -> None:
    """Remove a folder in one step: what a kill leaves of it has the name of something unfinished. Raises OSError.

    Its file ``last``, which says whose it is, goes after all else, so that what is left says it too or is empty.
    """
    leaving = place.with_name(f".{place.name}{_MARK}{os.urandom(4).hex()}")
    place.rename(leaving)
    remove(leaving, last=last)


def _remove_if_left(building: Path) -> None:
    # What cannot be removed is no hindrance; the next one tries again.
    with suppress(OSError):
        descriptor = os.open(building, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(building)
        finally:
            os.close(descriptor)


def _remove(building: Path) -> None:
    if building.is_dir() and not building.is_symlink():
        with suppress(OSError):
            remove(building)
    elif os.path.lexists(building):
        with suppress(OSError):
            building.unlink()
