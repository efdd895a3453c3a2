"""What torch reserves for the tensors that a rank keeps between steps, which is more than they have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from patchkit.tms.runs import Run, count, flat, from_end, total
from patchkit.tms.segments import Block, Segments, segment_of
from patchkit.tms.tensors import Tensors

_MOST = 1 << 15
"""Parameters up to which each one is gone through; DeepSeek V3 on one rank has that many."""


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

    Of a model with more than 32,768 parameters on the rank that many are gone through, in the proportions of its runs,
    and half of them, and the rest is as the second half.
    """
    parts = -(-count([*tensors.dense, *tensors.expert]) // (_MOST // 2))
    if parts <= 2:
        rest = _rest(tensors, kept)
    else:
        one, two = (_rest(_some(tensors, taken, parts), kept) for taken in (1, 2))
        rest = one + (parts - 1) * (two - one)
    return Reserved(
        parameters=_buffers(tensors, kept.parameter_bytes) if kept.shares is not None else 0,
        gradients=_buffers(tensors, kept.gradient_bytes),
        rest=rest,
    )


def _rest(tensors: Tensors, kept: Kept) -> int:
    """What is reserved in the pool that is not of buffers."""
    pool = Segments()
    model = [pool.allocate(kept.parameter_bytes * size) for runs in tensors for size in flat(runs)]
    pieces = [size for runs in tensors for size in flat(runs)]
    if kept.shares is not None:
        _free(pool, model)
        pieces = [size for runs, ranks in zip(tensors, kept.shares, strict=True) for size in _share(runs, ranks)]
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
    return pool.reserved


def _some(tensors: Tensors, taken: int, parts: int) -> Tensors:
    """Return ``taken`` of ``parts`` equal parts, after what does not come that often."""
    return Tensors(
        *(tuple(Run(run.sizes, run.times % parts + run.times // parts * taken) for run in runs) for runs in tensors)
    )


def _free(pool: Segments, blocks: Iterable[Block]) -> None:
    for block in blocks:
        pool.free(block)


def _buffers(tensors: Tensors, each: int) -> int:
    """One for dense parameters and one for those of experts, in memory of their tag."""
    return sum(segment_of(each * total(runs)) for runs in tensors if runs)


def _share(runs: Sequence[Run], ranks: int) -> Iterable[int]:
    """The first rank's share: of a buffer, whose first parameter is the model's last, the part up to its end."""
    return flat(from_end(runs, -(-total(runs) // ranks)))
