"""Steps, pauses and what is seen of them, in the process of one rank."""

from __future__ import annotations

import importlib
from typing import Any

STEPS = 4
SPARE = 1000
"""Bytes of a tensor that is freed while everything is paused."""


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
        losses = self.training.accumulate(ddp, step * self.job["world"] + self.job["rank"])
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
