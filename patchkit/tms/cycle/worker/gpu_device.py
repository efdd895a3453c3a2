"""The device of a process that trains on a GPU, for cycle.Cycle: where allocations go, and what the system counts."""

from __future__ import annotations

import contextlib
import gc
import importlib
from pathlib import Path
from typing import Any

LARGE = 32 << 20
"""Bytes of a tensor that torch gives a segment of its own."""


class Gpu:
    """The device of this process, and what the system counts."""

    own = False
    """Whether readings of the device are of this process alone."""

    spare = LARGE
    misuses = 0
    """A driver that is called wrongly ends the process here."""

    def __init__(self, hook: str) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._hook = hook
        self.saver: Any = None
        if hook != "none":
            self.saver = importlib.import_module("torch_memory_saver").torch_memory_saver
        if hook != "none" and self.saver._impl is None:
            # Megatron without the series sets it to torch when it is imported.
            self.saver.hook_mode = hook

    def on_device(self) -> contextlib.AbstractContextManager[Any]:
        """Where allocations are torch_memory_saver's: everywhere in a process that preloads it, else in a region."""
        if self._hook != "torch":
            return contextlib.nullcontext()
        region: contextlib.AbstractContextManager[Any] = self.saver.region(enable_cpu_backup=True)
        return region

    def reading(self) -> dict[str, int]:
        """Bytes used of the device, by whomever, and bytes of the host that this process has."""
        free, total = self._torch.cuda.mem_get_info()
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        rows = dict(line.split(":", 1) for line in lines)
        return {"device": total - free, "host": int(rows["VmRSS"].split()[0]) << 10}

    def wait(self) -> None:
        """Until the device has done what it was asked for."""
        self._torch.cuda.synchronize()

    def settle(self) -> None:
        """Wait for what is under way, and give back what no tensor is in."""
        self._torch.cuda.synchronize()
        gc.collect()
        self._torch._C._cuda_clearCublasWorkspaces()
        self._torch.cuda.empty_cache()

    @staticmethod
    def rounded(size: int) -> int:
        """Of tensors on a device, what they take is a matter of torch's segments."""
        return size

    def tracked(self) -> dict[str, int] | None:
        """Bytes that torch holds in memory that torch_memory_saver tracks, and those of them that a pause copies."""
        placement: Any = importlib.import_module("patchkit.tms.placement")
        found = placement.placements_of(self.saver) if self.saver is not None else None
        if found is None:
            return None
        on_device, copied = found.tracked_bytes()
        return {"device": on_device, "host": copied}

    def placement(self, ddp: Any, *, grads: bool, params: bool) -> dict[str, Any] | None:
        """Where the buffers lie; ``grads`` and ``params`` say whether they have a copy on the host."""
        if self.saver is None:
            return None
        placement: Any = importlib.import_module("patchkit.tms.placement")
        buffers = placement.ddp_buffers([ddp], grad_backup=grads, param_backup=params)
        found = placement.verify_buffers(buffers, self.saver)
        misplaced = [f"{each.name}: {each.found}, not {each.expected}" for each in found.misplaced]
        return {"known": found.known, "checked": found.checked, "misplaced": misplaced}
