"""Train one Megatron tree with the real torch_memory_saver under the simulator, pausing between steps.

    python cycle_worker.py '{"tree": ..., "saver": ..., "out": ..., ...}'

The job: `tree` (folder that holds megatron/), `saver` (folder that holds torch_memory_saver/), `out` (file for the
result), `flags` (fields of the series), `sharded` (distributed optimizer), `cycles` (pause after that many steps),
`free` (free memory while paused), `touch` (read a paused buffer), `restore` (parameters after a pause), `rank`,
`world`, `store` (file of the process group).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

STEPS = 4
SPARE = 1000
"""Bytes of a tensor that is freed while everything is paused."""


def main(job: dict[str, Any]) -> None:
    """Answer the job; what goes wrong in Python is part of the answer."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(Path(__file__).parents[1] / "behaviour"))
    machine: Any = importlib.import_module("machine")
    try:
        with tempfile.TemporaryDirectory() as folder:
            answer = run(machine, job, Path(folder))
    except Exception as error:  # a build that raises is an answer
        answer = {"raised": type(error).__name__, "traceback": traceback.format_exc()}
    Path(job["out"]).write_text(json.dumps(answer), encoding="utf-8")


def run(machine: Any, job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Prepare the process, then train."""
    machine.put_packages(folder, Path(job["tree"]))
    # The real package in the place of the stand-in.
    sys.path.insert(0, job["saver"])
    machine.pretend_cuda()
    device: Any = importlib.import_module("device")
    allocator = device.CachingAllocator()
    pretend_pools(allocator)
    with machine.cuda_means_cpu():
        start_ranks(machine, job)
        return Cycle(job, allocator, device).train()


def pretend_pools(allocator: Any) -> None:
    """What torch_memory_saver takes from torch beside its hooks."""
    torch: Any = importlib.import_module("torch")
    torch.cuda.MemPool = type("MemPool", (), {"__init__": lambda _pool, allocator=None: None})
    torch.cuda.use_mem_pool = allocator.use_mem_pool
    torch.cuda.empty_cache = allocator.empty_cache
    torch.get_device_module = lambda *_: torch.cuda


def start_ranks(machine: Any, job: dict[str, Any]) -> None:
    """The process group of all ranks, which find each other by a file."""
    distributed: Any = importlib.import_module("torch.distributed")
    plain = distributed.init_process_group
    store = distributed.FileStore(job["store"], job["world"])
    distributed.init_process_group = lambda *_, **__: plain(
        "gloo", store=store, rank=job["rank"], world_size=job["world"]
    )
    machine.start_one_rank()


class Cycle:
    """One training with pauses."""

    def __init__(self, job: dict[str, Any], allocator: Any, device: Any) -> None:
        self.job = job
        self.allocator = allocator
        self.device = device
        self.simulator = device.Simulator()
        self.training: Any = importlib.import_module("training")
        self.saver: Any = importlib.import_module("torch_memory_saver").torch_memory_saver
        self.paused: list[dict[str, int]] = []

    def train(self) -> dict[str, Any]:
        """Digests after each step, and what each pause took."""
        names = ("disable_grad_buffers_cpu_backup", "disable_param_buffers_cpu_backup")
        config = {"grad_reduce_in_fp32": True, "use_distributed_optimizer": self.job["sharded"]}
        if self.job["flags"]:
            config |= dict.fromkeys(names if self.job["sharded"] else names[:1], True)
        self.saver.pause()  # It initialises itself at the first use.
        self.saver.resume()
        with self.allocator.on_device():
            ddp = self.training.make_ddp(config, {})
            optimizer = self._optimizer(ddp)
        steps = [self._step(ddp, optimizer, step) for step in range(STEPS)]
        return {
            "steps": steps,
            "paused": self.paused,
            "unbacked": sum(self.device.rounded(tensor.nbytes) for tensor in self._unbacked(ddp)),
            # All that training keeps, and what is freed while paused.
            "live": sum(map(self.device.rounded, [*self._live(ddp, optimizer).values(), SPARE])),
            "misuses": self.simulator.misuses,
        }

    def _optimizer(self, ddp: Any) -> Any:
        torch: Any = importlib.import_module("torch")
        optimizers: Any = importlib.import_module("megatron.core.optimizer")
        config = optimizers.OptimizerConfig(
            optimizer="adam",
            lr=0.01,
            bf16=True,
            params_dtype=torch.bfloat16,
            use_distributed_optimizer=self.job["sharded"],
        )
        return optimizers.get_megatron_optimizer(config, [ddp])

    def _step(self, ddp: Any, optimizer: Any, step: int) -> dict[str, Any]:
        ddp.zero_grad_buffer()
        optimizer.zero_grad()
        losses = self.training._accumulate(ddp, step * self.job["world"] + self.job["rank"])
        ddp.finish_grad_sync()
        if step == 0:
            # The optimizer makes its state at its first step.
            with self.allocator.on_device():
                optimizer.step()
        else:
            optimizer.step()
        seen = {"losses": losses, **self.training.digests(ddp), **self._state_digests(optimizer)}
        if step < self.job["cycles"]:
            self._pause(ddp)
        return seen

    def _pause(self, ddp: Any) -> None:
        """Sleep and wake up, as a framework does."""
        torch: Any = importlib.import_module("torch")
        unbacked = self._unbacked(ddp)
        # Of parameters somebody else has a copy; gradients are zeroed before they are used again.
        parameters = [buffer.param_data for buffer in self.training.buffers(ddp).values()]
        kept = [None if tensor is None else tensor.clone() for tensor in parameters]
        with self.allocator.on_device():
            spare: list[Any] = [torch.zeros(SPARE, dtype=torch.uint8)]
        torch.cuda.empty_cache()
        self.saver.pause()
        self.paused.append({"device": self.simulator.device_bytes, "host": self.simulator.host_bytes})
        if self.job["touch"]:
            unbacked[0].sum()
        if self.job["free"]:
            spare.clear()
            torch.cuda.empty_cache()
        self.saver.resume()
        for tensor in unbacked:
            tensor.fill_(float("nan"))
        for tensor, copy in zip(parameters, kept, strict=True):
            if tensor is not None and self.job["restore"]:
                tensor.copy_(copy)

    def _unbacked(self, ddp: Any) -> list[Any]:
        """The buffers that lie in regions without backup."""
        if not self.job["flags"]:
            return [] if not self.job["touch"] else [next(iter(self.training.buffers(ddp).values())).grad_data]
        tensors = []
        for buffer in self.training.buffers(ddp).values():
            tensors += [buffer.grad_data, *([buffer.param_data] if buffer.param_data is not None else [])]
        return tensors

    def _live(self, ddp: Any, optimizer: Any) -> dict[int, int]:
        """Bytes by storage of everything that training keeps: parameters, buffers, and what the optimizer holds."""
        tensors = [*ddp.module.parameters(), *ddp.module.buffers()]
        for buffer in self.training.buffers(ddp).values():
            tensors += [tensor for tensor in (buffer.grad_data, buffer.param_data) if tensor is not None]
        tensors += self._state(optimizer)
        return {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}

    def _state(self, optimizer: Any) -> list[Any]:
        torch: Any = importlib.import_module("torch")
        found = []
        for each in getattr(optimizer, "chained_optimizers", [optimizer]):
            for group in each.optimizer.param_groups:
                for parameter in group["params"]:
                    state = each.optimizer.state[parameter]
                    # Adam counts its steps in tensors that are never on the device.
                    found += [parameter.data, *(state[name] for name in sorted(state) if name != "step")]
        return [value for value in found if isinstance(value, torch.Tensor)]

    def _state_digests(self, optimizer: Any) -> dict[str, str]:
        return {f"state {at}": self.training.digest(value) for at, value in enumerate(self._state(optimizer))}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main(json.loads(sys.argv[1]))
    sys.stdout.flush()
    # The threads of the process group may not be joined in time; the result is on disk.
    os._exit(0)
