"""The fault shim: building it, and the block of memory by which a run is told what shall fail.

``shim.c`` wraps the calls of libc by which Python and git reach files.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
import sys
from enum import IntEnum
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")


class Action(IntEnum):
    """What happens at the call."""

    OFF = 0
    KILL_ALL = 1
    """The whole process group dies, as when the machine's memory is full or the container is stopped."""
    KILL_ONE = 2
    """The process that made the call dies."""
    FAIL = 3
    HOLD = 4
    """The process that makes the call waits until it is released."""


class Calls(IntEnum):
    """Which calls count."""

    CHANGES = 0
    """Those that change files."""
    READS_TOO = 1
    RENAMES = 2
    CLOCKS = 3
    """Those that read a clock or the times of a file."""


class _Block(ctypes.Structure):
    _fields_ = [
        ("armed", ctypes.c_int),
        ("error", ctypes.c_int),
        ("sticky", ctypes.c_int),
        ("calls", ctypes.c_int),
        ("no_sync", ctypes.c_int),
        ("at", ctypes.c_int),
        ("count", ctypes.c_int),
        ("process", ctypes.c_int),
        ("held", ctypes.c_int),
        ("several", ctypes.c_int),
        ("clock_jump", ctypes.c_longlong),
        ("last", ctypes.c_char * 64),
        ("names", ctypes.c_char * 16 * 1024),
        ("root", ctypes.c_char * 4096),
    ]


class Control:
    """The block, shared with every process of a run."""

    def __init__(self, file: Path) -> None:
        with file.open("r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), ctypes.sizeof(_Block))
        self._block = _Block.from_buffer(self._map)
        # What a kill takes is what the kernel has; waiting for disks would tell nothing more.
        self._block.no_sync = True

    @staticmethod
    def make(file: Path) -> None:
        """Make the file of a block that is off."""
        file.write_bytes(bytes(ctypes.sizeof(_Block)))

    def arm(
        self,
        root: Path,
        action: Action,
        at: int,
        *,
        error: int = 0,
        sticky: bool = False,
        calls: Calls = Calls.CHANGES,
        clock_jump: int = 0,
    ) -> None:
        """From now on, call ``at`` (from 1) below ``root`` has the fault."""
        block = self._block
        block.root = os.fsencode(root)
        block.error, block.sticky, block.calls, block.clock_jump = error, sticky, calls, clock_jump
        block.at, block.count, block.process, block.several, block.last = at, 0, 0, False, b""
        block.held = False
        block.armed = action

    @property
    def held(self) -> bool:
        """Whether a process waits at its call."""
        return bool(self._block.held)

    def release(self) -> None:
        """Let it go on."""
        self._block.held = False

    def disarm(self) -> None:
        """No more faults."""
        self._block.armed = Action.OFF

    @property
    def count(self) -> int:
        """Calls since it was armed."""
        return int(self._block.count)

    @property
    def names(self) -> list[str]:
        """Names of the calls since it was armed, the first 1024."""
        return [name.value.decode() for name in self._block.names[: self.count]]

    @property
    def several(self) -> bool:
        """Whether more than one process made them."""
        return bool(self._block.several)

    @property
    def last(self) -> str:
        """The call that had the fault; empty where none had."""
        return bytes(self._block.last).decode()


def compiler() -> str | None:
    """Return a C compiler; None where there is none, or no Linux."""
    found = (shutil.which(name) for name in ("cc", "gcc", "clang"))
    return next(filter(None, found), None) if sys.platform == "linux" else None


def build(folder: Path) -> Path:
    """Build the shim in ``folder``."""
    made = folder / "faults.so"
    command = [compiler() or "cc", "-O1", "-fPIC", "-shared", "-o", str(made), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return made
