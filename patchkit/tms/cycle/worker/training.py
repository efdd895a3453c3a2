"""A small GPT in Megatron's DDP: how it is built, how it is trained, and the digests of the result."""

import contextlib
import ctypes
import hashlib
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

STEPS = 2
MICROBATCHES = 2


@dataclass(frozen=True)
class Size:
    """How large the model and a microbatch are."""

    layers: int = 1
    width: int = 16
    heads: int = 2
    vocabulary: int = 32
    sequence: int = 8
    batch: int = 2
    split: bool = True  # whether there is a second buffer, as for experts


SMALL = Size()

# A second buffer per model: parameters of experts are kept apart from the others.
EXPERT = "mlp.linear_fc2"


@dataclass(frozen=True)
class Variant:
    """One way to train."""

    config: Mapping[str, Any]  # fields of DistributedDataParallelConfig
    reload: bool = False  # offload the buffers and restore them between the steps
    keywords: Mapping[str, Any] = field(default_factory=dict)  # of DistributedDataParallel


_SHARDED = {"use_distributed_optimizer": True, "grad_reduce_in_fp32": True}
_OVERLAPPED = {"overlap_grad_reduce": True, "bucket_size": 1000}

VARIANTS = {
    "all_reduce": Variant({"grad_reduce_in_fp32": True}),
    "all_reduce_overlapped": Variant({"grad_reduce_in_fp32": True, **_OVERLAPPED}),
    "sharded": Variant(_SHARDED),
    "sharded_overlapped": Variant({**_SHARDED, **_OVERLAPPED, "overlap_param_gather": True}),
    "sharded_bf16_gradients": Variant({"use_distributed_optimizer": True}),
    "extra_main_grads": Variant(
        {"use_distributed_optimizer": True, "param_name_patterns_for_fp32_local_accumulation": ("all",)}
    ),
    "sharded_reloaded": Variant(_SHARDED, reload=True),
    "all_reduce_reloaded": Variant({"grad_reduce_in_fp32": True}, reload=True),
}


def make_model(size: Size = SMALL) -> tuple[Any, Any]:
    """The model with bf16 parameters that depend on nothing but the release, and its configuration."""
    torch = importlib.import_module("torch")
    transformer = importlib.import_module("megatron.core.transformer")
    gpt = importlib.import_module("megatron.core.models.gpt")
    specs = importlib.import_module("megatron.core.models.gpt.gpt_layer_specs")
    torch.manual_seed(1234)
    config = transformer.TransformerConfig(
        num_layers=size.layers,
        hidden_size=size.width,
        num_attention_heads=size.heads,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        bf16=True,
        params_dtype=torch.bfloat16,
        pipeline_dtype=torch.bfloat16,
        use_cpu_initialization=True,
    )
    model = gpt.GPTModel(
        config, specs.get_gpt_layer_local_spec(), vocab_size=size.vocabulary, max_sequence_length=size.sequence
    )
    model = model.bfloat16().cuda()
    for name, parameter in model.named_parameters():
        if size.split and EXPERT in name:
            parameter.allreduce = False
    return config, model


def make_ddp(config: Mapping[str, Any], keywords: Mapping[str, Any], size: Size = SMALL) -> Any:
    """A fresh model in DistributedDataParallel."""
    distributed = importlib.import_module("megatron.core.distributed")
    ddp_config = distributed.DistributedDataParallelConfig(**config)
    transformer_config, model = make_model(size)
    return distributed.DistributedDataParallel(transformer_config, ddp_config, model, **keywords)


def make_buffer(config: Mapping[str, Any], keywords: Mapping[str, Any], *, nccl_ub: bool = False) -> Callable[[], Any]:
    """What builds a ``_ParamAndGradBuffer`` as DDP does, with all of its other arguments ready."""
    torch = importlib.import_module("torch")
    distributed = importlib.import_module("megatron.core.distributed")
    module = importlib.import_module("megatron.core.distributed.param_and_grad_buffer")
    state = importlib.import_module("megatron.core.parallel_state")
    named = [(parameter, name) for name, parameter in make_model()[1].named_parameters()]
    parameters = [parameter for parameter, _ in named]
    arguments = {
        "ddp_config": distributed.DistributedDataParallelConfig(**config),
        "param_dtype": torch.bfloat16,
        "grad_dtype": torch.float32,
        "params": parameters,
        "params_with_names": named,
        "data_parallel_group": state.get_data_parallel_group(),
        "bucket_size": None,
        "param_to_name": dict(named),
        "gradient_scaling_factor": 1.0,
        "param_indices": list(range(len(named))),
        "nccl_ub": nccl_ub,
        # The default of some releases calls a function that does not exist.
        "pg_collection": SimpleNamespace(
            tp=state.get_tensor_model_parallel_group(),
            dp_cp=state.get_data_parallel_group(with_context_parallel=True),
        ),
    }
    accepted = inspect.signature(module._ParamAndGradBuffer).parameters
    ready = {name: value for name, value in arguments.items() if name in accepted}
    return lambda: module._ParamAndGradBuffer(**ready, **keywords)


