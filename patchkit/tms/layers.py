"""The shape of a model, and the sizes of parallelism, as Megatron has them."""

from __future__ import annotations

from dataclasses import dataclass

from patchkit.errors import UsageError

MAMBA, ATTENTION, MLP, EXPERTS = "M*-E"
"""Kinds of layers in a hybrid model, with one part each, as its pattern has them."""
DENSE, SPARSE = "de"
"""Layers of a GPT: attention with an MLP, attention with experts."""


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
        left, between = layers - sum(given.values()), self.pipeline - len(given)
        each = exactly(left, max(1, between), "layers over pipeline stages") if left else 0
        if each * between + sum(given.values()) != layers or min(each, *given.values(), 0) < 0:
            said = [str(size) for size in given.values()]
            said[1:1] = [f"{between} times {each}"] if between else []
            raise UsageError(f"layers over pipeline stages: {layers} are not {' + '.join(said)}")
        start = 0 if stage == 0 else given.get(0, each) + (stage - 1) * each
        return slice(start, start + given.get(stage, each))


def exactly(value: int, parts: int, what: str) -> int:
    """Return a share of ``value``. Raises UsageError when it cannot be shared out evenly."""
    if parts < 1 or value % parts:
        raise UsageError(f"{what}: {value} cannot be divided by {parts}")
    return value // parts
