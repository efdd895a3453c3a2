"""Run one case on one Megatron tree and one GPU, in a process of its own.

    python worker.py --tree DIR --case JSON --out result.json

torch_memory_saver is one object per process, and its hook mode is decided before the process starts
or before its first use; hence one process per case. The worker imports everything, prints ``ready``
and waits for a line on its standard input before it touches the GPU, so that its parent can let one
process at a time use it. The result is ``{"answer": ...}``, or ``{"failed": traceback}``.
"""

import argparse
import contextlib
import ctypes
import gc
import hashlib
import importlib
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

GRADS = "disable_grad_buffers_cpu_backup"
PARAMS = "disable_param_buffers_cpu_backup"
CONTEXT_MODULE = "megatron.core.inference.contexts.dynamic_context"

STEPS = 4
MICROBATCHES = 2
BATCH = 2
SEQUENCE = 256
VOCABULARY = 16384
LAYERS = 8
WIDTH = 1024  # 134 million parameters

PINNED = 512 << 20  # bytes; what the reading of the host is tried out with
TRACKED = 256 << 20  # bytes; each tensor that shows whose memory a pause frees

# Optional accelerators: with them absent, every machine takes the same plain PyTorch path.
ABSENT = ("transformer_engine", "transformer_engine_torch", "apex", "amp_C", "flash_attn", "flashinfer")

FP32, EXTRA = "fp32 gradients", "extra main grads"

# Fields of DistributedDataParallelConfig.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    FP32: {"use_distributed_optimizer": True, "grad_reduce_in_fp32": True},
    EXTRA: {
        "use_distributed_optimizer": True,
        "param_name_patterns_for_fp32_local_accumulation": ("all",),
    },
}

Answer = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What one process does."""

    release: str
    tree: str  # "unpatched" or "patched"
    task: str = "train"  # key of TASKS
    hook_mode: str = "none"  # how torch_memory_saver is used: "none", "preload" or "torch"
    variant: str = FP32  # key of VARIANTS
    flags: tuple[str, ...] = ()  # fields that are set
    cycles: int = 0  # pauses, one after each of the first steps

    def as_json(self) -> str:
        """The text that ``--case`` takes."""
        return json.dumps(asdict(self))


def case_from_json(text: str) -> Case:
    """The reverse."""
    fields = json.loads(text)
    return Case(**{**fields, "flags": tuple(fields["flags"])})


def main(arguments: Sequence[str]) -> None:
    """Import, wait for the GPU, answer."""
    parser = argparse.ArgumentParser(description="Run one case on one Megatron tree and one GPU.")
    parser.add_argument("--tree", type=Path, required=True, help="folder that holds megatron/")
    parser.add_argument("--case", type=case_from_json, required=True, help="fields of Case as JSON")
    parser.add_argument("--out", type=Path, required=True, help="file for the result")
    chosen = parser.parse_args(arguments)
    # The patched text is judged by what it does; releases warn about a great many things.
    warnings.simplefilter("ignore")
    try:
        load(chosen.tree.resolve())
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        result: Answer = {"answer": TASKS[chosen.case.task](chosen.case)}
    except Exception:  # the parent shows it
        result = {"failed": traceback.format_exc()}
    chosen.out.write_text(json.dumps(result), encoding="utf-8")


# Getting ready.


def load(tree: Path) -> None:
    """Import torch, and Megatron from ``tree`` and from nowhere else."""
    sys.path.insert(0, str(tree))
    for name in ABSENT:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in ("torch", "megatron.core.models.gpt", "megatron.core.optimizer", CONTEXT_MODULE):
        importlib.import_module(name)
    found = Path(importlib.import_module("megatron.core").__file__ or "")
    if tree not in found.parents:
        raise ImportError(f"megatron.core is {found}, not the one in {tree}")


def start_one_rank() -> None:
    """A process group of this process alone, Megatron's groups in it, and its generators."""
    torch = importlib.import_module("torch")
    torch.cuda.set_device(0)
    store = torch.distributed.TCPStore("127.0.0.1", 0, 1, is_master=True)
    torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
    importlib.import_module("megatron.core.parallel_state").initialize_model_parallel()
    torch.manual_seed(1234)
    importlib.import_module("megatron.core.tensor_parallel.random").model_parallel_cuda_manual_seed(1234)


def memory_saver() -> Any:
    """The object that stands for torch_memory_saver in this process."""
    return importlib.import_module("torch_memory_saver").torch_memory_saver


# Training.


