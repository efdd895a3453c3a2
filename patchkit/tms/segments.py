"""Which segments torch's caching allocator asks the device for, from the order in which tensors come and go.

The rules and sizes are those of c10/cuda/CUDACachingAllocator of torch 2 as it starts, without PYTORCH_CUDA_ALLOC_CONF
and for one stream: the smallest free block that is large enough, of segments of its kind, else a new segment.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

MIB = 1 << 20

_BLOCK = 512
"""kMinBlockSize: sizes are rounded up to a multiple."""
_SMALL = MIB
"""kSmallSize: up to it a request is small; small ones and others never share a segment."""
_SMALL_SEGMENT = 2 * MIB
"""kSmallBuffer: what small ones are packed into."""
_LARGE = 10 * MIB
"""kMinLargeAlloc: from it on a request gets a segment of its own size."""
_LARGE_SEGMENT = 20 * MIB
"""kLargeBuffer: what those between are packed into."""
_ROUND = 2 * MIB
"""kRoundLarge: a segment of its own is a multiple of it."""


class Block(NamedTuple):
    """A piece of a segment. Ordered as torch looks for one: by size, then by address."""

    size: int
    segment: int
    """By number: a later one is taken for one at a higher address."""
    start: int
    small: bool

    @property
    def end(self) -> int:
        """Where the next block of the segment begins."""
        return self.start + self.size


class Segments:
    """The segments of one pool."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._free: dict[bool, list[Block]] = {True: [], False: []}
        self._starts: dict[tuple[int, int], Block] = {}
        self._ends: dict[tuple[int, int], Block] = {}
        self._asked = 0

    @property
    def reserved(self) -> int:
        """Bytes of all segments, which is what torch calls reserved."""
        return sum(self._sizes.values())

    def allocate(self, size: int) -> Block:
        """Return a block for ``size`` bytes, at least one."""
        size = _up(size, _BLOCK)
        small = size <= _SMALL
        free = self._free[small]
        at = bisect_left(free, (size,))
        block = self._taken(free[at]) if at < len(free) else self._new(size, small=small)
        rest = block.size - size
        # Of a large block, what is small stays with it.
        if rest < _BLOCK if small else rest <= _SMALL:
            return block
        self._put(Block(rest, block.segment, block.start + size, small))
        return block._replace(size=size)

    def free(self, block: Block) -> None:
        """Take a block back; it becomes one with what is free beside it."""
        before = self._ends.get((block.segment, block.start))
        after = self._starts.get((block.segment, block.end))
        for beside in (before, after):
            if beside is not None:
                self._taken(beside)
                block = block._replace(size=block.size + beside.size, start=min(block.start, beside.start))
        self._put(block)

    def empty(self) -> None:
        """Give back the segments in which there is nothing: torch.cuda.empty_cache."""
        for free in self._free.values():
            for block in [each for each in free if each.size == self._sizes[each.segment]]:
                self._taken(block)
                del self._sizes[block.segment]

    def _new(self, size: int, *, small: bool) -> Block:
        self._asked += 1
        self._sizes[self._asked] = segment_of(size)
        return Block(self._sizes[self._asked], self._asked, 0, small)

    def _put(self, block: Block) -> None:
        insort(self._free[block.small], block)
        self._starts[block.segment, block.start] = self._ends[block.segment, block.end] = block

    def _taken(self, block: Block) -> Block:
        free = self._free[block.small]
        del free[bisect_left(free, block)]
        del self._starts[block.segment, block.start], self._ends[block.segment, block.end]
        return block


def segment_of(size: int) -> int:
    """Return the bytes of the segment that torch asks for when nothing that is free has ``size`` bytes."""
    if size <= _SMALL:
        return _SMALL_SEGMENT
    return _LARGE_SEGMENT if size < _LARGE else _up(size, _ROUND)


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
