"""Folders gone through and removed, however deep they are: os.walk, Path.rglob and rmtree call themselves for each."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SHOWN = 40
"""Characters of a path without an end that tell where it begins."""
TOO_DEEP = "see what it is, and take it away: no project has folders so deep"
"""What to do about what ``below`` does not go through, and about names longer than systems take."""


def _raise(error: OSError) -> NoReturn:
    raise error


def everywhere(_entry: os.DirEntry[str]) -> bool:
    """Say so of every folder."""
    return True


def below(
    folder: str | os.PathLike[str],
    deepest: int,
    *,
    enter: Callable[[os.DirEntry[str]], bool] = everywhere,
    unreadable: Callable[[OSError], object] = _raise,
) -> Iterator[os.DirEntry[str]]:
    """Yield everything below ``folder``, by name, each folder before what is in it; no link is followed.

    What is in a folder that is not to ``enter`` is left out. A folder that cannot be listed is told to ``unreadable``;
    one that is not there has nothing. Raises OSError with the beginning of the name where more than ``deepest`` folders
    are in each other: who goes on with them is not sure to come back.
    """
    todo = [(os.fspath(folder), 0)]
    while todo:
        place, depth = todo.pop()
        if depth > deepest:
            shown = place[: len(os.fspath(folder)) + _SHOWN]
            raise OSError(errno.ENAMETOOLONG, f"it is nested more than {deepest} folders deep", f"{shown}...")
        try:
            with os.scandir(place) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            unreadable(error)
            continue
        yield from entries
        inner = [entry for entry in reversed(entries) if entry.is_dir(follow_symlinks=False) and enter(entry)]
        todo += [(entry.path, depth + 1) for entry in inner]


def remove(folder: Path, *, last: str | None = None) -> None:
    """Remove ``folder``, which is no link, and all that is in it, its file ``last`` at the end. Raises OSError.

    The error has a name.

    What is in a folder comes up before that is removed, so that neither depth nor a path longer than systems take is in
    the way; and everything is reached from the open folder: nobody who swaps one for a link leads it elsewhere.
    """
    top = os.open(folder, _FOLDER)
    try:
        todo = _emptied(top, top, str(folder), last)
        while todo:
            name, shown = todo.pop()
            with _telling(shown):
                inner = os.open(name, _FOLDER, dir_fd=top)
            try:
                todo += _emptied(inner, top, shown)
            finally:
                os.close(inner)
            with _telling(shown):
                os.rmdir(name, dir_fd=top)
        if last is not None:
            with _telling(f"{folder}/{last}"), suppress(FileNotFoundError):
                os.unlink(last, dir_fd=top)
    finally:
        os.close(top)
    folder.rmdir()


def _emptied(folder: int, top: int, shown: str, kept: str | None = None) -> list[tuple[str, str]]:
    """Remove the files of an open folder, and bring its folders up to ``top``; return their names there and before.

    The file ``kept`` stays.
    """
    with _telling(shown), os.scandir(folder) as found:
        entries = list(found)
    brought: list[tuple[str, str]] = []
    for entry in entries:
        name, place = entry.name, f"{shown}/{entry.name}"
        with _telling(place):
            if not entry.is_dir(follow_symlinks=False):
                if name != kept:
                    os.unlink(name, dir_fd=folder)
                continue
            with suppress(OSError):
                # One that nothing may be written to, and that is empty, can be removed and not moved.
                os.rmdir(name, dir_fd=folder)
                continue
            if folder != top:
                name = os.urandom(8).hex()
                os.rename(entry.name, name, src_dir_fd=folder, dst_dir_fd=top)
            brought.append((name, place))
    return brought


@contextmanager
def _telling(place: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # The system knows the last part of the name alone, and not what was brought up.
        error.filename, error.filename2 = place, None
        raise