def make_model() -> tuple[Any, Any]:
    """A GPT with bf16 parameters that depend on nothing but the release, and its configuration."""
    torch = importlib.import_module("torch")
    transformer = importlib.import_module("megatron.core.transformer")
    gpt = importlib.import_module("megatron.core.models.gpt")
    specs = importlib.import_module("megatron.core.models.gpt.gpt_layer_specs")
    config = transformer.TransformerConfig(
        num_layers=LAYERS,
        hidden_size=WIDTH,
        num_attention_heads=WIDTH // 64,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        bf16=True,
        params_dtype=torch.bfloat16,
        pipeline_dtype=torch.bfloat16,
    )
    model = gpt.GPTModel(config, specs.get_gpt_layer_local_spec(), vocab_size=VOCABULARY, max_sequence_length=SEQUENCE)
    return config, model.cuda().bfloat16()


def make_training(case: Case) -> tuple[Any, Any]:
    """The model in DistributedDataParallel, and its optimizer."""
    torch = importlib.import_module("torch")
    distributed = importlib.import_module("megatron.core.distributed")
    optimizers = importlib.import_module("megatron.core.optimizer")
    model_config, model = make_model()
    flags = dict.fromkeys(case.flags, True)
    ddp_config = distributed.DistributedDataParallelConfig(**VARIANTS[case.variant], **flags)
    optimizer_config = optimizers.OptimizerConfig(
        optimizer="adam",
        lr=0.001,
        bf16=True,
        params_dtype=torch.bfloat16,
        use_distributed_optimizer=True,
    )
    with tracked(case.hook_mode):
        ddp = distributed.DistributedDataParallel(model_config, ddp_config, model)
        return ddp, optimizers.get_megatron_optimizer(optimizer_config, [ddp])


def tracked(hook_mode: str) -> contextlib.AbstractContextManager[Any]:
    """Where allocations are torch_memory_saver's, with a copy on the host while it is paused.

    In a process that preloads it, that is everywhere. In its other mode it is where the caller says, and the regions
    of the patches lie inside that one.
    """
    if hook_mode != "torch":
        return contextlib.nullcontext()
    memory_saver().hook_mode = "torch"
    region: contextlib.AbstractContextManager[Any] = memory_saver().region(enable_cpu_backup=True)
    return region


def train(case: Case) -> Answer:
    """Steps of Adam with pauses between them: what was computed, and what each pause did."""
    start_one_rank()
    ddp, optimizer = make_training(case)
    steps, cycles = [], []
    for index in range(STEPS):
        steps.append(step(ddp, optimizer, index))
        if index < case.cycles:
            cycles.append(cycle(ddp, case, last=index == case.cycles - 1))
    return {
        "steps": steps,
        "cycles": cycles,
        "bytes": {
            "parameters": sum(buffer.param_data.nbytes for buffer in buffers(ddp)),
            "gradients": sum(tensor.nbytes for tensor in gradient_memory(ddp)),
        },
        "copied": copied(named_tensors(ddp, optimizer)) if cycles else None,
    }


def step(ddp: Any, optimizer: Any, index: int) -> Answer:
    """One step; the exact losses and norm, and digests of all gradients and updated parameters."""
    ddp.zero_grad_buffer()
    optimizer.zero_grad()
    losses = []
    for microbatch in range(MICROBATCHES):
        last = microbatch == MICROBATCHES - 1
        with contextlib.nullcontext() if last else ddp.no_sync():
            loss = compute_loss(ddp, seed=index * MICROBATCHES + microbatch)
            loss.backward()
        losses.append(float(loss).hex())
    ddp.finish_grad_sync()
    parameters = list(ddp.module.parameters())
    gradients = digest(parameter.main_grad for parameter in parameters)
    _, norm, _ = optimizer.step()
    return {
        "losses": losses,
        "gradient norm": float(norm).hex(),
        "gradients": gradients,
        "parameters": digest(parameters),
    }


def compute_loss(ddp: Any, seed: int) -> Any:
    """The loss of made-up text that depends on ``seed`` alone."""
    torch = importlib.import_module("torch")
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(VOCABULARY, (BATCH, SEQUENCE + 1), generator=generator).cuda()
    positions = torch.arange(SEQUENCE).expand(BATCH, SEQUENCE).cuda()
    future = torch.triu(torch.ones(SEQUENCE, SEQUENCE, dtype=torch.bool), 1)[None, None].cuda()
    return ddp(tokens[:, :-1], positions, future, labels=tokens[:, 1:]).float().mean()


def digest(tensors: Iterable[Any]) -> str:
    """SHA-256 of types, shapes and bytes."""
    torch = importlib.import_module("torch")
    seen = hashlib.sha256()
    for tensor in tensors:
        dense = tensor.detach().contiguous()
        seen.update(f"{dense.dtype} {tuple(dense.shape)} ".encode())
        seen.update(dense.view(-1).view(torch.uint8).cpu().numpy())
    return seen.hexdigest()


