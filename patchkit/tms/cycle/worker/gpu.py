"""Train one Megatron tree on a GPU with the real torch_memory_saver: one rank of one case, in a process of its own.

The one argument is a file with a JSON object: the fields of cycle.Job, and `tree` (folder that holds megatron/),
`hook` (`none`, `preload`, `torch`), `task` (key of TASKS), `store` (file by which ranks find each other) and `out`
(file for the answer). Started as `patchkit tms env` says, with patchkit and torch_memory_saver on the path of imports.
It imports, prints `ready`, waits for a line, and answers.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

CONTEXT = "megatron.core.inference.contexts.dynamic_context"
"""Where Megatron sets the hook mode; 0.12 and 0.13 have it elsewhere or not at all."""

MULTICAST = "NCCL_NVLS_ENABLE"

LARGE = 32 << 20
"""Bytes of a tensor that torch gives a segment of its own."""


class Gpu:
    """The device of this process, and what the system counts."""

    own = False
    """Whether readings of the device are of this process alone."""

    spare = LARGE
    misuses = 0
    """A driver that is called wrongly ends the process here."""

    def __init__(self, hook: str) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._hook = hook
        self.saver: Any = None
        if hook != "none":
            self.saver = importlib.import_module("torch_memory_saver").torch_memory_saver
        if hook != "none" and self.saver._impl is None:
            # Megatron without the series sets it to torch when it is imported.
            self.saver.hook_mode = hook

    def on_device(self) -> contextlib.AbstractContextManager[Any]:
        """Where allocations are torch_memory_saver's: everywhere in a process that preloads it, else in a region."""
        if self._hook != "torch":
            return contextlib.nullcontext()
        region: contextlib.AbstractContextManager[Any] = self.saver.region(enable_cpu_backup=True)
        return region

    def reading(self) -> dict[str, int]:
        """Bytes used of the device, by whomever, and bytes of the host that this process has."""
        free, total = self._torch.cuda.mem_get_info()
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        rows = dict(line.split(":", 1) for line in lines)
        return {"device": total - free, "host": int(rows["VmRSS"].split()[0]) << 10}

    def wait(self) -> None:
        """Until the device has done what it was asked for."""
        self._torch.cuda.synchronize()

    def settle(self) -> None:
        """Wait for what is under way, and give back what no tensor is in."""
        self._torch.cuda.synchronize()
        gc.collect()
        self._torch._C._cuda_clearCublasWorkspaces()
        self._torch.cuda.empty_cache()

    @staticmethod
    def rounded(size: int) -> int:
        """Of tensors on a device, what they take is a matter of torch's segments."""
        return size

    def tracked(self) -> dict[str, int] | None:
        """Bytes that torch holds in memory that torch_memory_saver tracks, and those of them that a pause copies."""
        placement: Any = importlib.import_module("patchkit.tms.placement")
        found = placement.placements_of(self.saver) if self.saver is not None else None
        if found is None:
            return None
        on_device, copied = found.tracked_bytes()
        return {"device": on_device, "host": copied}

    def placement(self, ddp: Any, *, grads: bool, params: bool) -> dict[str, Any] | None:
        """Where the buffers lie; ``grads`` and ``params`` say whether they have a copy on the host."""
        if self.saver is None:
            return None
        placement: Any = importlib.import_module("patchkit.tms.placement")
        buffers = placement.ddp_buffers([ddp], grad_backup=grads, param_backup=params)
        found = placement.verify_buffers(buffers, self.saver)
        misplaced = [f"{each.name}: {each.found}, not {each.expected}" for each in found.misplaced]
        return {"known": found.known, "checked": found.checked, "misplaced": misplaced}


def main(file: Path) -> None:
    """Import, wait, answer."""
    job = json.loads(file.read_text(encoding="utf-8"))
    warnings.simplefilter("ignore")
    child: Any = importlib.import_module("child")
    answer: dict[str, Any]
    try:
        prepare(Path(job["tree"]))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        answer = TASKS[job["task"]](job)
    except Exception as error:  # a tree or a build that raises is an answer
        answer = child.described(error)
    answer["process"] = about_process()
    Path(job["out"]).write_text(json.dumps(answer), encoding="utf-8")
    # The threads of process groups may not be joined in time, and in hook mode torch the library ends a process with an
    # error when its pools go away outside of a region; the answer is on disk.
    sys.stdout.flush()
    os._exit(0)


def prepare(tree: Path) -> None:
    """Import torch, and Megatron from ``tree`` and from nowhere else."""
    machine: Any = importlib.import_module("machine")
    child: Any = importlib.import_module("child")
    machine.put_packages(tree, stand_ins=False)
    torch: Any = importlib.import_module("torch")
    machine.skip_compilation()
    # The same sums in the same order in every process, where that can be had. The public function would load the
    # compiler as well, which takes seconds.
    torch._C._set_deterministic_algorithms(True, warn_only=True)  # noqa: FBT003 - the signature of the function
    torch.utils.deterministic.fill_uninitialized_memory = False
    for name in child.IMPORTS:
        importlib.import_module(name)
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(CONTEXT)
    with contextlib.suppress(ModuleNotFoundError):
        leave_multicast_alone(importlib.import_module("megatron.core.nccl_allocator"))


def leave_multicast_alone(allocator: Any) -> None:
    """Megatron turns NVLink multicast on when it makes its NCCL pool, also on machines where it has been turned off."""
    if not hasattr(allocator, "init"):
        return
    init = allocator.init

    def init_as_started() -> None:
        before = os.environ.get(MULTICAST)
        init()
        if before is not None:
            os.environ[MULTICAST] = before

    allocator.init = init_as_started


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
    device = Gpu(job["hook"])
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
    del job
    tensors = [torch.zeros(8 * LARGE, dtype=torch.uint8, device="cuda")]
    with saver.disable():
        tensors.append(torch.zeros(8 * LARGE, dtype=torch.uint8, device="cuda"))
    torch.cuda.synchronize()
    before, _ = torch.cuda.mem_get_info()
    saver.pause()
    paused, _ = torch.cuda.mem_get_info()
    saver.resume()
    return {"mode": saver._impl._hook_mode, "freed": paused - before, "allocated": [each.nbytes for each in tensors]}


def about_process() -> dict[str, Any]:
    """What really ran: versions, the device, and the libraries of torch_memory_saver in this process, by digest."""
    torch: Any = importlib.import_module("torch")
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    paths = sorted({line.split(maxsplit=5)[5] for line in maps if "/torch_memory_saver_" in line})
    there = torch.cuda.is_available()
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "torch": torch.__version__,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())) if there else None,
        "gpu": torch.cuda.get_device_name() if there else None,
        "libraries": {Path(path).name: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths},
    }


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

if __name__ == "__main__":
    main(Path(sys.argv[1]))
