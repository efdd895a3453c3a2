"""What torch reserves for the tensors that a rank keeps between steps, which is more than they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from patchkit.tms.segments import Block, Segments, segment_of
from patchkit.tms.tensors import Tensors


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What there is for each parameter."""

    parameter_bytes: int
    gradient_bytes: int
    main_bytes: int
    """Of the main parameters; 0 where they are the parameters themselves."""
    moments: Sequence[int]
    """Bytes of each tensor that the optimizer makes for a parameter at its first step."""
    shares: tuple[int, int] | None
    """How many ranks share the optimizer state of (dense, expert) parameters, with the distributed optimizer."""
    step_bytes: int = 0
    """What the first step takes for a while for each element of the optimizer's share, from the same pool."""
    gives_back: bool = True
    """Whether the pool gives back what is empty; the pool of a region does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """Bytes of segments."""

    parameters: int
    """The buffers of parameters; 0 where each parameter is a tensor of its own, and in the rest."""
    gradients: int
    rest: int


def reserved(tensors: Tensors, kept: Kept) -> Reserved:
    """Return what torch reserves after the first step and `torch.cuda.empty_cache`.

    The order is that of Megatron: the model, then its buffers, for which the model's own tensors go away, then a main
    parameter for each parameter or piece of one, then the moments of each. With the distributed optimizer a buffer is
    gone through from the model's end, in one bucket, and the rank is the first of those that share it. Left out is what
    forward and backward passes leave in the cache before the first step makes the moments.
    """
    pool, sizes = Segments(), [size for size in tensors if sum(size)]
    model = [pool.allocate(kept.parameter_bytes * size) for each in sizes for size in each]
    pieces = [size for each in sizes for size in each]
    if kept.shares is not None:
        _free(pool, model)
        pieces = [size for each, ranks in zip(tensors, kept.shares, strict=True) for size in _share(each, ranks)]
    if kept.main_bytes:
        for size in pieces:
            # A copy as it is, and of that one in fp32.
            copy = pool.allocate(kept.parameter_bytes * size)
            pool.allocate(kept.main_bytes * size)
            pool.free(copy)
    for size in pieces:
        for each in filter(None, kept.moments):
            pool.allocate(each * size)
    if kept.step_bytes:
        _free(pool, [pool.allocate(kept.step_bytes * size) for size in pieces])
    if kept.gives_back:
        pool.empty()
    return Reserved(
        parameters=_buffers(sizes, kept.parameter_bytes) if kept.shares is not None else 0,
        gradients=_buffers(sizes, kept.gradient_bytes),
        rest=pool.reserved,
    )


def _free(pool: Segments, blocks: Iterable[Block]) -> None:
    for block in blocks:
        pool.free(block)


def _buffers(sizes: Iterable[Sequence[int]], each: int) -> int:
    """One for dense parameters and one for those of experts, in memory of their tag."""
    return sum(segment_of(each * sum(size)) for size in sizes)


def _share(sizes: Sequence[int], ranks: int) -> Iterator[int]:
    """The first rank's share: of a buffer, whose first parameter is the model's last, the part up to its end."""
    left = -(-sum(sizes) // ranks)
    for size in reversed(sizes):
        if left <= 0:
            return
        yield min(size, left)
        left -= size
