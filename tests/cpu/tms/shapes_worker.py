"""Parameters of real Megatron models by Megatron's own arguments (test_shape_megatron.py).

    python -B shapes_worker.py TREE CASES.json OUT.json

A case has the arguments of Megatron by name; the answer is the number of (dense, expert) parameters, or a traceback.
Models are built on the CPU from Megatron's local modules, with stand-ins for the packages that its Mamba layers import.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import sys
import traceback
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from patchkit.tms.cycle.worker import machine

TREE, CASES, OUT = (Path(each) for each in sys.argv[1:])


def stand_in_for_mamba() -> None:
    """What mamba_mixer.py imports; of it, the gated norm is a module with parameters, and as here in mamba_ssm too."""
    torch: Any = importlib.import_module("torch")

    class RMSNormGated(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, hidden_size: int, eps: float = 1e-5, **_options: Any) -> None:
            super().__init__()
            self.eps = eps
            self.weight = torch.nn.Parameter(torch.ones(hidden_size))

    def nothing(*_args: Any, **_options: Any) -> None:
        raise NotImplementedError

    names = {
        "einops": ["rearrange", "repeat"],
        "causal_conv1d": ["causal_conv1d_fn", "causal_conv1d_update"],
        "mamba_ssm": [],
        "mamba_ssm.ops": [],
        "mamba_ssm.ops.triton": [],
        "mamba_ssm.ops.triton.selective_state_update": ["selective_state_update"],
        "mamba_ssm.ops.triton.layernorm_gated": [],
        "mamba_ssm.ops.triton.ssd_combined": ["mamba_chunk_scan_combined", "mamba_split_conv1d_scan_combined"],
    }
    for name, functions in names.items():
        module: Any = ModuleType(name)
        module.__path__ = []
        module.__spec__ = SimpleNamespace(name=name, loader=None, submodule_search_locations=[])
        vars(module).update(dict.fromkeys(functions, nothing))
        sys.modules[name] = module
    vars(sys.modules["mamba_ssm.ops.triton.layernorm_gated"])["RMSNorm"] = RMSNormGated


def without_transformer_engine() -> None:
    """Attention has no parameters, and its local module takes no sizes of latent attention; norms are torch's."""
    attention: Any = importlib.import_module("megatron.core.transformer.dot_product_attention").DotProductAttention
    plain = attention.__init__
    sizes = ("k_channels", "v_channels")

    def init(self: Any, *args: Any, **options: Any) -> None:
        plain(self, *args, **{name: value for name, value in options.items() if name not in sizes})

    attention.__init__ = init
    norm = importlib.import_module("megatron.core.transformer.torch_norm").WrappedTorchNorm
    latent: Any = importlib.import_module("megatron.core.transformer.multi_latent_attention")
    if not isinstance(latent.TELinear, type):
        latent.TELinear = type("TELinear", (), {})
    for name in ("ssm.mamba_block", "models.hybrid.hybrid_block"):
        with contextlib.suppress(ImportError):
            vars(importlib.import_module(f"megatron.core.{name}"))["TENorm"] = norm


def configuration(arguments: dict[str, Any]) -> Any:
    """The TransformerConfig, or that of latent attention, as arguments_to_config of Megatron makes it."""
    torch: Any = importlib.import_module("torch")
    transformer: Any = importlib.import_module("megatron.core.transformer.transformer_config")
    latent = arguments.get("multi_latent_attention")
    kind = transformer.MLATransformerConfig if latent else transformer.TransformerConfig
    values = {
        **arguments,
        "gated_linear_unit": arguments.get("swiglu", False),
        "num_moe_experts": arguments.get("num_experts"),
        "use_cpu_initialization": True,
        "moe_grouped_gemm": False,
        "apply_rope_fusion": False,
    }
    if arguments.get("swiglu"):
        values["activation_func"] = torch.nn.functional.silu
    accepted = inspect.signature(kind).parameters
    return kind(**{name: value for name, value in values.items() if name in accepted})


def gpt(arguments: dict[str, Any]) -> Any:
    specs: Any = importlib.import_module("megatron.core.models.gpt.gpt_layer_specs")
    config = configuration(arguments)
    norm = arguments.get("normalization")
    block = specs.get_gpt_decoder_block_spec(config, use_transformer_engine=False, normalization=norm)
    options: dict[str, Any] = {}
    if arguments.get("mtp_num_layers"):
        layer = block.layer_specs[-1]
        options["mtp_block_spec"] = specs.get_gpt_mtp_block_spec(config, layer, use_transformer_engine=False)
    return importlib.import_module("megatron.core.models.gpt").GPTModel(
        config,
        block,
        vocab_size=arguments["padded_vocab_size"],
        max_sequence_length=arguments.get("max_position_embeddings", 64),
        position_embedding_type=arguments.get("position_embedding_type", "learned_absolute"),
        share_embeddings_and_output_weights=not arguments.get("untie_embeddings_and_output_weights", False),
        **options,
    )


