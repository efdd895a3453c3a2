"""The allocator that hook mode torch loads its library with."""

import ctypes


class CUDAPluggableAllocator:
    """Loads the library and its two functions, as torch does."""

    def __init__(self, path: str, allocate: str, free: str) -> None:
        library = ctypes.CDLL(path)
        self.allocate = getattr(library, allocate)
        self.free = getattr(library, free)

    def allocator(self) -> "CUDAPluggableAllocator":
        """Return itself: a pool only keeps it."""
        return self
