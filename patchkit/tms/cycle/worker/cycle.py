"""Steps, pauses and what is seen of them, in the process of one rank: under the simulator and on a GPU alike."""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STEPS = 4
SAVED = 2
"""Steps after which a checkpoint is written, and cycles."""

GRADS, PARAMS = "disable_grad_buffers_cpu_backup", "disable_param_buffers_cpu_backup"


@dataclass(frozen=True)
class Job:
    """What one rank does. The fields of patchkit.tms.cycle.trainings.Training have that meaning."""

    flags: bool = True
    params: bool = True
    sharded: bool = True
    gradients: str = "fp32"
    overlap: bool = False
    user_buffers: bool = False
    cycles: int = 3
    free: bool = True
    touch: bool = False
    restore: str = "copy"
    guard: bool = False
    open_step: bool = False
    checkpoint: bool = False
    retain: bool = False
    digests: bool = True
    sample: float = 0.0
    """Seconds between two readings of memory during the second pause; 0 takes none."""
    world: int = 1
    rank: int = 0
    folder: str = ""
    """Where a checkpoint goes."""
    size: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Job:
        """The job in a JSON object that may have other keys too."""
        return cls(**{name: value for name, value in fields.items() if name in cls.__dataclass_fields__})


class Cycle:
    """One training with pauses.

    ``device`` is where tensors lie: device.Simulated or gpu.Gpu. It has ``on_device()`` (a context for allocations that
    torch_memory_saver tracks), ``reading()`` (bytes used on the device and on the host), ``settle()`` (before a pause),
    ``wait()`` (until what was asked for is done), ``rounded()``, ``tracked()`` (bytes that a pause should free and
    keep), ``placement()``, ``spare``, ``own`` and ``misuses``.
    """

    def __init__(self, job: Job, device: Any) -> None:
        self.job = job
        self.device = device
        self.training: Any = importlib.import_module("training")
        self.size = self.training.Size(**job.size)
        self.cycles: list[dict[str, Any]] = []
        self.refused: dict[str, str] | None = None
        self.control: Any = None

    def train(self) -> dict[str, Any]:
        """Digests after each step, and what each pause took."""
        pausing: Any = importlib.import_module("pausing")
        self.control = pausing.control(self.job, self.device)
        ddp, optimizer = self._build()
        self.control.declare(lambda: [buffer.grad_data for buffer in self.training.buffers(ddp).values()])
        steps, reloaded, placement = [], None, None
        for step in range(STEPS):
            steps.append(self._step(ddp, optimizer, step))
            if step == 0:
                placement = self.device.placement(ddp, grads=not self.job.flags, params=not self._drops_parameters())
            if step < self.job.cycles:
                self._pause(ddp, optimizer)
            if self.job.checkpoint and step + 1 == SAVED:
                checkpoint: Any = importlib.import_module("checkpoint")
                checkpoint.save(self._checkpoint(), ddp, optimizer, sharded=self.job.sharded)
        if self.job.checkpoint:
            reloaded = self._go_on_from_checkpoint()
        return {
            "steps": steps,
            "reloaded": reloaded,
            "refused": self.refused,
            "paused": [cycle["paused"] for cycle in self.cycles],
            "cycles": self.cycles,
            "placement": placement,
            "parameters": sum(parameter.numel() for parameter in ddp.module.parameters()),
            "unbacked": sum(self.device.rounded(tensor.nbytes) for tensor in self._unbacked(ddp)),
            # All that training keeps, and what is freed while paused.
            "live": sum(map(self.device.rounded, [*self._live(ddp, optimizer).values(), self.device.spare])),
            "misuses": self.device.misuses,
        }

    def _build(self) -> tuple[Any, Any]:
        config: dict[str, Any] = {
            "grad_reduce_in_fp32": self.job.gradients == "fp32",
            "use_distributed_optimizer": self.job.sharded,
        }
        if self.job.flags:
            config |= dict.fromkeys((GRADS, PARAMS) if self._drops_parameters() else (GRADS,), True)
        if self.job.overlap:
            # Several buckets, so that there is something to overlap.
            config |= {"overlap_grad_reduce": True, "bucket_size": 1000, "overlap_param_gather": self.job.sharded}
        if self.job.user_buffers:
            config |= {"nccl_ub": True, "disable_symmetric_registration": True}
        with self.device.on_device():
            ddp = self.training.make_ddp(config, {}, self.size)
            return ddp, self._optimizer(ddp)

    def _drops_parameters(self) -> bool:
        return self.job.flags and self.job.params and self.job.sharded

    def _optimizer(self, ddp: Any) -> Any:
        torch: Any = importlib.import_module("torch")
        optimizers: Any = importlib.import_module("megatron.core.optimizer")
        options = {
            "optimizer": "adam",
            "lr": 0.01,
            "bf16": True,
            "params_dtype": torch.bfloat16,
            "use_distributed_optimizer": self.job.sharded,
            "overlap_param_gather": self.job.overlap and self.job.sharded,
        }
        known = optimizers.OptimizerConfig.__dataclass_fields__
        config = optimizers.OptimizerConfig(**{name: value for name, value in options.items() if name in known})
        return optimizers.get_megatron_optimizer(config, [ddp])

    def _step(self, ddp: Any, optimizer: Any, step: int) -> dict[str, Any]:
        ddp.zero_grad_buffer()
        optimizer.zero_grad()
        between = self._try_to_pause if self.job.open_step and step == 1 else None
        seed = step * self.job.world + self.job.rank
        losses = self.training.accumulate(ddp, seed, self.size, between=between)
        ddp.finish_grad_sync()
        # The optimizer makes its state at its first step; it is where a framework would make it.
        if step == 0:
            with self.device.on_device():
                _, norm, _ = optimizer.step()
        else:
            _, norm, _ = optimizer.step()
        self.control.stepped()
        if self.job.overlap and self.job.sharded:
            # Otherwise the next forward pass gathers what other ranks have updated.
            ddp.start_param_sync(force_sync=True)
        seen = {"losses": losses, "norm": float(norm).hex() if norm is not None else None}
        if self.job.digests:
            seen |= {**self.training.digests(ddp), **self._state_digests(optimizer)}
        return seen

    def _try_to_pause(self) -> None:
        """Pause while gradients are accumulated, which a guard refuses."""
        before = self.device.reading()
        self.control.began()
        try:
            self.control.pause()
        except Exception as error:  # what it raises is the answer
            self.refused = {"raised": type(error).__name__, "text": str(error)}
        given_up = self.device.own and self.device.reading()["device"] != before["device"]
        if self.refused is not None and given_up:
            self.refused["raised"] += ", after memory was given up"

    def _pause(self, ddp: Any, optimizer: Any) -> None:
        """Sleep and wake up, as a framework does."""
        torch: Any = importlib.import_module("torch")
        unbacked = self._unbacked(ddp)
        # Of parameters without backup somebody else has a copy; gradients are zeroed before they are used again.
        dropped = [buffer.param_data for buffer in self.training.buffers(ddp).values() if self._drops_parameters()]
        kept = [tensor.detach().to("cpu", copy=True) for tensor in dropped if self.job.restore == "copy"]
        with self.device.on_device():
            spare: list[Any] = [torch.zeros(self.device.spare, dtype=torch.uint8, device="cuda")]
        self.device.settle()
        tracked, before = self.device.tracked(), self.device.reading()
        sampler = self._sampler()
        pause_seconds = timed(self.control.pause)
        paused = self.device.reading()
        if self.job.touch:
            touched = unbacked or [next(iter(self.training.buffers(ddp).values())).grad_data]
            touched[0].sum()
        if self.job.free:
            spare.clear()
            torch.cuda.empty_cache()
        freed = self.device.tracked()
        resume_seconds = timed(self.control.resume)
        resumed = self.device.reading()
        restore_seconds = timed(lambda: self._restore(ddp, optimizer, list(zip(dropped, kept, strict=False))))
        self.cycles.append(
            {
                "tracked": tracked,
                "freed while paused": None if tracked is None else tracked["device"] - freed["device"],
                "before": before,
                "paused": paused,
                "resumed": resumed,
                "pause seconds": pause_seconds,
                "resume seconds": resume_seconds,
                "restore seconds": restore_seconds,
                "samples": sampler.stop() if sampler else None,
            }
        )

    def _sampler(self) -> Any:
        """Readings over time, of the second pause; None where none are asked for."""
        if not self.job.sample or len(self.cycles) != 1:
            return None
        sampling: Any = importlib.import_module("sampling")
        return sampling.Sampler(self.device.reading, self.job.sample)

    def _restore(self, ddp: Any, optimizer: Any, copies: Sequence[tuple[Any, Any]]) -> None:
        """Fill what has no backup with NaN, so that nobody reads it, then write the parameters."""
        for tensor in self._unbacked(ddp):
            tensor.fill_(float("nan"))
        for tensor, copy in copies:
            tensor.copy_(copy)
        if self.job.restore == "main" and self._drops_parameters():
            restore_from_main(ddp, optimizer)
        self.control.restored()
        self.device.wait()

    def _go_on_from_checkpoint(self) -> list[dict[str, Any]]:
        """The steps after the checkpoint, from a new model that has read it."""
        checkpoint: Any = importlib.import_module("checkpoint")
        ddp, optimizer = self._build()
        checkpoint.load(self._checkpoint(), ddp, optimizer, sharded=self.job.sharded)
        return [self._step(ddp, optimizer, step) for step in range(SAVED, STEPS)]

    def _checkpoint(self) -> Path:
        return Path(self.job.folder, f"rank-{self.job.rank}.pt")

    def _unbacked(self, ddp: Any) -> list[Any]:
        """The buffers that lie in regions without backup."""
        if not self.job.flags:
            return []
        tensors = []
        for buffer in self.training.buffers(ddp).values():
            tensors.append(buffer.grad_data)
            if buffer.param_data is not None and self._drops_parameters():
                tensors.append(buffer.param_data)
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
        for each in self.training.chained(optimizer):
            for group in each.optimizer.param_groups:
                for parameter in group["params"]:
                    state = each.optimizer.state[parameter]
                    # Adam counts its steps in tensors that are never on the device.
                    found += [parameter.data, *(state[name] for name in sorted(state) if name != "step")]
        return [value for value in found if isinstance(value, torch.Tensor)]

    def _state_digests(self, optimizer: Any) -> dict[str, str]:
        return {f"state {at}": self.training.digest(value) for at, value in enumerate(self._state(optimizer))}


def restore_from_main(ddp: Any, optimizer: Any) -> None:
    """Write the parameters from the fp32 ones of the optimizer: each rank its share, then all gather."""
    training: Any = importlib.import_module("training")
    for each in training.chained(optimizer):
        each._copy_main_params_to_model_params()
    ddp.start_param_sync(force_sync=True)


def timed(action: Any) -> float:
    """Seconds that ``action`` takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
