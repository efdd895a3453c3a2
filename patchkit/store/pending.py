"""A write of many files that survives a kill: what is to be written is kept until all of it is.

Files are renamed into their places one after another, so that a process killed in between leaves some of them old. What
was kept then lets the next command finish the write, or drop it if it had not begun. It lies in the room of the series,
which may be somebody else's: its list says nothing of files that a rebase of this series could not have written.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from patchkit.core.upstream import VersionsDocument
from patchkit.errors import StoreError, TreeBusyError, WriteFailedError
from patchkit.folders import remove
from patchkit.store.documents import parse_document, read_file
from patchkit.store.edit_room import PENDING, ROOM, make_room, refuse_odd_room, refuse_room_link
from patchkit.store.files import refuse_link, refuse_links_towards, write_files
from patchkit.store.location import VERSIONS
from patchkit.store.pending_list import LIST, Checked, PendingList, list_of
from patchkit.store.versions import load_versions, only_adds
from patchkit.unfinished import sweep

_COMMENT = "A write that was cut short; `patchkit rebase --continue` finishes it."


class _Listed:
    """A list that was read, and found to name only files that a rebase of the series writes."""

    def __init__(self, series: Path) -> None:
        """Raises StoreError, UsageError."""
        refuse_room_link(series)
        self.place = _place(series)
        refuse_links_towards(self.place.parent, f"{PENDING}/{LIST}")
        file = self.place / LIST
        with _hinting(self.place):
            text = read_file(file)
            listed = parse_document(PendingList, text, str(file))
        checked = Checked(series, file, listed, text)
        self.paths, self.removed = checked.paths, checked.removed

    def content(self, number: int) -> bytes:
        """Return what the file of this number is to hold. Raises StoreError, UsageError."""
        refuse_link(self.place / str(number))
        with _hinting(self.place):
            return read_file(self.place / str(number))

    def begun(self) -> bool:
        """Tell whether some file is as it is to be already."""
        for number, path in enumerate(self.paths):
            if path.is_file() and read_file(path) == self.content(number):
                return True
        return any(not path.exists() for path in self.removed)


def write_all(series: Path, files: Mapping[Path, bytes], removed: Iterable[Path]) -> None:
    """Write ``files`` and remove ``removed``, all or nothing: files of the series, or its upstream_versions.yaml.

    Raises WriteFailedError, TreeBusyError, StoreError. Killed before the list of them is there, nothing has been
    written; ``finish`` is for later.
    """
    from patchkit.store.yaml_text import print_yaml  # noqa: PLC0415 - only writing needs it

    gone = tuple(removed)
    place = _place(series)
    listed = list_of(series, files, gone)
    Checked(series, place / LIST, listed)
    make_room(series)
    with _alone(place):
        draft = place.with_name(f"{place.name}.new")
        _remove(draft)
        kept = {draft / str(number): content for number, content in enumerate(files.values())}
        kept[draft / LIST] = print_yaml(msgspec.to_builtins(listed), _COMMENT)
        try:
            write_files(kept)
            draft.rename(place)
        except OSError as error:
            raise WriteFailedError(f"cannot write {place}: {error.strerror or error}") from error
        try:
            write_files(files, gone)
        except WriteFailedError as error:
            if not _Listed(series).begun():
                _done(place)
            else:
                error.hint = "some files are written; the next `patchkit rebase --continue` writes the rest"
            raise
        _done(place)


def is_pending(series: Path) -> bool:
    """Tell whether a write was cut short.

    Raises TreeBusyError when it is under way, UsageError where the room is not as a rebase makes it.
    """
    refuse_odd_room(series)
    place = _place(series)
    if not place.is_dir():
        return False
    with _alone(place):
        return place.is_dir()


def finish(series: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Finish a write that was cut short; return the files written, and those removed.

    Raises WriteFailedError, StoreError, TreeBusyError, UsageError.
    """
    with _alone(_place(series)):
        listed = _Listed(series)
        files = {path: listed.content(number) for number, path in enumerate(listed.paths)}
        _refuse_other_versions(series, listed.place, files)
        _sweep(files)
        write_files(files, [path for path in listed.removed if path.exists()])
        _done(listed.place)
    return listed.paths, listed.removed


def drop(series: Path) -> bool:
    """Drop a write that had not begun; False when some file has its new content already.

    Raises WriteFailedError, StoreError, TreeBusyError, UsageError.
    """
    with _alone(_place(series)):
        listed = _Listed(series)
        if listed.begun():
            return False
        _sweep(listed.paths)
        _done(listed.place)
        return True


def _place(series: Path) -> Path:
    return series / ROOM / PENDING


def _refuse_other_versions(series: Path, place: Path, files: Mapping[Path, bytes]) -> None:
    """Raise StoreError where upstream_versions.yaml above the series would become more than a rebase makes of it.

    By its digests all else is judged, and it is no part of the series, with which this write may have come.
    """
    above = series.resolve().parent.parent / VERSIONS
    if above not in files:
        return
    with suppress(StoreError):
        if only_adds(load_versions(above), parse_document(VersionsDocument, files[above], str(above))):
            return
    raise StoreError(
        str(place / LIST),
        None,
        f"it would change in {above} what no rebase of a series changes",
        hint="it was not made here, or that file was changed since: "
        f"see whether the series is as it should be, then remove {place}",
    )


@contextmanager
def _hinting(place: Path) -> Iterator[None]:
    """Say what to do about a write of which a part is missing or damaged: no kill leaves one so."""
    try:
        yield
    except StoreError as error:
        error.hint = (
            "it cannot be finished, and a part of it may be written: "
            f"see whether the series is as it should be, then remove {place}"
        )
        raise


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
            remove(folder)
    except OSError as error:
        raise WriteFailedError(f"cannot remove {error.filename}: {error.strerror or error}") from error
