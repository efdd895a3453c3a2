"""The library of torch_memory_saver through its C functions, for scenarios. Nothing of patchkit is imported."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

SIZE = 4 << 20
"""Bytes of an allocation that nothing else is said of."""


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
