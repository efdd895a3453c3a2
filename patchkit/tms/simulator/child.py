"""Scenarios with the real library of torch_memory_saver, each in a process that is forked off for it.

Started by patchkit.tms.probe with the simulator on LD_LIBRARY_PATH; nothing of patchkit is imported. The one argument
is a JSON object: mode, library, major, root, stand_ins, limit (seconds), and scenarios, each with name and settings.
In the current folder NAME.result gets what happened as a JSON object, unless the process dies first; NAME.report what
the simulator saw; NAME.said its standard error. Printed is a JSON object with each one's exit status.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SIZE = 4 << 20
Came = tuple[str, str]
"""What came of a scenario, and in words what was wrong."""
WORKS, WRONG, MISSING = "works", "wrong", "missing"


class Saver:
    """The library through its C functions, the same for all versions and both hook modes."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.torch_mode = job["mode"] == "torch"
        # The library of 0.0.8 needs the driver only, and looks for the runtime among what is loaded.
        ctypes.CDLL(f"libcudart.so.{job['major']}", ctypes.RTLD_GLOBAL)
        self.simulator = ctypes.CDLL("libcuda.so.1")
        for name in ("device_bytes", "host_bytes", "host_peak", "misuses"):
            getattr(self.simulator, f"patchkit_sim_{name}").restype = ctypes.c_size_t
        # What is preloaded stands before the runtime in the order of look-up.
        self.library = ctypes.CDLL(job["library"] if self.torch_mode else None)

    def has(self, symbol: str) -> bool:
        """Tell whether the library, or what is loaded after it, has a function."""
        return hasattr(self.library, symbol)

    @property
    def can_back_up(self) -> bool:
        """Whether the build knows backups at all."""
        return self.has("tms_set_enable_cpu_backup")

    def told(self, what: str) -> int:
        """Return a figure of the simulator: device_bytes, host_bytes, host_peak, misuses."""
        return int(getattr(self.simulator, f"patchkit_sim_{what}")())

    @contextlib.contextmanager
    def region(self, tag: str = "default", *, backup: bool = False) -> Iterator[None]:
        """Track what is allocated inside."""
        self.enter(tag, backup=backup)
        yield
        self.leave()

    def enter(self, tag: str = "default", *, backup: bool = False) -> None:
        """Track what is allocated from now on."""
        self.library.tms_set_current_tag(tag.encode())
        if self.has("tms_region_enter"):
            self.library.tms_region_enter()
        else:
            self.library.tms_set_interesting_region(ctypes.c_bool(1))
            self.library.tms_set_enable_cpu_backup(ctypes.c_bool(backup))

    def leave(self) -> None:
        """Track no more."""
        if self.has("tms_region_leave"):
            self.library.tms_region_leave()
        else:
            self.library.tms_set_interesting_region(ctypes.c_bool(0))

    def allocate(self, size: int = SIZE) -> int | None:
        """Return an address; None when the allocation was refused and the process lives on."""
        if self.torch_mode:
            self.library.tms_torch_malloc.restype = ctypes.c_void_p
            found = self.library.tms_torch_malloc(ctypes.c_ssize_t(size), 0, None)
            return int(found) if found else None
        pointer = ctypes.c_void_p()
        status = self.library.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer.value if status == 0 else None

    def free(self, pointer: int | None, size: int = SIZE) -> None:
        """Give an allocation back."""
        if self.torch_mode:
            self.library.tms_torch_free(ctypes.c_void_p(pointer), ctypes.c_ssize_t(size), 0, None)
        else:
            self.library.cudaFree(ctypes.c_void_p(pointer))

    def pause(self, tag: str | None = None) -> None:
        """Pause a tag; without one, everything."""
        self.library.tms_pause(tag and tag.encode())

    def resume(self, tag: str | None = None) -> None:
        """Resume a tag; without one, everything."""
        self.library.tms_resume(tag and tag.encode())


def fill(pointer: int | None, value: int, size: int = SIZE) -> None:
    """Write to device memory."""
    ctypes.memset(pointer or 0, value, size)


def holds(pointer: int | None, value: int, size: int = SIZE) -> bool:
    """Tell whether memory holds the byte ``value`` all over."""
    return ctypes.string_at(pointer or 0, size) == bytes([value]) * size


