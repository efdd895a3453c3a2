"""The write of a series' files: all or nothing, and undone by the next command when it was cut short."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from patchkit.core.paths import shown
from patchkit.core.upstream import VersionsDocument
from patchkit.errors import InterruptedWriteError, SourceError, UnsafePathError, WriteFailedError
from patchkit.operations.undo import undone
from patchkit.progress import Reporter
from patchkit.reading import Together
from patchkit.store.documents import parse_document
from patchkit.store.edit_room import ROOM
from patchkit.store.files import entries
from patchkit.store.location import VERSIONS, versions_file
from patchkit.store.unreadable import unreadable
from patchkit.store.versions import load_versions, only_adds
from patchkit.store.written_files import is_written
from patchkit.trees import transaction
from patchkit.trees.journal import Entry
from patchkit.trees.paths import checked

STATE = ".patchkit"
"""Folder of lock and journal below that of the series; it goes away with them."""


def in_a_room(path: Path, folder: Path) -> bool:
    """Tell whether ``path`` is in a folder that patchkit keeps for itself in that of a series."""
    return path.relative_to(folder).parts[:1] in ((STATE,), (ROOM,))


def read_series_files(folder: Path) -> dict[Path, bytes]:
    """Return everything that the commands read of a series, its upstream_versions.yaml included; links are left out.

    Raises StoreError.
    """
    try:
        files = [path for path in series_paths(folder) if path.is_file() and not path.is_symlink()]
        if versions_file(folder) == folder.parent.parent / VERSIONS:
            files.append(versions_file(folder))
        return Together(folder).read(files)
    except OSError as error:
        raise unreadable(Path(error.filename or folder), error, "cannot be read: ") from error


def series_paths(folder: Path) -> list[Path]:
    """Return everything below the folder of a series but what patchkit keeps there for itself. Raises StoreError."""
    top = os.path.join(folder, "")  # noqa: PTH118 - compared with the strings of a walk
    rooms = frozenset((f"{top}{STATE}", f"{top}{ROOM}"))
    found = entries(folder, enter=lambda entry: entry.path not in rooms)
    return sorted(path for path in found if not in_a_room(path, folder))


def write_series_files(
    folder: Path,
    files: Mapping[Path, bytes],
    removed: Iterable[Path],
    *,
    operation: str,
    expected: Mapping[Path, bytes | None],
) -> None:
    """Write ``files`` and remove ``removed``, all or nothing; they lie in ``folder`` or are its upstream_versions.yaml.

    ``operation`` is what messages call the write, ``expected`` what ``read_series_files`` told before it was made up:
    where another process has written since, its work is neither overwritten nor taken for rubbish. Raises
    TreeBusyError, UnsafePathError, WriteFailedError, and InterruptedWriteError when an earlier one has to be undone
    first.
    """
    place = folder.resolve()
    new = [parent for parent in (place, *place.parents) if not parent.exists()]
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _take_back(new)
        raise WriteFailedError(f"cannot write {folder}: {error.strerror}; nothing was changed") from error
    root = _root(place)
    edits: dict[str, bytes | None] = {_path(path, folder, root): content for path, content in files.items()}
    edits |= {_path(path, folder, root): None for path in removed}
    try:
        _refuse_others(place, edits)
        known = {_path(path, folder, root): content for path, content in expected.items()}
        transaction.write_all(root, edits, operation=operation, state_dir=place / STATE, expected=known)
    except BaseException:
        _take_back(new)
        raise


def _take_back(folders: Iterable[Path]) -> None:
    """Remove folders that were made, from the inside out, as far as nothing is in them."""
    with suppress(OSError):
        for folder in folders:
            if folder.exists():
                folder.rmdir()


def undo_interrupted_write(folder: Path, reporter: Reporter) -> None:
    """Put back the old files of a write that was cut short, and say so. Raises what ``undo_interrupted`` raises.

    The journal may have come with the series: it names files of the series, or it is refused.
    """
    place = folder.resolve()
    if not place.is_dir():
        return
    found = transaction.undo_interrupted(_root(place), place / STATE, _Own(place), _Versions(place))
    if found is not None:
        reporter.note(undone(found))


def _refuse_others(place: Path, edits: Iterable[str]) -> None:
    """Raise UnsafePathError for a file that the undo of this write would not put back."""
    own = _Own(place)
    for path in edits:
        if not own(checked(path), False):  # noqa: FBT003 - the type of trees.journal.Own
            raise UnsafePathError(f"{shown(path)} is no file of a series that patchkit writes")


class _Own:
    """Which files a write of a series may change, and which folders it may make, by path from ``_root``."""

    def __init__(self, place: Path) -> None:
        inside = place.relative_to(_root(place)).as_posix()
        self._start = "" if inside == "." else f"{inside}/"
        self._versions = VERSIONS if self._start and versions_file(place) == _root(place) / VERSIONS else None

    def __call__(self, path: str, is_folder: bool) -> bool:  # noqa: FBT001 - the type of trees.journal.Own
        if path.startswith(self._start) and is_written(path.removeprefix(self._start), folder=is_folder):
            return True
        return path == self._versions and not is_folder


class _Versions:
    """Judges what a journal in the folder of a series makes of upstream_versions.yaml above it, which is trusted."""

    def __init__(self, place: Path) -> None:
        self._file = _root(place) / VERSIONS
        self._above = self._file.parent != place
        self._journal = place / STATE / "journal"

    def __call__(self, entry: Entry, old: bytes | None) -> None:
        if not self._above or entry.path != VERSIONS:
            return
        try:
            if old is not None and only_adds(
                parse_document(VersionsDocument, old, VERSIONS), load_versions(self._file)
            ):
                return
        except SourceError:
            pass  # it says nothing that could be compared
        raise InterruptedWriteError(
            f"the journal {self._journal} would change in {self._file} what no write of a series changes",
            hint=f"it may have come with the series: compare the file with its history, then remove {self._journal}",
        )


def _root(place: Path) -> Path:
    """Return the folder below which all files are: upstream_versions.yaml may lie two levels above the series."""
    above = place.parent.parent
    return above if (above / VERSIONS).is_file() else place


def _path(path: Path, folder: Path, root: Path) -> str:
    """Return ``path`` from ``root``; a link on the way from the series' folder stays one, which the write refuses."""
    inside = path.relative_to(folder) if path.is_relative_to(folder) else None
    place = path.parent.resolve() / path.name if inside is None else folder.resolve() / inside
    return place.relative_to(root).as_posix()