def train(ddp: Any, *, reload: bool) -> dict[str, Any]:
    """A few steps of Adam; digests of every gradient, buffer and parameter after each of them."""
    torch = importlib.import_module("torch")
    optimizers = importlib.import_module("megatron.core.optimizer")
    options = {
        "optimizer": "adam",
        "lr": 0.01,
        "bf16": True,
        "params_dtype": torch.bfloat16,
        "use_distributed_optimizer": ddp.ddp_config.use_distributed_optimizer,
        "overlap_param_gather": ddp.ddp_config.overlap_param_gather,
    }
    accepted = inspect.signature(optimizers.OptimizerConfig).parameters
    optimizer_config = optimizers.OptimizerConfig(**{name: options[name] for name in options if name in accepted})
    optimizer = optimizers.get_megatron_optimizer(optimizer_config, [ddp])
    seen: dict[str, Any] = {}
    for step in range(STEPS):
        ddp.zero_grad_buffer()
        optimizer.zero_grad()
        losses = accumulate(ddp, step)
        ddp.finish_grad_sync()
        ddp.scale_gradients(0.5)
        before = {f"after backward: {name}": digest for name, digest in digests(ddp).items()}
        _, norm, _ = optimizer.step()
        after = {f"after update: {name}": digest for name, digest in digests(ddp).items()}
        seen[f"step {step}"] = {"losses": losses, "gradient norm": float(norm).hex(), **before, **after}
        if reload:
            offload(ddp)
            restore(ddp)
    return seen


def accumulate(ddp: Any, step: int, size: Size = SMALL, *, between: Callable[[], None] | None = None) -> list[str]:
    """The losses of all microbatches; only the last one, before which ``between`` is called, may communicate."""
    losses = []
    for microbatch in range(MICROBATCHES):
        last = microbatch == MICROBATCHES - 1
        if last and between is not None:
            between()
        with contextlib.nullcontext() if last else ddp.no_sync():
            loss = loss_of(ddp, step * MICROBATCHES + microbatch, size)
            loss.backward()
        losses.append(float(loss).hex())
    return losses


def loss_of(ddp: Any, seed: int, size: Size = SMALL) -> Any:
    """The loss of made-up text that depends on ``seed`` and nothing else."""
    torch = importlib.import_module("torch")
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(size.vocabulary, (size.batch, size.sequence + 1), generator=generator).cuda()
    positions = torch.arange(size.sequence).expand(size.batch, size.sequence).cuda()
    future = torch.triu(torch.ones(size.sequence, size.sequence, dtype=torch.bool), 1)[None, None].cuda()
    return ddp(tokens[:, :-1], positions, future, labels=tokens[:, 1:]).float().mean()


def offload(ddp: Any) -> None:
    """Free all buffers as an RL trainer does before generation."""
    for buffer in buffers(ddp).values():
        buffer.offload_to_cpu()


def restore(ddp: Any) -> None:
    """Allocate them again."""
    for buffer in buffers(ddp).values():
        buffer.reload_from_cpu()


def chained(optimizer: Any) -> Sequence[Any]:
    """The optimizers that one of Megatron's is made of."""
    found: Sequence[Any] = getattr(optimizer, "chained_optimizers", [optimizer])
    return found


def buffers(ddp: Any) -> dict[str, Any]:
    """The buffers of ``ddp`` by a name of ours."""
    kinds = {"dense": ddp.buffers, "expert": ddp.expert_parallel_buffers}
    return {
        kind if len(found) == 1 else f"{kind}[{index}]": buffer
        for kind, found in kinds.items()
        for index, buffer in enumerate(found)
    }


def digests(ddp: Any) -> dict[str, str]:
    """Digest of the bytes of each buffer, gradient and parameter."""
    tensors = {}
    for kind, buffer in buffers(ddp).items():
        tensors[f"{kind}.grad_data"] = buffer.grad_data
        tensors[f"{kind}.param_data"] = buffer.param_data
    for name, parameter in ddp.module.named_parameters():
        tensors[f"{name}"] = parameter
        tensors[f"{name}.main_grad"] = parameter.main_grad
    return {name: "none" if tensor is None else digest(tensor) for name, tensor in tensors.items()}


def digest(tensor: Any) -> str:
    """SHA-256 of type, shape and bytes."""
    dense = tensor.detach().contiguous().cpu()
    label = f"{dense.dtype} {tuple(dense.shape)} ".encode()
    return hashlib.sha256(label + ctypes.string_at(dense.data_ptr(), dense.nbytes)).hexdigest()