def hybrid(arguments: dict[str, Any]) -> Any:
    """A model of Mamba, attention and MLP layers, from local modules."""

    def of(module: str, *names: str) -> list[Any]:
        found = importlib.import_module(f"megatron.core.{module}")
        return [getattr(found, name) for name in names]

    (spec,) = of("transformer.spec_utils", "ModuleSpec")
    column, row = of("tensor_parallel.layers", "ColumnParallelLinear", "RowParallelLinear")
    layer, parts = of("transformer.transformer_layer", "TransformerLayer", "TransformerLayerSubmodules")
    attention, attention_parts = of("transformer.attention", "SelfAttention", "SelfAttentionSubmodules")
    mlp, mlp_parts = of("transformer.mlp", "MLP", "MLPSubmodules")
    mamba, mamba_parts = of("ssm.mamba_layer", "MambaLayer", "MambaLayerSubmodules")
    mixer, mixer_parts = of("ssm.mamba_mixer", "MambaMixer", "MambaMixerSubmodules")
    (core,) = of("transformer.dot_product_attention", "DotProductAttention")
    (mask,) = of("transformer.enums", "AttnMaskType")
    (norm,) = of("transformer.torch_norm", "WrappedTorchNorm")
    stack, stack_parts = of("ssm.mamba_block", "MambaStack", "MambaStackSubmodules")
    (mlp_layer,) = of("ssm.mlp_layer", "MLPLayer")
    module: Any = importlib.import_module("megatron.core.models.mamba.mamba_model")
    bare = importlib.import_module("megatron.core.fusions.fused_bias_dropout").get_bias_dropout_add
    mixing = spec(module=mixer, submodules=mixer_parts(in_proj=column, out_proj=row))
    attending = spec(
        module=attention,
        params={"attn_mask_type": mask.causal},
        submodules=attention_parts(linear_qkv=column, core_attention=core, linear_proj=row),
    )
    stacked = spec(
        module=stack,
        submodules=stack_parts(
            mamba_layer=spec(module=mamba, submodules=mamba_parts(norm=norm, mixer=mixing, mamba_bda=bare)),
            attention_layer=spec(
                module=layer,
                submodules=parts(input_layernorm=norm, self_attention=attending, self_attn_bda=bare),
            ),
            mlp_layer=spec(
                module=mlp_layer,
                submodules=parts(
                    pre_mlp_layernorm=norm,
                    mlp=spec(module=mlp, submodules=mlp_parts(linear_fc1=column, linear_fc2=row)),
                    mlp_bda=bare,
                ),
            ),
        ),
    )
    accepted = inspect.signature(module.MambaModel).parameters
    name = "hybrid_layer_pattern" if "hybrid_layer_pattern" in accepted else "hybrid_override_pattern"
    return module.MambaModel(
        configuration(arguments),
        stacked,
        vocab_size=arguments["padded_vocab_size"],
        max_sequence_length=64,
        position_embedding_type=arguments.get("position_embedding_type", "none"),
        share_embeddings_and_output_weights=not arguments.get("untie_embeddings_and_output_weights", False),
        **{name: arguments["hybrid_override_pattern"]},
    )


def counted(arguments: dict[str, Any]) -> list[int] | str:
    try:
        return _counted(arguments)
    except Exception:
        return traceback.format_exc()


def _counted(arguments: dict[str, Any]) -> list[int]:
    model = (hybrid if arguments.get("hybrid_override_pattern") else gpt)(arguments)
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    expert = sum(size for name, size in sizes.items() if ".experts." in name and "shared_experts" not in name)
    return [sum(sizes.values()) - expert, expert]


def main() -> None:
    warnings.simplefilter("ignore")
    machine.put_packages(TREE.resolve())
    machine.pretend_cuda()
    stand_in_for_mamba()
    with machine.cuda_means_cpu():
        machine.start_one_rank()
        without_transformer_engine()
        answers = [counted(arguments) for arguments in json.loads(CASES.read_text(encoding="utf-8"))]
    OUT.write_text(json.dumps(answers), encoding="utf-8")


main()
sys.stdout.flush()
os._exit(0)
