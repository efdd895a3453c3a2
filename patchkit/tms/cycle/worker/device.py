"""Device memory for tensors on the CPU: torch's caching allocator in small, on what `cudaMalloc` gives in this process.

With the library of torch_memory_saver preloaded, that is its hook, and behind it the simulated driver. A tensor made
here lies in memory that a pause takes away: touching it then ends the process.
"""

from __future__ import annotations

import ctypes
import importlib
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

GRANULARITY = 4096
"""What the simulator is set to; segments are multiples of it, as those of torch are multiples of 2 MiB."""


class CachingAllocator:
    """Segments by pool and size; what is freed is kept until `empty_cache`."""

    def __init__(self, major: int) -> None:
        # What is preloaded stands before the runtime; the library of 0.0.8 does not bring one.
        ctypes.CDLL(f"libcudart.so.{major}", ctypes.RTLD_GLOBAL)
        self._library = ctypes.CDLL(None)
        self._free: dict[tuple[object, int], list[int]] = {}
        self._pools: list[object] = [None]

    @contextmanager
    def use_mem_pool(self, pool: object, device: object = None) -> Iterator[None]:  # noqa: ARG002 - torch's signature
        """As torch.cuda.use_mem_pool: what is allocated inside comes from segments of the pool's own."""
        self._pools.append(pool)
        try:
            yield
        finally:
            self._pools.pop()

    def allocate(self, size: int) -> Any:
        """A ctypes buffer of at least ``size`` bytes; it goes back to its pool when nothing refers to it any more."""
        rounded = -(-size // GRANULARITY) * GRANULARITY
        free = self._free.setdefault((self._pools[-1], rounded), [])
        pointer = free.pop() if free else self._malloc(rounded)
        block = type("Block", (ctypes.c_char * rounded,), {}).from_address(pointer)  # type: ignore[attr-defined]
        weakref.finalize(block, free.append, pointer).atexit = False
        return block

    def empty_cache(self) -> None:
        """Give every segment back that no tensor is in."""
        for segments in self._free.values():
            while segments:
                self._library.cudaFree(ctypes.c_void_p(segments.pop()))

    def _malloc(self, size: int) -> int:
        pointer = ctypes.c_void_p()
        status = self._library.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size))
        if status != 0 or not pointer.value:
            raise MemoryError(f"cudaMalloc of {size} bytes gave {status}")
        return pointer.value

    def on_device(self) -> Any:
        """A mode under which every storage that an operator makes lies in device memory."""
        base: Any = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
        return type("OnDevice", (base,), {"__torch_dispatch__": self._dispatcher()})()

    def _dispatcher(self) -> Callable[..., Any]:
        torch = importlib.import_module("torch")
        tree_map = importlib.import_module("torch.utils._pytree").tree_map

        def dispatch(
            _mode: Any,
            operator: Callable[..., Any],
            _types: Sequence[type],
            args: Sequence[Any] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            seen: set[int] = set()

            def note(value: Any) -> Any:
                if isinstance(value, torch.Tensor):
                    seen.add(value.untyped_storage()._cdata)
                return value

            tree_map(note, (args, dict(kwargs or {})))

            def moved(value: Any) -> Any:
                if not isinstance(value, torch.Tensor) or value.untyped_storage()._cdata in seen:
                    return value
                return self.moved(value) if value.untyped_storage().nbytes() else value

            return tree_map(moved, operator(*args, **(kwargs or {})))

        return dispatch

    def moved(self, tensor: Any) -> Any:
        """The same tensor, its whole storage in device memory."""
        torch = importlib.import_module("torch")
        storage = tensor.untyped_storage()
        block = self.allocate(storage.nbytes())
        ctypes.memmove(block, storage.data_ptr(), storage.nbytes())
        flat = torch.frombuffer(block, dtype=torch.uint8, count=storage.nbytes()).view(tensor.dtype)
        return flat.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


class Simulated:
    """Tensors in memory of the simulated device, and what its driver counts."""

    own = True
    """Whether readings of the device are of this process alone."""

    spare = 1000
    """Bytes of a tensor that is freed while everything is paused."""

    def __init__(self, allocator: CachingAllocator, saver: Any) -> None:
        self.saver = saver
        self._allocator = allocator
        self._library = ctypes.CDLL("libcuda.so.1")
        for name in ("device_bytes", "host_bytes", "misuses"):
            getattr(self._library, f"patchkit_sim_{name}").restype = ctypes.c_size_t

    def on_device(self) -> Any:
        """A context for allocations on the device."""
        return self._allocator.on_device()

    def reading(self) -> dict[str, int]:
        """Bytes on the device that something is mapped to, and bytes of pinned host memory."""
        return {
            "device": int(self._library.patchkit_sim_device_bytes()),
            "host": int(self._library.patchkit_sim_host_bytes()),
        }

    def settle(self) -> None:
        """Give back what no tensor is in."""
        self._allocator.empty_cache()

    def wait(self) -> None:
        """Nothing is under way here."""

    @property
    def misuses(self) -> int:
        """Wrong calls of the driver so far."""
        return int(self._library.patchkit_sim_misuses())

    @staticmethod
    def rounded(size: int) -> int:
        """What a tensor of ``size`` bytes takes alone."""
        return -(-size // GRANULARITY) * GRANULARITY

    def tracked(self) -> None:
        """Nothing: there is no snapshot of torch."""

    def placement(self, ddp: Any, *, grads: bool, params: bool) -> None:
        """Nothing, as above."""
