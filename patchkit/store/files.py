"""Writing our own files."""

from __future__ import annotations

import contextlib
import os
import resource
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from patchkit.core.paths import DEEPEST
from patchkit.errors import UsageError, WriteFailedError
from patchkit.folders import below, everywhere
from patchkit.reading import kind_of
from patchkit.store.unreadable import unreadable
from patchkit.unfinished import unfinished


def entries(folder: Path, *, enter: Callable[[os.DirEntry[str]], bool] = everywhere) -> Iterator[Path]:
    """Yield everything below ``folder``, each folder before what is in it; what is behind a link is not below it.

    Raises StoreError where that cannot be listed, and for more folders in each other than a tree may have.
    """
    try:
        yield from (Path(entry.path) for entry in below(folder, DEEPEST, enter=enter))
    except OSError as error:
        raise unreadable(Path(error.filename or folder), error) from error


def refuse_odd_files(folder: Path) -> None:
    """Refuse links below ``folder``, and what is neither file nor folder. Raises UsageError, and as ``entries`` does.

    What would be written through a link would end up elsewhere, and what is read through one comes from there; a pipe
    waits for ever, and a device has no end.
    """
    for entry in entries(folder):
        refuse_link(entry)
        with contextlib.suppress(FileNotFoundError):
            mode = entry.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise UsageError(f"{entry} is no regular file but {kind_of(mode)}", hint="take it away")


def refuse_links_towards(folder: Path, path: str) -> None:
    """Refuse links on the way from ``folder`` to ``path``, which has slashes, and in its place. Raises UsageError."""
    place = folder
    for part in path.split("/"):
        place /= part
        refuse_link(place)


def refuse_link(place: Path) -> None:
    """Raise UsageError when ``place`` is a link."""
    if place.is_symlink():
        raise UsageError(f"{place} is a link, and links are not followed", hint="put a copy in its place")


def write_files(files: Mapping[Path, bytes], removed: Iterable[Path] = ()) -> None:
    """Write each file whole, by renaming a finished copy over it, then remove ``removed``.

    All copies are made before the first rename, so that a full disk changes nothing. Raises WriteFailedError.
    """
    for path in files:
        with _telling(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
    _write_whole(files, 0o644)
    for path in removed:
        with _telling(path):
            path.unlink()


def write_reports(reports: Mapping[Path, bytes]) -> None:
    """Write what a user has asked for under a name of their choice: each file whole or, on a full disk, none.

    A link stays one, and what it leads to is written. What is no file (``/dev/stdout``, a pipe) is written to as it is,
    and so is a file in a folder that takes no others. No folder is made: a name that leads nowhere is a slip. Raises
    WriteFailedError.
    """
    whole: dict[Path, bytes] = {}
    direct: dict[Path, bytes] = {}
    for path, content in reports.items():
        if path.exists() and not (path.is_file() and os.access(path.resolve().parent, os.W_OK)):
            direct[path] = content
        else:
            whole[path.resolve()] = content
    umask = os.umask(0)
    os.umask(umask)
    _write_whole(whole, 0o666 & ~umask)
    for path, content in direct.items():
        with _telling(path):
            path.write_bytes(content)


def _write_whole(files: Mapping[Path, bytes], mode: int) -> None:
    """Write files by renaming copies; those that are new get ``mode``. What killed processes left of theirs goes."""
    _allow_open_files(len(files))
    with contextlib.ExitStack() as copies:
        ready: list[tuple[Path, Path]] = []
        for path, content in files.items():
            # Nobody knows the unfinished copy; what is meant is the file that it was to become.
            with _telling(path):
                copy = copies.enter_context(unfinished(path))
                ready.append((copy, path))
                with copy.open("wb") as stream:
                    stream.write(content)
                    stream.flush()
                    os.fsync(stream.fileno())
                copy.chmod(path.stat().st_mode & 0o777 if path.exists() else mode)
        for copy, path in ready:
            with _telling(path):
                copy.replace(path)


def _allow_open_files(count: int) -> None:
    """Make room for a lock on each of ``count`` files beside what is open already, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 256
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


@contextlib.contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteFailedError(f"cannot write {path}: {error.strerror or error}") from error
