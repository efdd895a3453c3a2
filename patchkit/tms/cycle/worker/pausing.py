"""Who pauses: torch_memory_saver itself, or the guard of patchkit before it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any


def control(job: Any, device: Any) -> Any:
    """What pauses and resumes in this process; torch_memory_saver initialises itself here."""
    if device.saver is None:
        return Nothing()
    device.saver.pause()
    device.saver.resume()
    if job.guard:
        return Guarded(device, drops_parameters=job.params and job.sharded, retain=job.retain)
    if job.retain:
        device.saver.retain_cpu_backup = True
    return Plain(device.saver)


class Nothing:
    """A process without torch_memory_saver."""

    def declare(self, gradients: Callable[[], Sequence[Any]]) -> None:
        """Say which buffers hold gradients."""

    def pause(self) -> None:
        """Pause everything."""

    def resume(self) -> None:
        """Resume everything."""

    def restored(self) -> None:
        """Say that what has no backup was written again."""

    def began(self) -> None:
        """Say that gradients are being accumulated."""

    def stepped(self) -> None:
        """Say that they were used."""


class Plain(Nothing):
    """As frameworks call it."""

    def __init__(self, saver: Any) -> None:
        self.pause, self.resume = saver.pause, saver.resume  # type: ignore[method-assign]


class Guarded(Nothing):
    """Through patchkit's guard, with both tags declared."""

    def __init__(self, device: Any, *, drops_parameters: bool, retain: bool) -> None:
        guard_module: Any = importlib.import_module("patchkit.tms.guard")
        self.guard = guard_module.OffloadGuard(device.saver, retain_backups=retain)
        self.drops_parameters = drops_parameters

    def declare(self, gradients: Callable[[], Sequence[Any]]) -> None:
        """Declare the tags of the series."""
        self.guard.add_tag("grad_buffer", backup=False, buffers=gradients)
        if self.drops_parameters:
            # Written by the training itself after each resume.
            self.guard.add_tag("param_buffer", backup=False, restore=lambda: None)

    def pause(self) -> None:
        """Pause all tags, each by its name."""
        self.guard.pause()

    def resume(self) -> None:
        """Resume what is paused; nothing is restored yet."""
        self.guard.resume(restore=False)

    def restored(self) -> None:
        """Everything was written again: gradients by NaN here and by zeros before their next use."""
        for tag in ("grad_buffer", "param_buffer") if self.drops_parameters else ("grad_buffer",):
            self.guard.mark_restored(tag)

    def began(self) -> None:
        """Gradients of a microbatch are in the buffers."""
        self.guard.mark_gradients_dirty()

    def stepped(self) -> None:
        """The optimizer has used them."""
        self.guard.mark_gradients_clean()
