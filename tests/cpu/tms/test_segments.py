"""Segments as torch's allocator asks for them, by the rules of c10/cuda/CUDACachingAllocator."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from patchkit.tms.segments import MIB, Block, Segments, segment_of


@pytest.mark.parametrize(
    ("size", "segment"),
    [
        (1, 2 * MIB),
        (MIB, 2 * MIB),
        (MIB + 1, 20 * MIB),
        (10 * MIB - 1, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (10 * MIB + 1, 12 * MIB),
        (33 * MIB, 34 * MIB),
    ],
)
def test_a_segment_is_of_2_mib_of_20_or_of_the_size_rounded_up_to_2(size: int, segment: int) -> None:
    assert segment_of(size) == segment


@pytest.mark.parametrize(
    ("sizes", "reserved"),
    [
        # 512 bytes are the least that a tensor takes.
        ([1] * 4096, 2 * MIB),
        ([1] * 4097, 4 * MIB),
        # Five of 4 MiB share a segment; of 9 MiB two do, and the rest of 2 MiB takes one of that size.
        ([4 * MIB] * 5, 20 * MIB),
        ([4 * MIB] * 6, 40 * MIB),
        ([9 * MIB, 9 * MIB, 2 * MIB], 20 * MIB),
        ([9 * MIB, 9 * MIB, 2 * MIB + 1], 40 * MIB),
        # What is small lies in no segment of the large ones, whatever is free there.
        ([9 * MIB, MIB], 22 * MIB),
        # A rest of 1 MiB or less stays with its block, a larger one is for others.
        ([11 * MIB + 1, MIB // 2 + MIB], 32 * MIB),
        ([19 * MIB, 19 * MIB], 40 * MIB),
    ],
)
def test_tensors_share_segments_of_their_kind(sizes: list[int], reserved: int) -> None:
    pool = Segments()
    for size in sizes:
        pool.allocate(size)

    assert pool.reserved == reserved


def test_the_smallest_free_block_is_taken_and_not_the_first() -> None:
    pool = Segments()
    large, small = pool.allocate(40 * MIB), pool.allocate(12 * MIB)
    pool.free(large)
    pool.free(small)

    assert [pool.allocate(size).segment for size in (11 * MIB, 11 * MIB)] == [small.segment, large.segment]
    assert pool.reserved == 52 * MIB


def test_what_is_freed_side_by_side_is_one_block_again() -> None:
    pool = Segments()
    blocks = [pool.allocate(4 * MIB) for _ in range(5)]
    for at in (0, 2, 1):
        pool.free(blocks[at])

    assert pool.allocate(12 * MIB) == blocks[0]._replace(size=12 * MIB)
    assert pool.reserved == 20 * MIB


def test_a_rest_that_is_too_small_goes_back_with_its_block_and_not_before() -> None:
    pool = Segments()
    first, second, _ = (pool.allocate(size) for size in (4 * MIB, 4 * MIB, 12 * MIB))
    pool.free(first)
    whole = pool.allocate(7 * MIB // 2)
    pool.free(second)

    assert whole == first
    assert pool.allocate(4 * MIB + MIB // 4).segment != first.segment


def test_only_an_empty_segment_is_given_back() -> None:
    pool = Segments()
    first, second, third = (pool.allocate(size) for size in (4 * MIB, 4 * MIB, 12 * MIB))
    pool.free(first)
    pool.free(third)
    pool.empty()
    assert pool.reserved == 20 * MIB
    pool.free(second)
    assert pool.reserved == 20 * MIB
    pool.empty()

    assert pool.reserved == 0


@pytest.mark.parametrize("seed", range(5))
def test_blocks_never_overlap_and_nothing_is_lost(seed: int) -> None:
    dice, pool = random.Random(seed), Segments()  # noqa: S311 - no secret
    live: list[Block] = []
    for _ in range(400):
        if live and dice.random() < 0.45:
            pool.free(live.pop(dice.randrange(len(live))))
        else:
            live.append(pool.allocate(dice.choice([300, 70_000, MIB, 3 * MIB, 9 * MIB, 25 * MIB])))
        spans = sorted((block.segment, block.start, block.end) for block in live)
        assert all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(spans))
        assert sum(block.size for block in live) <= pool.reserved
    for block in live:
        pool.free(block)
    pool.empty()

    assert pool.reserved == 0
