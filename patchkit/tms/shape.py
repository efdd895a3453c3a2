"""How many parameters a rank of Megatron holds, from the shape of the model and the sizes of parallelism."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from patchkit.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A GPT of Megatron; the names are those of its arguments, shortened."""

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
    experts: int = 0
    expert_ffn: int = 0
    shared_expert_ffn: int = 0
    dense_layers: int = 0
    """Of a model with experts: layers without them, which come first."""


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

    @property
    def experts_tensor(self) -> int:
        """Tensor parallelism of experts."""
        return self.tensor if self.expert_tensor is None else self.expert_tensor

    @property
    def expert_data(self) -> int:
        """Ranks that hold the same experts."""
        return _exactly(self.data * self.tensor, self.expert * self.experts_tensor, "ranks of a stage over experts")


def rank_parameters(shape: Shape, layout: Layout, stage: int) -> tuple[int, int]:
    """Return the (dense, expert) parameters of a rank of pipeline stage ``stage``, counted from 0."""
    per_stage = _exactly(shape.layers, layout.pipeline, "layers over pipeline stages")
    own = range(stage * per_stage, (stage + 1) * per_stage)
    with_experts = sum(shape.experts > 0 and layer >= shape.dense_layers for layer in own)
    dense = per_stage * _attention(shape, layout) + (per_stage - with_experts) * _mlp(shape, layout, shape.ffn)
    dense += with_experts * (shape.hidden * shape.experts + _mlp(shape, layout, shape.shared_expert_ffn))
    dense += _ends(shape, layout, stage)
    return dense, with_experts * _experts(shape, layout)


def _attention(shape: Shape, layout: Layout) -> int:
    """Attention with the two norms of its layer, which every tensor-parallel rank has whole."""
    queries, keys = shape.heads * shape.channels, 2 * shape.groups * shape.channels
    matrices = shape.hidden * (2 * queries + keys)
    bias = (queries + keys) if shape.linear_bias or shape.qkv_bias else 0
    whole = 2 * shape.hidden * shape.norm_parameters + (shape.hidden if shape.linear_bias else 0)
    norms = 2 * shape.channels * shape.norm_parameters if shape.qk_norm else 0
    return _exactly(matrices + bias, layout.tensor, "attention over tensor parallelism") + whole + norms


def _mlp(shape: Shape, layout: Layout, ffn: int) -> int:
    first = (2 if shape.gated else 1) * ffn
    split = shape.hidden * (first + ffn) + (first if shape.linear_bias else 0)
    whole = shape.hidden if shape.linear_bias and ffn else 0
    return _exactly(split, layout.tensor, "ffn over tensor parallelism") + whole


def _experts(shape: Shape, layout: Layout) -> int:
    local = _exactly(shape.experts, layout.expert, "experts over expert parallelism")
    matrices = (3 if shape.gated else 2) * shape.hidden * shape.expert_ffn
    return local * _exactly(matrices, layout.experts_tensor, "an expert over expert tensor parallelism")


def _ends(shape: Shape, layout: Layout, stage: int) -> int:
    multiple = shape.vocabulary_multiple * layout.tensor
    embedding = -(-shape.vocabulary // multiple) * multiple // layout.tensor * shape.hidden
    first, last = stage == 0, stage == layout.pipeline - 1
    # A tied output embedding on another stage than the input embedding is a second copy.
    output = last and not (shape.tied and first)
    return embedding * (first + output) + (shape.hidden * shape.norm_parameters if last else 0)


def _exactly(value: int, parts: int, what: str) -> int:
    if parts < 1 or value % parts:
        raise UsageError(f"{what}: {value} cannot be divided by {parts}")
    return value // parts


def from_megatron(arguments: Mapping[str, Any]) -> tuple[Shape, Layout]:
    """Return shape and layout from Megatron's arguments (or TransformerConfig) by name: ``vars(args)``.

    ``data_parallel_size`` is that of the arguments, else ``world_size`` over the other sizes, else 1; with context
    parallelism, ranks of that hold the same parameters too. Raises UsageError when a name that is needed is missing.
    """

    def get(name: str, otherwise: Any = None) -> Any:
        value = arguments.get(name)
        return otherwise if value is None else value

    def need(*names: str) -> int:
        found = next((arguments[name] for name in names if arguments.get(name) is not None), None)
        if not isinstance(found, int) or found < 1:
            raise UsageError(f"{' or '.join(names)} is needed, as a positive number; it is {found!r}")
        return found

    hidden, heads = need("hidden_size"), need("num_attention_heads")
    experts = get("num_moe_experts", get("num_experts", 0))
    gated = bool(get("swiglu", False) or get("gated_linear_unit", False))
    ffn = get("ffn_hidden_size") or (int(4 * hidden * 2 / 3 / 64) * 64 if gated else 4 * hidden)
    padded = get("padded_vocab_size")
    shape = Shape(
        layers=need("num_layers"),
        hidden=hidden,
        ffn=ffn,
        heads=heads,
        groups=get("num_query_groups", heads) if get("group_query_attention", True) else heads,
        channels=get("kv_channels", hidden // heads),
        vocabulary=need("padded_vocab_size", "vocab_size"),
        vocabulary_multiple=1 if padded else get("make_vocab_size_divisible_by", 128),
        gated=gated,
        tied=not get("untie_embeddings_and_output_weights", False),
        linear_bias=bool(get("add_bias_linear", True)),
        qkv_bias=bool(get("add_qkv_bias", False)),
        qk_norm=bool(get("qk_layernorm", False)),
        norm_parameters=1 if get("normalization", "LayerNorm") == "RMSNorm" else 2,
        experts=experts,
        expert_ffn=get("moe_ffn_hidden_size", ffn) if experts else 0,
        shared_expert_ffn=get("moe_shared_expert_intermediate_size", 0),
        dense_layers=_dense_layers(get("moe_layer_freq", 1), experts),
    )
    return shape, _layout(arguments, need, get)


def _layout(arguments: Mapping[str, Any], need: Any, get: Any) -> Layout:
    tensor, pipeline = get("tensor_model_parallel_size", 1), get("pipeline_model_parallel_size", 1)
    context = get("context_parallel_size", 1)
    if arguments.get("data_parallel_size") is not None:
        data = need("data_parallel_size") * context
    else:
        data = _exactly(get("world_size", tensor * pipeline), tensor * pipeline, "ranks over tensor and pipeline")
    return Layout(
        data=data,
        tensor=tensor,
        pipeline=pipeline,
        expert=get("expert_model_parallel_size", 1),
        expert_tensor=get("expert_tensor_parallel_size"),
    )


def _dense_layers(frequency: Any, experts: int) -> int:
    """moe_layer_freq: 1, or a list of 0 and 1 by layer, of which only zeros first is known here."""
    if not experts or frequency == 1:
        return 0
    if isinstance(frequency, list) and sorted(frequency) == frequency:
        return frequency.count(0)
    raise UsageError(f"moe_layer_freq {frequency!r} is not known here: only 1, or a list with its zeros first")
