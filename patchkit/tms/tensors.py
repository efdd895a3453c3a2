"""The parameters of a rank of Megatron, one by one, from the shape of the model and the sizes of parallelism."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchkit.tms.layers import ATTENTION, DENSE, EXPERTS, MAMBA, SPARSE, Latent, Layout, Shape, exactly
from patchkit.tms.runs import Run, repeats, run_of, total

_MAMBA_EXPAND, _MAMBA_CONVOLUTION = 2, 4
"""Defaults of MambaMixer that no argument changes."""


class Tensors(NamedTuple):
    """The elements of each parameter, in the order of the model."""

    dense: tuple[Run, ...]
    expert: tuple[Run, ...]
    """Those of experts, which have buffers of their own."""


def rank_parameters(shape: Shape, layout: Layout, stage: int) -> tuple[int, int]:
    """Return the (dense, expert) parameters of a rank of pipeline stage ``stage``, counted from 0."""
    tensors = rank_tensors(shape, layout, stage)
    return total(tensors.dense), total(tensors.expert)


def rank_tensors(shape: Shape, layout: Layout, stage: int) -> Tensors:
    """Return the parameters of a rank of pipeline stage ``stage``, counted from 0.

    A bias and a matrix are two, what Megatron multiplies at once is one: queries with keys and values, both halves of a
    gated MLP. Raises UsageError for what cannot be shared out evenly over tensor or expert parallelism.
    """
    kinds = shape.kinds
    first, last = stage == 0, stage == layout.pipeline - 1
    return _of_stage(shape, layout, kinds[layout.stage(shape.layers, stage)], kinds[-1:], first=first, last=last)


def stages(shape: Shape, layout: Layout) -> Iterator[Tensors]:
    """Yield the parameters of a rank of each pipeline stage; stages with equal layers between the ends are one object.

    Raises UsageError as `rank_tensors`.
    """
    kinds, known = shape.kinds, dict[tuple[str, bool, bool], Tensors]()
    for stage in range(layout.pipeline):
        own = kinds[layout.stage(shape.layers, stage)]
        first, last = stage == 0, stage == layout.pipeline - 1
        if (own, first, last) not in known:
            known[own, first, last] = _of_stage(shape, layout, own, kinds[-1:], first=first, last=last)
        yield known[own, first, last]


def _of_stage(shape: Shape, layout: Layout, kinds: str, predictor: str, *, first: bool, last: bool) -> Tensors:
    """The layers of one stage by kind; a layer for multi-token prediction is as ``predictor``."""
    words = _words(shape, layout)
    ends = [words, shape.positions * shape.hidden]
    dense = run_of(ends) if first else ()
    for part, times in repeats(kinds):
        dense += run_of([size for kind in part for size in _dense(kind, shape, layout)], times)
    sparse = kinds.count(SPARSE) + kinds.count(EXPERTS)
    if last:
        dense += run_of(_norm(shape))
    if last and shape.predictors:
        # Two norms, a projection of both halves, and a norm at its end; where the embedding is not, a copy of it.
        joined = [*_norm(shape) * 2, 2 * shape.hidden * shape.hidden // layout.tensor]
        dense += run_of(joined + _dense(predictor, shape, layout) + _norm(shape), shape.predictors)
        dense += () if first else run_of(ends)
        sparse += shape.predictors * (predictor in (SPARSE, EXPERTS))
    # A tied output embedding on another stage than the input embedding is a second copy.
    if last and not (shape.tied and first):
        dense += run_of([words])
    local = exactly(shape.experts, layout.expert, "experts over expert parallelism") if sparse else 0
    return Tensors(dense, run_of(_expert(shape, layout), local * sparse) if sparse else ())


def _dense(kind: str, shape: Shape, layout: Layout) -> list[int]:
    """One layer without its experts, with a norm for each of its parts."""
    norm = _norm(shape)
    attention = (_latent if shape.latent else _attention)(shape, layout) if kind in (DENSE, SPARSE, ATTENTION) else []
    if kind in (SPARSE, EXPERTS):
        router = [shape.hidden * shape.experts, shape.linear_bias * shape.experts]
        shared = [*_mlp(shape, layout, shape.shared_expert_ffn), shape.hidden * shape.shared_expert_gate]
        return [*(norm + attention if kind == SPARSE else []), *norm, *router, *shared]
    if kind == DENSE:
        return [*norm, *attention, *norm, *_mlp(shape, layout, shape.ffn)]
    if kind == MAMBA:
        return [*norm, *_mamba(shape, layout)]
    return [*norm, *(attention if kind == ATTENTION else _mlp(shape, layout, shape.ffn))]


def _norm(shape: Shape, size: int | None = None) -> list[int]:
    """A norm, which every tensor-parallel rank has whole."""
    return [shape.hidden if size is None else size] * shape.norm_parameters


def _attention(shape: Shape, layout: Layout) -> list[int]:
    queries, keys = shape.heads * shape.channels, 2 * shape.groups * shape.channels
    bias = (queries + keys) if shape.linear_bias or shape.qkv_bias else 0
    norms = 2 * _norm(shape, shape.channels) if shape.qk_norm else []
    matrices = [shape.hidden * queries, shape.hidden * (queries + keys), bias]
    output, *entry = _split(matrices, layout.tensor, "attention over tensor parallelism")
    return [output, shape.hidden if shape.linear_bias else 0, *entry, *norms]


def _latent(shape: Shape, layout: Layout) -> list[int]:
    """Latent attention; what goes down to a rank is whole on every tensor-parallel rank (Transformer Engine)."""
    latent = shape.latent or Latent(query_rank=None, key_rank=0, channels=0, position_channels=0, value_channels=0)
    queries = shape.heads * (latent.channels + latent.position_channels)
    split = [shape.heads * latent.value_channels * shape.hidden]
    split.append((shape.hidden if latent.query_rank is None else latent.query_rank) * queries)
    split.append(latent.key_rank * shape.heads * (latent.channels + latent.value_channels))
    whole = [shape.hidden * (latent.query_rank or 0), shape.hidden * (latent.key_rank + latent.position_channels)]
    ranks = (latent.query_rank or 0, latent.key_rank)
    norms = [size for rank in ranks for size in _norm(shape, rank)] if shape.qk_norm else []
    bias = [shape.hidden if shape.linear_bias else 0]
    return _split(split, layout.tensor, "attention over tensor parallelism") + whole + norms + bias


def _mamba(shape: Shape, layout: Layout) -> list[int]:
    mamba = shape.mamba
    inner = shape.hidden * _MAMBA_EXPAND if mamba.heads is None else mamba.heads * mamba.head
    heads = exactly(inner, mamba.head, "the inner size of Mamba over its heads")
    states = 2 * mamba.groups * mamba.state
    entry, exit_ = shape.hidden * (2 * inner + states + heads), inner * shape.hidden
    convolution = [(inner + states) * _MAMBA_CONVOLUTION, inner + states]
    # A, D and the step of each head, and the gated norm, which is an RMSNorm always.
    sizes = [entry, *convolution, *[heads] * 3, inner, exit_]
    return _split(sizes, layout.tensor, "Mamba over tensor parallelism")


def _mlp(shape: Shape, layout: Layout, ffn: int) -> list[int]:
    first = (2 if shape.gated else 1) * ffn
    sizes = [shape.hidden * first, first if shape.linear_bias else 0, shape.hidden * ffn]
    split = _split(sizes, layout.tensor, "ffn over tensor parallelism")
    return [*split, shape.hidden if shape.linear_bias and ffn else 0]


def _expert(shape: Shape, layout: Layout) -> list[int]:
    """One expert, with tensors of its own, as with grouped multiplication by Transformer Engine."""
    first = (2 if shape.gated else 1) * shape.expert_ffn
    sizes = [shape.hidden * first, first if shape.linear_bias else 0, shape.hidden * shape.expert_ffn]
    each = _split(sizes, layout.experts_tensor, "an expert over expert tensor parallelism")
    return [*each, shape.hidden if shape.linear_bias else 0]


def _words(shape: Shape, layout: Layout) -> int:
    """An embedding, input or output, its vocabulary padded."""
    multiple = shape.vocabulary_multiple * layout.tensor
    return -(-shape.vocabulary // multiple) * multiple // layout.tensor * shape.hidden


def _split(sizes: Sequence[int], parts: int, what: str) -> list[int]:
    """Return a share of each. Raises UsageError when they cannot be shared out evenly, together or one by one."""
    exactly(sum(sizes), parts, what)
    return [exactly(size, parts, what) for size in sizes]
