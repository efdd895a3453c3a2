"""The lock that lets one patchkit process at a time write to a tree.

It is a flock(2) on ``lock`` in the state folder: the kernel drops it with the process, so a lock never outlives a kill.
The file goes away with the lock, which takes one precaution: whoever locks a file that has been unlinked meanwhile
holds nothing, and looks again.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from patchkit.errors import TreeBusyError, UnsafePathError
from patchkit.reading import kind_of

_NAME = "lock"


@contextmanager
def exclusive(state_dir: Path, tree: str) -> Iterator[None]:
    """Hold the lock of the tree called ``tree``; make the state folder, and remove it afterwards when nothing is left.

    Raises TreeBusyError at once when another process holds it, UnsafePathError, OSError.
    """
    descriptor = _locked_file(state_dir, tree)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())
        yield
    finally:
        # A lock file or an empty folder that stays behind does no harm; a descriptor would keep the lock.
        try:
            with suppress(OSError):
                (state_dir / _NAME).unlink()
        finally:
            os.close(descriptor)
        with suppress(OSError):
            state_dir.rmdir()


@contextmanager
def shared(state_dir: Path, tree: str) -> Iterator[None]:
    """Keep writers out while looking, without writing anything.

    Raises TreeBusyError while one is at work, UnsafePathError.
    """
    with suppress(FileNotFoundError):
        # What a link leads to is another tree's.
        _refuse_no_folder(state_dir)
    descriptor = None
    # Where nobody left a lock there is nobody to wait for; who may not read it may not write the tree either.
    with suppress(OSError):
        descriptor = _open(state_dir / _NAME, os.O_RDONLY)
    try:
        if descriptor is not None:
            _lock(descriptor, fcntl.LOCK_SH, tree)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked_file(state_dir: Path, tree: str) -> int:
    while True:
        with suppress(FileExistsError):
            state_dir.mkdir()
        try:
            _refuse_no_folder(state_dir)
            descriptor = _open(state_dir / _NAME, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:
            continue  # the holder removed the folder between two of our calls
        except OSError:
            with suppress(OSError):
                state_dir.rmdir()
            raise
        try:
            _lock(descriptor, fcntl.LOCK_EX, tree)
            if _is_current(descriptor, state_dir / _NAME):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _refuse_no_folder(state_dir: Path) -> None:
    """Raise UnsafePathError for anything else in the place of the state folder, FileNotFoundError without one."""
    mode = state_dir.lstat().st_mode
    if not stat.S_ISDIR(mode):
        raise UnsafePathError(
            f"{state_dir} is {kind_of(mode)}, and patchkit keeps its notes in a folder of that name",
            hint=f"put it elsewhere: {state_dir.name} is patchkit's own",
        )


def _open(file: Path, flags: int) -> int:
    """Open the lock, which may have come with a tree. Raises UnsafePathError for anything but a file, OSError."""
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for its writer.
        descriptor = os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        raise
    except OSError as error:
        # The words for a link, a folder or a socket do not say what it is.
        with suppress(OSError):
            _refuse_irregular(file, file.lstat().st_mode)
        raise error
    try:
        _refuse_irregular(file, os.fstat(descriptor).st_mode)
    except UnsafePathError:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_irregular(file: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise UnsafePathError(f"{file} is no lock of patchkit but {kind_of(mode)}", hint="remove it")


def _lock(descriptor: int, kind: int, tree: str) -> None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        who = f"another patchkit process (pid {holder})" if holder.isdigit() else "another patchkit process"
        hint = "wait until it has ended, then run this again"
        raise TreeBusyError(f"{who} is writing to {tree}", hint=hint) from error


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
