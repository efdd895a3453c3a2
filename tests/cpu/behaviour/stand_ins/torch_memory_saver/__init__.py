"""Stand-in for ``torch_memory_saver``, which the worker puts before any other.

It keeps the shape of the real singleton: ``region`` as a context manager, and a ``hook_mode`` that
can be written until the library is initialised and never read. Instead of moving memory it keeps
a log that the worker reads.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class TorchMemorySaver:
    """The object that ``from torch_memory_saver import torch_memory_saver`` gives."""

    def __init__(self) -> None:
        self._impl: object | None = None
        self.entered: list[dict[str, object]] = []
        self.active: int | None = None
        self.hook_modes: list[str] = []

    @contextmanager
    def region(self, tag: str = "default", enable_cpu_backup: bool = False) -> Iterator[None]:
        """Log the entry; ``active`` is the index of the region that is open now."""
        if self.active is not None:
            raise RuntimeError(f"region {tag!r} entered inside {self.entered[self.active]}")
        self.entered.append({"tag": tag, "enable_cpu_backup": enable_cpu_backup})
        self.active = len(self.entered) - 1
        try:
            yield
        finally:
            self.active = None

    @property
    def hook_mode(self) -> str:
        """As in the real class, only the setter works."""
        raise AttributeError("hook_mode")

    @hook_mode.setter
    def hook_mode(self, hook_mode: str) -> None:
        if self._impl is not None:
            raise AttributeError("_impl_ctor_kwargs")
        self.hook_modes.append(hook_mode)


torch_memory_saver = TorchMemorySaver()
