"""What a process on a GPU can be asked for, by the name of the task."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def start_rank(job: Mapping[str, Any]) -> None:
    """The device of this rank, the process group of all, and Megatron's groups in it."""
    torch: Any = importlib.import_module("torch")
    machine: Any = importlib.import_module("machine")
    torch.cuda.set_device(job["rank"])
    store = torch.distributed.FileStore(job["store"], job["world"])
    torch.distributed.init_process_group("nccl", store=store, rank=job["rank"], world_size=job["world"])
    machine.start_groups()


def train(job: Mapping[str, Any]) -> dict[str, Any]:
    """Steps with pauses between them."""
    cycle: Any = importlib.import_module("cycle")
    gpu_device: Any = importlib.import_module("gpu_device")
    device = gpu_device.Gpu(job["hook"])
    start_rank(job)
    answer: dict[str, Any] = cycle.Cycle(cycle.Job.of(job), device).train()
    return answer


def refuse(job: Mapping[str, Any]) -> dict[str, Any]:
    """What the flags say to NCCL's user buffers: as fields, and as keywords of the buffer, which asks no config."""
    cycle: Any = importlib.import_module("cycle")
    training: Any = importlib.import_module("training")
    distributed: Any = importlib.import_module("megatron.core.distributed")
    child: Any = importlib.import_module("child")
    start_rank(job)
    plain = {"use_distributed_optimizer": True, "grad_reduce_in_fp32": True}
    answer: dict[str, Any] = {}
    for flag in (cycle.GRADS, cycle.PARAMS):
        build = training.make_buffer(plain, {flag: True}, nccl_ub=True)
        fields = {**plain, flag: True, "nccl_ub": True}
        for way, action in (
            ("field", lambda fields=fields: distributed.DistributedDataParallelConfig(**fields)),
            ("keyword", build),
        ):
            answer[f"{flag}, {way}"] = said(child, action)
    return answer


def said(child: Any, action: Callable[[], Any]) -> dict[str, Any] | None:
    """What ``action`` raises, if anything."""
    try:
        action()
    except Exception as error:  # whatever it is, it is told
        found = child.described(error)
        return {key: found[key] for key in ("raised", "text", "where")}
    return None


def hook_mode(job: Mapping[str, Any]) -> dict[str, Any]:
    """The hook mode after Megatron is imported, and what a pause frees of what was made while disabled, and was not."""
    torch: Any = importlib.import_module("torch")
    saver: Any = importlib.import_module("torch_memory_saver").torch_memory_saver
    gpu_device: Any = importlib.import_module("gpu_device")
    del job
    tensors = [torch.zeros(8 * gpu_device.LARGE, dtype=torch.uint8, device="cuda")]
    with saver.disable():
        tensors.append(torch.zeros(8 * gpu_device.LARGE, dtype=torch.uint8, device="cuda"))
    torch.cuda.synchronize()
    before, _ = torch.cuda.mem_get_info()
    saver.pause()
    paused, _ = torch.cuda.mem_get_info()
    saver.resume()
    return {"mode": saver._impl._hook_mode, "freed": paused - before, "allocated": [each.nbytes for each in tensors]}


def copy(job: Mapping[str, Any]) -> dict[str, Any]:
    """Seconds that copies of ``bytes`` bytes between the device and pinned memory take, and pinning it."""
    torch: Any = importlib.import_module("torch")
    cycle: Any = importlib.import_module("cycle")
    there = torch.ones(job["bytes"], dtype=torch.uint8, device="cuda")
    pinned: list[Any] = []
    pin = cycle.timed(lambda: pinned.append(torch.empty(job["bytes"], dtype=torch.uint8, pin_memory=True)))
    here = pinned[0]

    def moved(into: Any, source: Any) -> float:
        torch.cuda.synchronize()
        return float(cycle.timed(lambda: (into.copy_(source, non_blocking=True), torch.cuda.synchronize())))

    rounds = [(moved(here, there), moved(there, here)) for _ in range(5)]
    return {
        "pin seconds": pin,
        # The first touches pages for the first time.
        "to host seconds": sorted(each[0] for each in rounds[1:])[len(rounds) // 2],
        "to device seconds": sorted(each[1] for each in rounds[1:])[len(rounds) // 2],
    }


TASKS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "train": train,
    "refuse": refuse,
    "hook mode": hook_mode,
    "copy": copy,
}