def as_expected(good: bool, otherwise: str) -> Came:  # noqa: FBT001 - reads like an assertion
    """Return that it works, or what was wrong."""
    return (WORKS, "") if good else (WRONG, otherwise)


# --- scenarios ----------------------------------------------------------


def free_while_paused(saver: Saver) -> Came:
    """A paused allocation can be freed."""
    saver.enter()
    pointer = saver.allocate()
    saver.pause()
    saver.free(pointer)
    return as_expected(saver.told("device_bytes") == 0, "device memory is left")


def free_outside_region(saver: Saver) -> Came:
    """What was allocated in a region can be freed after it."""
    with saver.region():
        pointer = saver.allocate()
    saver.free(pointer)
    return as_expected(saver.told("device_bytes") == 0, "the memory was not freed")


def pause_frees(saver: Saver) -> Came:
    """A pause gives the device memory back."""
    saver.enter()
    saver.allocate()
    before = saver.told("device_bytes")
    saver.pause()
    return as_expected((before, saver.told("device_bytes")) == (SIZE, 0), "device memory stays in use")


def address_kept(saver: Saver) -> Came:
    """After a resume the same address can be written."""
    saver.enter()
    pointer = saver.allocate()
    saver.pause()
    saver.resume()
    fill(pointer, 7)
    return as_expected(saver.told("device_bytes") == SIZE, "other memory than before the pause")


def backup_restored(saver: Saver) -> Came:
    """With backup the contents are as before, and a pause takes as much host memory."""
    if not saver.can_back_up:
        return MISSING, "no backup in this build"
    saver.enter(backup=True)
    pointer = saver.allocate()
    fill(pointer, 7)
    saver.pause()
    if saver.told("host_bytes") != SIZE:
        return WRONG, f"{saver.told('host_bytes')} pinned bytes at pause, not {SIZE}"
    saver.resume()
    return as_expected(holds(pointer, 7), "other contents than before the pause")


def no_backup_no_host_memory(saver: Saver) -> Came:
    """Without backup a pause takes no host memory."""
    saver.enter(backup=False)
    saver.allocate()
    saver.pause()
    return as_expected(saver.told("host_peak") == 0, f"{saver.told('host_peak')} pinned bytes at pause")


def backup_released_on_resume(saver: Saver) -> Came:
    """A resume gives the host memory back."""
    if not saver.can_back_up:
        return MISSING, "no backup in this build"
    saver.enter(backup=True)
    saver.allocate()
    saver.pause()
    saver.resume()
    return as_expected(saver.told("host_bytes") == 0, f"{saver.told('host_bytes')} pinned bytes stay")


def backup_retained_on_request(saver: Saver) -> Came:
    """The host memory can be kept for the next pause."""
    if not saver.has("tms_set_retain_cpu_backup"):
        return MISSING, "no tms_set_retain_cpu_backup"
    saver.library.tms_set_retain_cpu_backup(ctypes.c_bool(1))
    saver.enter(backup=True)
    saver.allocate()
    saver.pause()
    saver.resume()
    return as_expected(saver.told("host_bytes") == SIZE, "the copy was not kept")


def zero_copy_pointer(saver: Saver) -> Came:
    """The host copy of paused memory can be read in place."""
    if not saver.has("tms_get_cpu_backup_pointer"):
        return MISSING, "no tms_get_cpu_backup_pointer"
    saver.enter(backup=True)
    pointer = saver.allocate()
    fill(pointer, 7)
    saver.pause()
    saver.library.tms_get_cpu_backup_pointer.restype = ctypes.c_void_p
    copy = saver.library.tms_get_cpu_backup_pointer(ctypes.c_void_p(pointer), ctypes.c_uint64(SIZE))
    return as_expected(bool(copy) and holds(copy, 7), "the copy holds something else")


def unaligned_size(saver: Saver) -> Came:
    """Any size can be asked for."""
    saver.enter()
    pointer = saver.allocate(6912)
    if pointer is None:
        return WRONG, "the allocation was refused"
    fill(pointer, 7, 6912)
    saver.pause()
    saver.resume()
    saver.free(pointer, 6912)
    return as_expected(saver.told("device_bytes") == 0, "device memory is left")


