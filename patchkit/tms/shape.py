"""Shape and layout of a model from Megatron's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from patchkit.errors import UsageError
from patchkit.tms.layers import (
    ATTENTION,
    DENSE,
    EXPERTS,
    MAMBA,
    MLP,
    SPARSE,
    Latent,
    Layout,
    Mamba,
    Shape,
    exactly,
)
from patchkit.tms.tensors import rank_parameters

__all__ = ["Latent", "Layout", "Mamba", "Shape", "from_megatron", "rank_parameters"]

_UNKNOWN = (
    "moe_latent_size",
    "account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split",
    "pipeline_model_parallel_layout",
    "hybrid_attention_ratio",
    "hybrid_mlp_ratio",
    "experimental_attention_variant",
    "heterogeneous_layers_config_path",
    "encoder_num_layers",
    "lora_rank",
)
"""Arguments that change how many parameters there are, or where, in a way that is not known here."""

_MOST_LAYERS = 1_000_000

_POSITIVE = (
    "world_size",
    "data_parallel_size",
    "tensor_model_parallel_size",
    "pipeline_model_parallel_size",
    "virtual_pipeline_model_parallel_size",
    "context_parallel_size",
    "expert_model_parallel_size",
    "expert_tensor_parallel_size",
    "num_query_groups",
    "kv_channels",
    "make_vocab_size_divisible_by",
    "mamba_state_dim",
    "mamba_head_dim",
    "mamba_num_groups",
    "mamba_num_heads",
)
_NOT_NEGATIVE = (
    "ffn_hidden_size",
    "num_experts",
    "num_moe_experts",
    "moe_ffn_hidden_size",
    "moe_shared_expert_intermediate_size",
    "mtp_num_layers",
    "q_lora_rank",
    "decoder_first_pipeline_num_layers",
    "decoder_last_pipeline_num_layers",
)
_SWITCHES = (
    "bf16",
    "fp16",
    "accumulate_allreduce_grads_in_fp32",
    "grad_reduce_in_fp32",
    "use_distributed_optimizer",
    "group_query_attention",
    "swiglu",
    "gated_linear_unit",
    "untie_embeddings_and_output_weights",
    "add_bias_linear",
    "add_qkv_bias",
    "qk_layernorm",
    "moe_shared_expert_gate",
    "multi_latent_attention",
    "mtp_use_repeated_layer",
)
"""Arguments that are true or false: any other value, such as the word false, would count as true."""


def from_megatron(arguments: Mapping[str, Any]) -> tuple[Shape, Layout]:
    """Return shape and layout from Megatron's arguments (or TransformerConfig) by name: ``vars(args)``.

    ``data_parallel_size`` is that of the arguments, else ``world_size`` over the other sizes, else 1; with context
    parallelism, ranks of that hold the same parameters too. Raises UsageError when a name that is needed is missing,
    and for a value that is no number or switch where one belongs.
    """
    _check_values(arguments)

    def get(name: str, otherwise: Any = None) -> Any:
        value = arguments.get(name)
        return otherwise if value is None else value

    def need(*names: str) -> int:
        found = next((arguments[name] for name in names if arguments.get(name) is not None), None)
        if not _is_number(found, 1):
            said = "not given" if found is None else repr(found)
            raise UsageError(f"{' or '.join(names)} is needed, as a positive number; it is {said}")
        return found

    for name in _UNKNOWN:
        if get(name) and not (name == "encoder_num_layers" and get(name) == get("num_layers")):
            raise UsageError(f"{name} {get(name)!r} is not known here")
    _check_given(arguments)
    hidden, heads = need("hidden_size"), need("num_attention_heads")
    experts = get("num_moe_experts", get("num_experts", 0))
    gated = bool(get("swiglu", False) or get("gated_linear_unit", False))
    ffn = get("ffn_hidden_size") or (int(4 * hidden * 2 / 3 / 64) * 64 if gated else 4 * hidden)
    groups = get("num_query_groups", heads) if get("group_query_attention", True) else heads
    exactly(heads, groups, "attention heads over query groups")
    padded = get("padded_vocab_size")
    hybrid = get("hybrid_layer_pattern") or get("hybrid_override_pattern")
    layers = len(hybrid) if hybrid else need("num_layers")
    if layers > _MOST_LAYERS:
        raise UsageError(f"num_layers {layers} is more than {_MOST_LAYERS}")
    dense, pattern = _kinds(hybrid, get("moe_layer_freq", 1), layers, experts)
    shape = Shape(
        layers=layers,
        hidden=hidden,
        ffn=ffn,
        heads=heads,
        groups=groups,
        channels=get("kv_channels") or exactly(hidden, heads, "hidden_size over attention heads"),
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
        shared_expert_gate=bool(get("moe_shared_expert_gate", False)),
        positions=need("max_position_embeddings") if get("position_embedding_type") == "learned_absolute" else 0,
        dense_layers=dense,
        pattern=pattern,
        latent=_latent(get, need) if get("multi_latent_attention", False) else None,
        mamba=_mamba(get) if MAMBA in pattern else Mamba(),
        predictors=1 if get("mtp_use_repeated_layer") and get("mtp_num_layers") else get("mtp_num_layers", 0),
    )
    layout = _layout(arguments, need, get)
    exactly(heads, layout.tensor, "attention heads over tensor parallelism")
    if layout.pipeline > 1 and get("virtual_pipeline_model_parallel_size", 1) > 1 and len(set(shape.kinds)) > 1:
        raise UsageError("virtual pipeline stages with layers of several kinds are not known here")
    return shape, layout


def _check_given(arguments: Mapping[str, Any]) -> None:
    """Raise UsageError with every name that is needed of each model and not there, when these are several."""
    needed = [("hidden_size",), ("num_attention_heads",), ("padded_vocab_size", "vocab_size")]
    if not (arguments.get("hybrid_layer_pattern") or arguments.get("hybrid_override_pattern")):
        needed.append(("num_layers",))
    missing = [" or ".join(names) for names in needed if all(arguments.get(name) is None for name in names)]
    if len(missing) > 1:
        raise UsageError(f"{', '.join(missing)} are needed, and not given")


def _is_number(value: Any, least: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _check_values(arguments: Mapping[str, Any]) -> None:
    given = {name: value for name, value in arguments.items() if value is not None}
    for names, least, kind in ((_POSITIVE, 1, "positive number"), (_NOT_NEGATIVE, 0, "number")):
        for name in names:
            if name in given and not _is_number(given[name], least):
                raise UsageError(f"{name} is no {kind}: {given[name]!r}")
    for name in _SWITCHES:
        if name in given and not isinstance(given[name], bool):
            raise UsageError(f"{name} is neither true nor false: {given[name]!r}")


def _latent(get: Callable[..., Any], need: Callable[..., int]) -> Latent:
    return Latent(
        query_rank=get("q_lora_rank"),
        key_rank=need("kv_lora_rank"),
        channels=need("qk_head_dim"),
        position_channels=need("qk_pos_emb_head_dim"),
        value_channels=need("v_head_dim"),
    )


def _mamba(get: Callable[..., Any]) -> Mamba:
    usual = Mamba()
    return Mamba(
        state=get("mamba_state_dim", usual.state),
        head=get("mamba_head_dim", usual.head),
        groups=get("mamba_num_groups", usual.groups),
        heads=get("mamba_num_heads"),
    )


def _kinds(hybrid: str | None, frequency: Any, layers: int, experts: int) -> tuple[int, str]:
    """Return the dense layers that come first, and the pattern where that does not say it.

    moe_layer_freq is a number n, for experts in every n-th layer from the first on, or a list of 0 and 1 by layer.
    """
    if hybrid:
        known = ATTENTION + MLP + MAMBA + (EXPERTS if experts else "")
        if other := set(hybrid) - set(known):
            raise UsageError(f"a hybrid pattern with {', '.join(sorted(other))} is not known here: only {known}")
        return 0, hybrid
    if not experts or frequency == 1:
        return 0, ""
    if isinstance(frequency, int) and frequency > 1:
        frequency = [int(layer % frequency == 0) for layer in range(layers)]
    if not isinstance(frequency, list) or len(frequency) != layers or set(frequency) - {0, 1}:
        raise UsageError(f"moe_layer_freq {frequency!r} is no positive number, and no list of 0 and 1 for each layer")
    if sorted(frequency) == frequency:
        return frequency.count(0), ""
    return 0, "".join(SPARSE if each else DENSE for each in frequency)


def _layout(arguments: Mapping[str, Any], need: Any, get: Any) -> Layout:
    tensor, pipeline = get("tensor_model_parallel_size", 1), get("pipeline_model_parallel_size", 1)
    context = get("context_parallel_size", 1)
    if arguments.get("data_parallel_size") is not None:
        data = need("data_parallel_size") * context
    else:
        data = exactly(get("world_size", tensor * pipeline), tensor * pipeline, "ranks over tensor and pipeline")
    return Layout(
        data=data,
        tensor=tensor,
        pipeline=pipeline,
        expert=get("expert_model_parallel_size", 1),
        expert_tensor=get("expert_tensor_parallel_size"),
        first_layers=get("decoder_first_pipeline_num_layers") if pipeline > 1 else None,
        last_layers=get("decoder_last_pipeline_num_layers") if pipeline > 1 else None,
    )
