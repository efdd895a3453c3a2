"""How many parameters a rank of Megatron holds, from the shape of the model and the sizes of parallelism."""

from __future__ import annotations

from dataclasses import dataclass

from patchkit.errors import UsageError

MAMBA, ATTENTION, MLP, EXPERTS = "M*-E"
"""Kinds of layers in a hybrid model, with one part each, as its pattern has them."""
DENSE, SPARSE = "de"
"""Layers of a GPT: attention with an MLP, attention with experts."""

_MAMBA_EXPAND, _MAMBA_CONVOLUTION = 2, 4
"""Defaults of MambaMixer that no argument changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """Multi-latent attention."""

    query_rank: int | None
    """q_lora_rank; None: queries are not compressed."""
    key_rank: int
    """kv_lora_rank."""
    channels: int
    """qk_head_dim, of the part without a position."""
    position_channels: int
    """qk_pos_emb_head_dim."""
    value_channels: int
    """v_head_dim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba:
    """Layers of Mamba 2."""

    state: int = 128
    head: int = 64
    groups: int = 8
    heads: int | None = None
    """None: twice the hidden size over ``head``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A model of Megatron; the names are those of its arguments, shortened."""

    layers: int
    hidden: int
    ffn: int
    """ffn_hidden_size of dense layers."""
    heads: int
    groups: int
    """num_query_groups; as many as heads without grouped-query attention."""
    channels: int
    """kv_channels: the size of a head."""
    vocabulary: int
    """Padded, or to be padded to a multiple of ``vocabulary_multiple`` times tensor parallelism."""
    vocabulary_multiple: int = 128
    gated: bool = True
    """SwiGLU and the like: three matrices instead of two."""
    tied: bool = False
    """Input and output embedding are one."""
    linear_bias: bool = False
    qkv_bias: bool = False
    qk_norm: bool = False
    norm_parameters: int = 1
    """Of each channel: 1 for RMSNorm, 2 for LayerNorm."""
    positions: int = 0
    """Learned positions."""
    experts: int = 0
    expert_ffn: int = 0
    shared_expert_ffn: int = 0
    shared_expert_gate: bool = False
    dense_layers: int = 0
    """Of a model with experts: layers without them, which come first."""
    pattern: str = ""
    """The kind of each layer, where ``dense_layers`` does not say it: `DENSE` and `SPARSE`, or those of a hybrid."""
    latent: Latent | None = None
    mamba: Mamba = Mamba()
    predictors: int = 0
    """Layers for multi-token prediction, each like the last one of the model."""

    @property
    def kinds(self) -> str:
        """The kind of each layer."""
        sparse = self.layers - self.dense_layers if self.experts else 0
        return self.pattern or DENSE * (self.layers - sparse) + SPARSE * sparse


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Sizes of parallelism."""

    data: int = 1
    """Ranks that hold the same dense parameters, context parallelism included."""
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    expert_tensor: int | None = None
    """None: as tensor."""
    first_layers: int | None = None
    """Layers of the first pipeline stage, if not as many as of others."""
    last_layers: int | None = None

    @property
    def experts_tensor(self) -> int:
        """Tensor parallelism of experts."""
        return self.tensor if self.expert_tensor is None else self.expert_tensor

    @property
    def expert_data(self) -> int:
        """Ranks that hold the same experts."""
        return exactly(self.data * self.tensor, self.expert * self.experts_tensor, "ranks of a stage over experts")

    def stage(self, layers: int, stage: int) -> slice:
        """Return which of ``layers`` pipeline stage ``stage`` has, counted from 0."""
        fixed = {0: self.first_layers, self.pipeline - 1: self.last_layers}
        given = {at: size for at, size in fixed.items() if size is not None}
        left = layers - sum(given.values())
        each = exactly(left, max(1, self.pipeline - len(given)), "layers over pipeline stages") if left else 0
        sizes = [given.get(at, each) for at in range(self.pipeline)]
        if sum(sizes) != layers or min(sizes) < 0:
            raise UsageError(f"layers over pipeline stages: {layers} are not {' + '.join(map(str, sizes))}")
        return slice(sum(sizes[:stage]), sum(sizes[: stage + 1]))


def rank_parameters(shape: Shape, layout: Layout, stage: int) -> tuple[int, int]:
    """Return the (dense, expert) parameters of a rank of pipeline stage ``stage``, counted from 0."""
    own = shape.kinds[layout.stage(shape.layers, stage)]
    dense, expert = (sum(sizes) for sizes in zip((0, 0), *(_layer(kind, shape, layout) for kind in own), strict=True))
    last = stage == layout.pipeline - 1
    if last and shape.predictors:
        more, experts = _layer(shape.kinds[-1], shape, layout)
        # Two norms, a projection of both halves, and a norm at its end; where the embedding is not, a copy of it.
        joined = 2 * shape.hidden * shape.hidden // layout.tensor + 3 * _norm(shape)
        dense += shape.predictors * (more + joined) + (_embedding(shape, layout) if stage else 0)
        expert += shape.predictors * experts
    return dense + _ends(shape, layout, stage), expert


def _layer(kind: str, shape: Shape, layout: Layout) -> tuple[int, int]:
    """Return the (dense, expert) parameters of one layer, with a norm for each of its parts."""
    attention = (_latent if shape.latent else _attention)(shape, layout) if kind in (DENSE, SPARSE, ATTENTION) else 0
    if kind in (SPARSE, EXPERTS):
        router = shape.hidden * (shape.experts + shape.shared_expert_gate) + shape.linear_bias * shape.experts
        shared = _mlp(shape, layout, shape.shared_expert_ffn)
        norms = 2 if kind == SPARSE else 1
        return attention + router + shared + norms * _norm(shape), _experts(shape, layout)
    if kind == DENSE:
        return attention + _mlp(shape, layout, shape.ffn) + 2 * _norm(shape), 0
    parts = {ATTENTION: attention, MLP: _mlp(shape, layout, shape.ffn), MAMBA: _mamba(shape, layout)}
    return parts[kind] + _norm(shape), 0


def _norm(shape: Shape, size: int | None = None) -> int:
    """A norm, which every tensor-parallel rank has whole."""
    return (shape.hidden if size is None else size) * shape.norm_parameters


def _attention(shape: Shape, layout: Layout) -> int:
    queries, keys = shape.heads * shape.channels, 2 * shape.groups * shape.channels
    matrices = shape.hidden * (2 * queries + keys)
    bias = (queries + keys) if shape.linear_bias or shape.qkv_bias else 0
    norms = 2 * _norm(shape, shape.channels) if shape.qk_norm else 0
    split = exactly(matrices + bias, layout.tensor, "attention over tensor parallelism")
    return split + norms + (shape.hidden if shape.linear_bias else 0)


def _latent(shape: Shape, layout: Layout) -> int:
    """Latent attention; what goes down to a rank is whole on every tensor-parallel rank (Transformer Engine)."""
    latent = shape.latent or Latent(query_rank=None, key_rank=0, channels=0, position_channels=0, value_channels=0)
    queries = shape.heads * (latent.channels + latent.position_channels)
    split = latent.key_rank * shape.heads * (latent.channels + latent.value_channels)
    split += shape.heads * latent.value_channels * shape.hidden
    whole = shape.hidden * (latent.key_rank + latent.position_channels)
    if latent.query_rank is None:
        split += shape.hidden * queries
    else:
        split += latent.query_rank * queries
        whole += shape.hidden * latent.query_rank
    norms = _norm(shape, latent.key_rank + (latent.query_rank or 0)) if shape.qk_norm else 0
    bias = shape.hidden if shape.linear_bias else 0
    return exactly(split, layout.tensor, "attention over tensor parallelism") + whole + norms + bias


def _mamba(shape: Shape, layout: Layout) -> int:
    mamba = shape.mamba
    inner = shape.hidden * _MAMBA_EXPAND if mamba.heads is None else mamba.heads * mamba.head
    heads = exactly(inner, mamba.head, "the inner size of Mamba over its heads")
    states = 2 * mamba.groups * mamba.state
    entry, exit_ = shape.hidden * (2 * inner + states + heads), inner * shape.hidden
    convolution = (inner + states) * (_MAMBA_CONVOLUTION + 1)
    # A, D and the step of each head, and the gated norm, which is an RMSNorm always.
    return exactly(entry + convolution + 3 * heads + inner + exit_, layout.tensor, "Mamba over tensor parallelism")


def _mlp(shape: Shape, layout: Layout, ffn: int) -> int:
    first = (2 if shape.gated else 1) * ffn
    split = shape.hidden * (first + ffn) + (first if shape.linear_bias else 0)
    whole = shape.hidden if shape.linear_bias and ffn else 0
    return exactly(split, layout.tensor, "ffn over tensor parallelism") + whole


def _experts(shape: Shape, layout: Layout) -> int:
    local = exactly(shape.experts, layout.expert, "experts over expert parallelism")
    first = (2 if shape.gated else 1) * shape.expert_ffn
    split = shape.hidden * (first + shape.expert_ffn) + (first if shape.linear_bias else 0)
    each = exactly(split, layout.experts_tensor, "an expert over expert tensor parallelism")
    return local * (each + (shape.hidden if shape.linear_bias else 0))


def _embedding(shape: Shape, layout: Layout) -> int:
    multiple = shape.vocabulary_multiple * layout.tensor
    words = -(-shape.vocabulary // multiple) * multiple // layout.tensor
    return (words + shape.positions) * shape.hidden


def _ends(shape: Shape, layout: Layout, stage: int) -> int:
    first, last = stage == 0, stage == layout.pipeline - 1
    # A tied output embedding on another stage than the input embedding is a second copy.
    output = last and not (shape.tied and first)
    words = _embedding(shape, layout) - shape.positions * shape.hidden
    return first * _embedding(shape, layout) + output * words + last * _norm(shape)


def exactly(value: int, parts: int, what: str) -> int:
    """Return a share of ``value``. Raises UsageError when it cannot be shared out evenly."""
    if parts < 1 or value % parts:
        raise UsageError(f"{what}: {value} cannot be divided by {parts}")
    return value // parts
