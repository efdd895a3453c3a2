"""The folder of a series for its unfinished rebase, and the file there that says where the edit directory is."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec

from patchkit.core.series import Document
from patchkit.errors import StoreError, TreeError, UsageError, WriteFailedError
from patchkit.folders import remove
from patchkit.reading import kind_of, read_unlinked
from patchkit.store.documents import parse_document
from patchkit.store.files import write_files
from patchkit.store.location import series_option

ROOM = ".rebase"
"""Folder below that of the series."""
PENDING = "pending"
OPEN = "open.yaml"

_COMMENT = "Written by `patchkit rebase`. Do not edit."
_DRAFT = f".{OPEN}."
"""Beginning of the name of an open.yaml that is not finished."""
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)
"""What file systems without hard links answer (link(2))."""
_PENDING = (PENDING, f"{PENDING}.new", f"{PENDING}.old")
REMOVED = "removed"
"""Folder below the room: what is in it is on its way out."""
_LONGEST = 60
"""Characters of a target's name that its folder has; systems take 255 bytes."""


class _Open(Document, frozen=True):
    """open.yaml."""

    edit_dir: str
    """A name where it lies in the room beside this file, and is found there in a series that was moved; else a path."""


def leads_into_room(path: str) -> bool:
    """Tell whether ``path``, one from the folder of the series, is in the room, as any system has names."""
    return path.split("/", 1)[0].casefold() == ROOM


def folder_for(target: str) -> str:
    """Return what the edit directory for a target is called in the room: never what the room has a use for itself.

    A branch may be called ``pending``. There is one unfinished rebase at a time, so that no two can have one name.
    """
    name = target.replace("/", "-")[:_LONGEST]
    taken = name.startswith(".") or name.casefold() in (*_PENDING, OPEN, REMOVED)
    return f"target-{name}" if taken else name


def home_elsewhere(series: Path, edit_dir: Path) -> str | None:
    """Return what tells whose an edit directory is: the folder of the series, without links.

    One in the room is of the series that it is in, also where that is moved or copied: then it is None.
    """
    home = series.resolve()
    return None if edit_dir.resolve().parent == home / ROOM else str(home)


def make_room(series: Path) -> Path:
    """Make the folder for unfinished rebases, which git ignores, and return it. Raises WriteFailedError."""
    room = series / ROOM
    try:
        room.mkdir(exist_ok=True)
    except OSError as error:
        raise WriteFailedError(f"cannot write {error.filename}: {error.strerror or error}") from error
    write_files({room / ".gitignore": b"*\n"})
    return room


def clear_room(series: Path) -> None:
    """Remove the folder for unfinished rebases when nothing is in it. Raises WriteFailedError."""
    room = series / ROOM
    refuse_room_link(series)
    try:
        if room.is_dir() and all(_is_rubbish(entry.name) for entry in room.iterdir()):
            remove(room)
    except OSError as error:
        raise WriteFailedError(f"cannot remove {error.filename}: {error.strerror or error}") from error


def sweep_room(series: Path) -> tuple[Path, ...]:
    """Remove open.yaml and every edit directory of the room; return those. A write that was cut short stays.

    Without open.yaml there is no unfinished rebase, whatever is in it. Before it goes, the edit directories get a name
    that says what they are, so that a kill leaves none that nothing speaks of. Raises WriteFailedError.
    """
    room = series / ROOM
    refuse_room_link(series)
    swept: list[Path] = []
    try:
        if (room / REMOVED).is_symlink():
            # What the others are moved to must be in the room.
            (room / REMOVED).unlink()
        for entry in sorted(room.iterdir()) if room.is_dir() else ():
            if entry.name in (*_PENDING, OPEN):
                continue
            if entry.is_symlink() or not entry.is_dir():
                if entry.is_symlink() or not _is_rubbish(entry.name):
                    entry.unlink()
            elif entry.name != REMOVED:
                (room / REMOVED).mkdir(exist_ok=True)
                entry.rename(room / REMOVED / os.urandom(4).hex())
                swept.append(entry)
        (room / OPEN).unlink(missing_ok=True)
        if (room / REMOVED).is_dir():
            remove(room / REMOVED)
    except OSError as error:
        raise WriteFailedError(f"cannot remove {error.filename}: {error.strerror or error}") from error
    clear_room(series)
    return tuple(swept)


def refuse_room_link(series: Path) -> None:
    """Raise UsageError when the room is a link: what that leads to is not ours to remove."""
    room = series / ROOM
    if room.is_symlink():
        raise UsageError(f"{room} is a link, and links are not followed", hint="remove it")


