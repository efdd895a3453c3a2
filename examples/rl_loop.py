"""A training for reinforcement learning in small: train, sleep, generate, wake up, update, save.

On a GPU, in a process that torch_memory_saver is preloaded into:

    patchkit run -- python examples/rl_loop.py

Without one, and without torch, on the simulated driver (`--saver`: a wheel or a folder; default: what is installed):

    pip download --no-deps torch_memory_saver==0.0.10
    python examples/rl_loop.py --simulate --saver torch_memory_saver-0.0.10-cp39-abi3-manylinux2014_x86_64.whl

`--no-offload`, started in the same way, is the same training without a pause; the weights that are printed at the end
have to be the same.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SIZE = 1 << 18
ROUNDS = 3
TARGET = 0.5


class Training:
    """Parameters and gradients without backup, as the patches of Megatron make them; an optimizer with one."""

    def __init__(self, device: Any, guard: Any) -> None:
        self.guard = guard
        self.host_weights = [0.0] * SIZE  # What the framework keeps, and restores from.
        with guard.region("param_buffer", enable_cpu_backup=False):
            self.parameters = device.zeros(SIZE)
        with guard.region("grad_buffer", enable_cpu_backup=False):
            self.gradients = device.zeros(SIZE)
        self.momentum = device.zeros(SIZE)
        # The lines that a framework adds: what has no backup, and who restores it.
        guard.add_tag("param_buffer", backup=False, restore=self.restore, buffers=lambda: [self.parameters])
        guard.add_tag("grad_buffer", backup=False, buffers=lambda: [self.gradients])
        self.device = device

    def restore(self) -> None:
        self.parameters.copy_(self.device.tensor(self.host_weights))

    def train(self, reward: float) -> None:
        with self.guard.step():
            # The gradient of (w - target)^2 / 2, scaled by what the generation was worth.
            self.gradients.add_(self.parameters).add_(-TARGET).mul_(reward)
            self.momentum.mul_(0.9).add_(self.gradients)
            self.parameters.add_(self.momentum, alpha=-0.1)
            self.gradients.zero_()
        self.host_weights = self.parameters.tolist()

    def save(self) -> list[float]:
        with self.guard.save():
            return [*self.parameters.tolist()[:2], *self.momentum.tolist()[:2]]

    def update(self) -> list[float]:
        """Send weights to the engine while everything is paused: from the host, through untracked memory."""
        with self.guard.update(reads=()), self.guard.disable() if self.guard.asleep else contextlib.nullcontext():
            return list(self.device.tensor(self.host_weights[:4]).tolist())


def generate(weights: Sequence[float]) -> float:
    """What an engine would do with the device while training sleeps: here, a reward from the weights."""
    return 1.0 + sum(weights) / len(weights)


def run(device: Any, guard: Any, *, offload: bool) -> None:
    training = Training(device, guard)
    weights = training.update()
    for round_ in range(ROUNDS):
        reward = generate(weights)
        if offload:
            guard.resume()  # In the first round nothing is paused, and nothing happens.
        training.train(reward)
        checkpoint = training.save()
        before = device.memory()
        if offload:
            guard.pause()
            guard.pause()  # A second sleep is harmless.
        weights = training.update()
        print(f"round {round_}: {before} -> {device.memory()}; checkpoint {checkpoint[0]:.6f} {checkpoint[2]:.6f}")
    print(f"weights {training.host_weights[0]:.9f} {training.host_weights[-1]:.9f}")


class Gpu:
    """Tensors of torch."""

    def __init__(self) -> None:
        from patchkit.errors import CapabilityError
        from patchkit.tms import imports

        try:
            self._torch = imports.torch()
        except CapabilityError as error:
            sys.exit(f"{error}: --simulate does without")
        if not self._torch.cuda.is_available():
            sys.exit("there is no GPU here: --simulate does without")

    def zeros(self, size: int) -> Any:
        return self._torch.zeros(size, device="cuda")

    def tensor(self, values: Sequence[float]) -> Any:
        return self._torch.tensor(values, device="cuda")

    def memory(self) -> str:
        free, total = self._torch.cuda.mem_get_info()
        return f"device {(total - free) >> 20} MiB"


class Simulated:
    """Vectors in memory that the preloaded library gives out, on the simulated driver."""

    def __init__(self) -> None:
        ctypes.CDLL("libcudart.so.12", ctypes.RTLD_GLOBAL)
        self.runtime = ctypes.CDLL(None)
        self._driver = ctypes.CDLL("libcuda.so.1")
        for name in ("patchkit_sim_device_bytes", "patchkit_sim_host_bytes"):
            getattr(self._driver, name).restype = ctypes.c_size_t

    def zeros(self, size: int) -> Any:
        return self.tensor([0.0] * size)

    def tensor(self, values: Sequence[float]) -> Any:
        vector = Vector(self.runtime, len(values))
        vector.memory[:] = values
        return vector

    def memory(self) -> str:
        device, host = self._driver.patchkit_sim_device_bytes(), self._driver.patchkit_sim_host_bytes()
        return f"device {device >> 20} MiB, host {host >> 20} MiB"


class Vector:
    """The few methods of a tensor that the loop needs."""

    def __init__(self, runtime: Any, size: int) -> None:
        pointer = ctypes.c_void_p()
        if runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(4 * size)) or not pointer.value:
            raise MemoryError
        self.memory = (ctypes.c_float * size).from_address(pointer.value)
        self._free = runtime.cudaFree

    def __del__(self) -> None:
        if hasattr(self, "memory"):
            self._free(ctypes.c_void_p(ctypes.addressof(self.memory)))

    def add_(self, other: Vector | float, alpha: float = 1.0) -> Vector:
        terms = other.memory if isinstance(other, Vector) else [other] * len(self.memory)
        self.memory[:] = [own + alpha * term for own, term in zip(self.memory, terms, strict=True)]
        return self

    def mul_(self, factor: float) -> Vector:
        self.memory[:] = [own * factor for own in self.memory]
        return self

    def copy_(self, other: Vector) -> Vector:
        self.memory[:] = other.memory[:]
        return self

    def fill_(self, value: float) -> Vector:
        self.memory[:] = [value] * len(self.memory)
        return self

    def zero_(self) -> Vector:
        return self.fill_(0.0)

    def is_floating_point(self) -> bool:
        return True

    def tolist(self) -> list[float]:
        return list(self.memory)


def start_simulated(saver: Path | None) -> None:
    """Start this script again with the simulated driver and the library preloaded; does not return."""
    import patchkit.tms.simulator
    from patchkit.store.cache import default_cache
    from patchkit.tms.library import Cuda, preload_library
    from patchkit.tms.package import installed_package, package_at
    from patchkit.tms.simulator.build import simulator

    package = package_at(saver, cache=default_cache()) if saver else installed_package()
    stand_ins = Path(patchkit.tms.simulator.__file__).parent / "stand_ins"
    root = Path(patchkit.__file__).parents[1]
    environment = {
        **os.environ,
        "LD_PRELOAD": str(preload_library(Cuda(12), package)),
        "LD_LIBRARY_PATH": f"{simulator(default_cache())}:{os.environ.get('LD_LIBRARY_PATH', '')}".strip(":"),
        "TMS_INIT_ENABLE": "1",
        "TMS_INIT_ENABLE_CPU_BACKUP": "1",
        "PYTHONPATH": f"{stand_ins}:{package.root}:{root}",
        "RL_LOOP_STARTED": "1",
    }
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def main() -> None:
    parser = argparse.ArgumentParser(description="A training for reinforcement learning in small.")
    parser.add_argument("--simulate", action="store_true", help="on the simulated driver, without a GPU and torch")
    parser.add_argument("--saver", type=Path, help="a wheel or folder of torch_memory_saver, for --simulate")
    parser.add_argument("--no-offload", action="store_true", help="never pause")
    parser.add_argument("--poison", action="store_true", help="NaN in what has no backup until it is restored")
    asked = parser.parse_args()
    if asked.saver is not None and not asked.simulate:
        parser.error("--saver is for --simulate; on a GPU, patchkit run --in SAVER says which library to preload")
    if asked.simulate and "RL_LOOP_STARTED" not in os.environ:
        start_simulated(asked.saver)
    from patchkit.tms import OffloadGuard

    device = Simulated() if asked.simulate else Gpu()
    run(device, OffloadGuard(poison=asked.poison), offload=not asked.no_offload)
    sys.stdout.flush()
    if asked.simulate:
        os._exit(0)  # What is left is reported as leaked, and nobody needs to know.


if __name__ == "__main__":
    from patchkit.errors import PatchkitError

    try:
        main()
    except PatchkitError as error:
        sys.exit(f"{error}\n{error.hint or ''}".rstrip())