def buffers(ddp: Any) -> list[Any]:
    """Megatron's buffers of parameters and gradients."""
    return [*ddp.buffers, *ddp.expert_parallel_buffers]


def gradient_memory(ddp: Any) -> Iterator[Any]:
    """Every allocation of gradients: the buffers, and the fp32 gradients beside them."""
    for buffer in buffers(ddp):
        yield buffer.grad_data
        yield from getattr(buffer, "extra_main_grads", ())


# Pausing.


def cycle(ddp: Any, case: Case, *, last: bool) -> Answer:
    """Pause everything, resume it, and give back what the pause did not keep."""
    torch = importlib.import_module("torch")
    clones = [buffer.param_data.cpu() for buffer in buffers(ddp)]
    torch.cuda.synchronize()
    gc.collect()
    torch.cuda.empty_cache()
    if last:
        # After this resume, the library can still be asked what it had copied.
        memory_saver().retain_cpu_backup = True
    before = reading()
    pause_seconds = timed(memory_saver().pause)
    paused = reading()
    resume_seconds = timed(memory_saver().resume)
    kept = all(torch.equal(buffer.param_data.cpu(), clone) for buffer, clone in zip(buffers(ddp), clones, strict=True))
    if PARAMS in case.flags:
        for buffer, clone in zip(buffers(ddp), clones, strict=True):
            buffer.param_data.copy_(clone)
    ddp.zero_grad_buffer()
    return {
        "before": before,
        "paused": paused,
        "resumed": reading(),
        "pause seconds": pause_seconds,
        "resume seconds": resume_seconds,
        "parameters kept": kept,
    }


def timed(action: Callable[[], None]) -> float:
    """Seconds that ``action`` takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def reading() -> dict[str, int]:
    """Bytes of the GPU that are free, and bytes of the host that this process has (VmRSS)."""
    torch = importlib.import_module("torch")
    free, _ = torch.cuda.mem_get_info()
    rows = (line.split() for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    return {"gpu free": free, "host": next(int(row[1]) << 10 for row in rows if row[0] == "VmRSS:")}


def named_tensors(ddp: Any, optimizer: Any) -> dict[str, list[Any]]:
    """What the library is asked about."""
    parameters = list(ddp.module.parameters())
    return {
        "gradient buffers": [buffer.grad_data for buffer in buffers(ddp)],
        "gradients": [parameter.main_grad for parameter in parameters],
        "parameter buffers": [buffer.param_data for buffer in buffers(ddp)],
        "parameters": [parameter.data for parameter in parameters],
        "fp32 parameters of the optimizer": [
            parameter.data for group in optimizer.param_groups for parameter in group["params"]
        ],
    }


def copied(tensors: Mapping[str, Sequence[Any]]) -> dict[str, list[bool]]:
    """Per kind, whether the last pause copied it, as the set of answers in order.

    The library ends the process when it is asked about memory that it does not track.
    """
    return {
        kind: sorted({memory_saver().get_cpu_backup(tensor, zero_copy=True) is not None for tensor in found})
        for kind, found in tensors.items()
    }


# What else is asked of a process.


def hook_mode(_case: Case) -> Answer:
    """The mode in effect after Megatron is imported, and whose memory a pause then frees, in bytes."""
    torch = importlib.import_module("torch")
    tensors = [torch.zeros(TRACKED, dtype=torch.uint8, device="cuda")]
    with memory_saver().disable():
        tensors.append(torch.zeros(TRACKED, dtype=torch.uint8, device="cuda"))
    before = reading()
    memory_saver().pause()
    paused = reading()
    memory_saver().resume()
    return {
        "mode": memory_saver()._impl._hook_mode,
        "freed": paused["gpu free"] - before["gpu free"],
        "allocated": [tensor.nbytes for tensor in tensors],
    }


def pin(_case: Case) -> Answer:
    """Readings before and after CUDA pins memory by the call that torch_memory_saver makes."""
    torch = importlib.import_module("torch")
    torch.zeros(1, device="cuda")
    runtime = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.partition('.')[0]}")
    pointer = ctypes.c_void_p()
    before = reading()
    status = runtime.cudaMallocHost(ctypes.byref(pointer), ctypes.c_size_t(PINNED))
    if status != 0:
        raise RuntimeError(f"cudaMallocHost returned {status}")
    return {"size": PINNED, "before": before, "after": reading()}


TASKS: Mapping[str, Callable[[Case], Answer]] = {"train": train, "hook mode": hook_mode, "pin": pin}

if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    # The threads of the process group may not be joined in time, and in the mode "torch" the library ends the process
    # with an error when its pools go away outside of a region; the result is on disk.
    os._exit(0)
