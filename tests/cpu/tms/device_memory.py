"""Device memory for a process with the real library preloaded: what torch would allocate, on the simulated driver.

Every allocation is a segment of its own. What torch_memory_saver takes from torch beside its hooks, pools and a
snapshot, is put into the stand-in for torch.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIZE = 1 << 20


class Pool:
    """As torch.cuda.MemPool."""

    _numbers = itertools.count(1)

    def __init__(self, allocator: Any = None) -> None:
        self.id = (0, next(self._numbers))
        self.allocator = allocator


OWN = Pool()
OWN.id = (0, 0)


class Tensor:
    """Bytes on the device; the address is all that the library knows of it."""

    def __init__(self, memory: Memory, address: int) -> None:
        self._memory = memory
        self.address = address

    def fill(self, value: int) -> None:
        ctypes.memset(self.address, value, SIZE)

    def read(self) -> int:
        """The first byte; the last one has to be the same."""
        text = ctypes.string_at(self.address, SIZE)
        assert text[0] == text[-1]
        return text[0]

    def free(self) -> None:
        """Give it back to the pool, which gives it back at the next empty_cache()."""
        self._memory.cached.append(self)

    # What the guard asks of a tensor of torch.

    def zero_(self) -> None:
        self.fill(0)

    def fill_(self, _nan: float) -> None:
        self.fill(0xFF)

    def is_floating_point(self) -> bool:
        return True

    def data_ptr(self) -> int:
        return self.address

    def numel(self) -> int:
        return SIZE

    def element_size(self) -> int:
        return 1


class Memory:
    """What torch's allocator holds."""

    def __init__(self, torch: Any) -> None:
        ctypes.CDLL("libcudart.so.12", ctypes.RTLD_GLOBAL)
        # What is preloaded stands before the runtime.
        self._library = ctypes.CDLL(None)
        self._thread = threading.local()
        self._segments: dict[int, Pool] = {}
        self.cached: list[Tensor] = []
        torch.cuda.MemPool = Pool
        torch.cuda.use_mem_pool = self._use_pool
        torch.cuda.memory_snapshot = self._snapshot
        torch.cuda.empty_cache = self.empty_cache

    @property
    def _pools(self) -> list[Pool]:
        if not hasattr(self._thread, "pools"):
            self._thread.pools = [OWN]
        found: list[Pool] = self._thread.pools
        return found

    def allocate(self, value: int = 0) -> Tensor:
        pool = self._pools[-1]
        address = self._new(pool)
        self._segments[address] = pool
        tensor = Tensor(self, address)
        tensor.fill(value)
        return tensor

    def _new(self, pool: Pool) -> int:
        """Memory of the pool's allocator, which hook mode torch has; else of the runtime."""
        if pool.allocator is not None:
            pool.allocator.allocate.restype = ctypes.c_void_p
            return int(pool.allocator.allocate(ctypes.c_ssize_t(SIZE), 0, None))
        pointer = ctypes.c_void_p()
        assert self._library.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(SIZE)) == 0
        assert pointer.value
        return pointer.value

    def empty_cache(self) -> None:
        for tensor in self.cached:
            pool = self._segments.pop(tensor.address)
            if pool.allocator is not None:
                pool.allocator.free(ctypes.c_void_p(tensor.address), ctypes.c_ssize_t(SIZE), 0, None)
            else:
                self._library.cudaFree(ctypes.c_void_p(tensor.address))
        self.cached.clear()

    @contextmanager
    def _use_pool(self, pool: Pool, device: object = None) -> Iterator[None]:
        self._pools.append(pool)
        try:
            yield
        finally:
            self._pools.pop()

    def _snapshot(self) -> list[dict[str, Any]]:
        return [
            {
                "address": address,
                "total_size": SIZE,
                "allocated_size": SIZE,
                "segment_pool_id": pool.id,
                "blocks": [{"state": "active_allocated", "size": SIZE, "requested_size": SIZE}],
            }
            for address, pool in self._segments.items()
        ]