def pause_twice(saver: Saver) -> Came:
    """A second pause changes nothing."""
    saver.enter()
    saver.allocate()
    saver.pause()
    saver.pause()
    return as_expected(saver.told("misuses") == 0, "the driver was called wrongly")


def resume_of_active(saver: Saver) -> Came:
    """A resume of what is active changes nothing."""
    saver.enter()
    pointer = saver.allocate()
    saver.resume()
    fill(pointer, 7)
    return as_expected(saver.told("misuses") == 0, "the driver was called wrongly")


def tags_apart(saver: Saver) -> Came:
    """One tag can be paused and resumed while another is in use."""
    with saver.region("one"):
        saver.allocate()
    with saver.region("two"):
        other = saver.allocate()
    fill(other, 7)
    saver.pause("one")
    good = saver.told("device_bytes") == SIZE and holds(other, 7)
    saver.resume("one")
    return as_expected(good and saver.told("device_bytes") == 2 * SIZE, "another tag was paused too, or none")


def device_memory_runs_out(saver: Saver) -> Came:
    """A shortage of device memory is told to the caller."""
    saver.enter()
    return as_expected(saver.allocate(16 * SIZE) is None, "more memory was given than there is")


def host_memory_runs_out(saver: Saver) -> Came:
    """A shortage of host memory does not go unnoticed."""
    if not saver.can_back_up:
        return MISSING, "no backup in this build"
    saver.enter(backup=True)
    saver.allocate()
    saver.pause()
    return WRONG, "the pause went on without a copy"


def touch_while_paused(saver: Saver) -> Came:
    """Paused memory faults when it is read."""
    saver.enter()
    pointer = saver.allocate()
    saver.pause()
    ctypes.string_at(pointer or 0, 1)
    return WRONG, "paused memory could be read"


# --- scenarios through the Python files of the package --------------------------------------------------------------


def imported(saver: Saver) -> Any:
    """Return the package's object, its Python files imported with stand-ins for torch and numpy."""
    sys.path[:0] = [saver.job["stand_ins"], saver.job["root"]]
    # The one that is tried out, which is not that of this Python.
    torch_memory_saver = importlib.import_module("torch_memory_saver").torch_memory_saver

    if saver.torch_mode:
        torch_memory_saver.hook_mode = "torch"
    return torch_memory_saver


def nested_regions(saver: Saver) -> Came:
    """An outer region goes on after an inner one."""
    package = imported(saver)
    with package.region("outer"):
        with package.region("inner"):
            saver.allocate()
        # Through the C function of the runtime: in hook mode torch, torch's pool would do so.
        saver.allocate()
        tracked = saver.told("device_bytes")
        package.pause("outer")
        good = (tracked, saver.told("device_bytes")) == (2 * SIZE, SIZE)
    return as_expected(good, "the outer region does not go on after the inner one")


def several_preload_entries(saver: Saver) -> Came:
    """It works when LD_PRELOAD has another entry too."""
    package = imported(saver)
    with package.region("default"):
        saver.allocate()
    package.pause()
    return as_expected(saver.told("device_bytes") == 0, "it switched itself off")


def fork_off(saver: Saver, scenario: dict[str, Any], limit: int) -> int:
    """Return the exit status of a child that runs the scenario; in the child, do not return."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    name = scenario["name"]
    os.dup2(os.open(f"{name}.said", os.O_WRONLY | os.O_CREAT, 0o600), 2)
    os.environ.update(scenario["settings"], PATCHKIT_SIMULATOR_REPORT=f"{name}.report")
    saver.simulator.patchkit_sim_configure()
    signal.alarm(limit)
    try:
        outcome, text = globals()[name](saver)
    except Exception as error:
        outcome, text = "raises", f"{type(error).__name__}: {error}".strip().rstrip(":")
    Path(f"{name}.result").write_text(json.dumps({"outcome": outcome, "text": text}), encoding="utf-8")
    # As any program ends: what the library does then belongs to it.
    sys.exit(0)


def main() -> None:
    """Run every scenario that is asked for."""
    job = json.loads(sys.argv[1])
    saver = Saver(job)
    answer = {item["name"]: fork_off(saver, item, job["limit"]) for item in job["scenarios"]}
    sys.stdout.write(json.dumps(answer))


main()