def refuse_odd_room(series: Path) -> None:
    """Raise UsageError where the room, or what has a name of ours in it, is of another kind than a rebase makes it.

    Going on, or dropping the rebase, would stop in the middle. A link in the place of what dropping it takes away by
    its name alone is no hindrance.
    """
    refuse_room_link(series)
    room = series / ROOM
    wanted = {ROOM: "a folder", **dict.fromkeys((*_PENDING, REMOVED), "a folder"), OPEN: "a file"}
    for name, right in wanted.items():
        place = room if name == ROOM else room / name
        try:
            kind = kind_of(place.lstat().st_mode)
        except OSError:
            continue  # it is not there, or whoever needs it says what is the matter
        if kind != right and not (kind == "a link" and name in (OPEN, REMOVED)):
            why = "links are not followed" if kind == "a link" else f"`patchkit rebase` has {right} there"
            raise UsageError(f"{place} is {kind}, and {why}", hint="remove it")


def write_open(room: Path, edit_dir: Path) -> None:
    """Say where the edit directory is. Raises FileExistsError when that is said already, WriteFailedError.

    The file is there as a whole or not at all, and is made here or not at all: of two that begin at the same time one
    is refused, and a process that is killed leaves none that is empty or cut.
    """
    from patchkit.store.yaml_text import print_yaml  # noqa: PLC0415 - only writing needs it

    told = edit_dir.name if edit_dir.parent == room.resolve() else str(edit_dir)
    text = print_yaml(msgspec.to_builtins(_Open(told)), _COMMENT)
    name: str | None = None
    try:
        handle, name = tempfile.mkstemp(dir=room, prefix=_DRAFT)
        with os.fdopen(handle, "wb") as stream:
            stream.write(text)
        Path(name).chmod(0o644)
        _place(Path(name), room / OPEN, text)
    except FileExistsError:
        raise
    except OSError as error:
        raise WriteFailedError(f"cannot write {room / OPEN}: {error.strerror or error}") from error
    finally:
        if name is not None:
            with suppress(OSError):
                Path(name).unlink()


def _place(draft: Path, file: Path, text: bytes) -> None:
    """Give a finished file its name, unless that is taken."""
    try:
        # Unlike a rename, a link is refused when there is such a file (link(2)).
        file.hardlink_to(draft)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with file.open("xb") as stream:
            stream.write(text)


def read_open(series: Path) -> Path | None:
    """Return where the edit directory of the unfinished rebase is, or None.

    Raises StoreError where the file does not say so, or a link is in the place of the directory or above it, TreeError
    where it cannot be read: it may say so all the same.
    """
    file = series / ROOM / OPEN
    hint = f"drop the rebase with `patchkit rebase --abort{series_option(series)}`; the series is as it was"
    try:
        # That it is there is asked with lstat(2), whose other answers lexists takes for none.
        if stat.S_ISLNK(file.lstat().st_mode):
            raise StoreError(str(file), None, "is a link, and links are not followed", hint=hint)
        text = read_unlinked(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        text = b""
    except OSError as error:
        raise TreeError(
            f"cannot read {file}: {error.strerror or error}", hint="make it readable, and run this again"
        ) from error
    changed = StoreError(str(file), None, "is no whole open.yaml: empty, cut or changed", hint=hint)
    try:
        place = Path(parse_document(_Open, text, str(file)).edit_dir)
    except StoreError as error:
        raise changed from error
    if place.name in ("", "..") or "\0" in str(place):
        raise changed
    home = series.resolve()
    if place.parent == home / ROOM or not place.is_absolute():
        # A copied series has an edit directory of its own.
        found = file.parent / place.name
        if found.is_symlink():
            raise StoreError(str(found), None, "is a link, and links are not followed", hint=hint)
        return file.parent.resolve() / place.name
    # The path of one elsewhere was written without links; and none is in the series, or around it.
    if os.path.normpath(place) != str(place) or place.is_relative_to(home) or home.is_relative_to(place):
        raise changed
    # Unlike Path's, this takes what cannot be looked at for no link, as realpath does.
    link = next((above for above in (*reversed(place.parents), place) if os.path.islink(above)), None)  # noqa: PTH114
    if link is not None:
        raise StoreError(str(link), None, "is a link, and links are not followed", hint=hint)
    if _is_too_long(place):
        raise changed
    return place


def _is_too_long(place: Path) -> bool:
    """Tell whether no system has such a path, so that nothing was ever there."""
    try:
        place.lstat()
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return False


def already_open(series: Path, edit_dir: Path | None) -> UsageError:
    """Return the error that says that there is an unfinished rebase, and where its edit directory is."""
    where = f": {edit_dir}" if edit_dir else ""
    return UsageError(
        f"there is an unfinished rebase{where}",
        hint=f"go on with `patchkit rebase --continue{series_option(series)}`, leave hunks out with --skip, "
        "or drop it with --abort",
    )


def _is_rubbish(name: str) -> bool:
    return name in (".gitignore", REMOVED, *_PENDING[1:]) or name.startswith((_DRAFT, "..gitignore."))
