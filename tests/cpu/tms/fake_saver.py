"""torch_memory_saver without memory: what it does with each allocation, and when it ends the process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class DiedError(Exception):
    """What is exit(1) in the library."""


@dataclass(eq=False)
class Allocation:
    tag: str
    backup: bool
    value: int | None
    """None: whatever was in new memory."""
    paused: bool = False

    def zero_(self) -> None:
        self.write(0)

    def write(self, value: int | None) -> None:
        if self.paused:
            raise DiedError("written while paused")
        self.value = value

    def read(self) -> int | None:
        if self.paused:
            raise DiedError("read while paused")
        return self.value

    def is_floating_point(self) -> bool:
        return True

    def fill_(self, _nan: float) -> None:
        self.write(-1)


class FakeSaver:
    """The state machine of csrc/core.cpp, for memory outside regions with TMS_INIT_ENABLE and backup."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self._config: list[tuple[str, bool] | None] = [("default", True)]
        self.calls: list[tuple[str, str | None]] = []

    @contextmanager
    def region(self, tag: str = "default", enable_cpu_backup: bool = False) -> Iterator[None]:
        self._config.append((tag, enable_cpu_backup))
        try:
            yield
        finally:
            self._config.pop()

    @contextmanager
    def disable(self) -> Iterator[None]:
        self._config.append(None)
        try:
            yield
        finally:
            self._config.pop()

    def allocate(self, value: int | None = None) -> Allocation:
        tag, backup = self._config[-1] or ("", False)
        made = Allocation(tag, backup, value)
        if self._config[-1]:
            self.allocations.append(made)
        return made

    def pause(self, tag: str | None = None) -> None:
        self.calls.append(("pause", tag))
        for each in self._of(tag):
            if each.paused:
                raise DiedError("Cannot pause allocation that is not active.")
            each.paused = True

    def resume(self, tag: str | None = None) -> None:
        self.calls.append(("resume", tag))
        for each in self._of(tag):
            if not each.paused:
                raise DiedError("Cannot resume allocation that is not paused.")
            each.paused = False
            if not each.backup:
                each.value = None

    def counted(self) -> dict[str | None, tuple[int, ...]]:
        """Allocations by tag."""
        tags = {each.tag for each in self.allocations} | {"default"}
        return {tag: (sum(each.tag == tag for each in self.allocations),) for tag in tags}

    def _of(self, tag: str | None) -> list[Allocation]:
        return [each for each in self.allocations if tag is None or each.tag == tag]
