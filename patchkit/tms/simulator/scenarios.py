"""What is tried out with a library, one function for each scenario of patchkit.tms.probe, by its name.

Nothing of patchkit is imported. Each runs in a process of its own, which it may end.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from patchkit.tms.simulator.saver import Saver

SIZE: int = importlib.import_module("saver").SIZE
Came = tuple[str, str]
"""What came of a scenario, and in words what was wrong."""
WORKS, WRONG, MISSING = "works", "wrong", "missing"


def fill(pointer: int | None, value: int, size: int = SIZE) -> None:
    """Write to device memory."""
    ctypes.memset(pointer or 0, value, size)


def holds(pointer: int | None, value: int, size: int = SIZE) -> bool:
    """Tell whether memory holds the byte ``value`` all over."""
    return ctypes.string_at(pointer or 0, size) == bytes([value]) * size


def as_expected(good: bool, otherwise: str) -> Came:  # noqa: FBT001 - reads like an assertion
    """Return that it works, or what was wrong."""
    return (WORKS, "") if good else (WRONG, otherwise)


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
