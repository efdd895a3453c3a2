"""Trip the n-th call by which a process changes the disk."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

CHANGING = ("replace", "rename", "unlink", "mkdir", "rmdir", "fsync", "ftruncate", "write", "fchmod")


class Count:
    """How many calls there were."""

    calls = 0


@contextmanager
def tripped(when: Callable[[int], bool], action: Callable[[], None]) -> Iterator[Count]:
    """Do ``action`` instead of each changing call whose number, from 1, ``when`` picks."""
    count = Count()

    def counted(real: Callable[..., Any], *, changes: Callable[..., bool]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if changes(*args):
                count.calls += 1
                if when(count.calls):
                    action()
            return real(*args, **kwargs)

        return call

    patched: dict[str, Any] = {name: counted(getattr(os, name), changes=lambda *_args: True) for name in CHANGING}
    patched["open"] = counted(os.open, changes=lambda _path, flags, *_rest: bool(flags & (os.O_WRONLY | os.O_RDWR)))
    with mock.patch.multiple(os, **patched):
        yield count


def full_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def control_c() -> None:
    raise KeyboardInterrupt


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_child(work: Callable[[], object]) -> int:
    """Do ``work`` in a child process and return its wait status; 256 (exit code 1) when it raised."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def killed_at(number: int, work: Callable[[], object]) -> bool:
    """Do ``work`` in a child that kills itself at changing call ``number``; tell whether it came that far."""

    def work_until_killed() -> None:
        with tripped(lambda calls: calls == number, kill_self):
            work()

    status = in_child(work_until_killed)
    assert status == 0 or os.WIFSIGNALED(status), f"the child failed by itself: {status}"
    return status != 0
