"""The state file of check-upstream: what has been reported already."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from patchkit.core.reported import parse_reported, print_reported
from patchkit.errors import StoreError
from patchkit.progress import Reporter, silent
from patchkit.reading import read_regular
from patchkit.store.files import write_files
from patchkit.store.unreadable import unreadable

STATE = "reported.txt"
"""Name of the file in the folder of the series."""


def load_reported(path: Path) -> dict[str, frozenset[str]]:
    """Read the fingerprints by target; no file is an empty one. Raises StoreError that names file and line."""
    try:
        text = read_regular(path).decode()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise unreadable(path, error, "cannot be read: ") from error
    except UnicodeDecodeError as error:
        raise StoreError(str(path), None, f"cannot be read: {error}") from error
    return parse_reported(text, str(path))


def write_reported(path: Path, known: Mapping[str, Iterable[str]]) -> None:
    """Write the fingerprints, all or nothing. Raises WriteFailedError."""
    write_files({path: print_reported(known).encode()})


@contextmanager
def reporting_alone(path: Path, reporter: Reporter = silent) -> Iterator[None]:
    """Wait until no other process reports by the state file at ``path``, and keep the others waiting meanwhile.

    What is new has to be read, told and written by one process before the next one reads. Locked is the folder, with
    flock(2): the file is replaced by every write, and a file for the lock alone would lie about in people's
    repositories. A file system that cannot lock a folder (some NFS) is gone on with unlocked, as a report that comes
    twice is better than none.
    """
    folder = path.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent  # it is made with the file
    descriptor = None
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if descriptor is not None:
            _lock(descriptor, path, reporter)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock(descriptor: int, path: Path, reporter: Reporter) -> None:
    with suppress(OSError):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reporter.note(f"waiting for another check-upstream that reports by {path}")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
