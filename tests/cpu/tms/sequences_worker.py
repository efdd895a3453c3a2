"""Random sequences of calls against the real torch_memory_saver under the simulator (test_guard_states.py).

    python -I -S -B sequences_worker.py '{"sequences": ..., "calls": ..., "saver": ..., "hook": ..., "out": ...}'

In `out` is the seed of the sequence that is running, and the calls of it so far; it can be run alone with "first".
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[3]
SIZE = 4096


class Memory:
    """An allocation on the simulated device."""

    def __init__(self, tag: str, tensor: Any) -> None:
        self.tag, self.tensor = tag, tensor
        self.read, self.write = tensor.read, tensor.fill
        # What the guard asks of a buffer.
        self.zero_, self.fill_, self.is_floating_point = tensor.zero_, tensor.fill_, tensor.is_floating_point
        self.data_ptr, self.numel, self.element_size = tensor.data_ptr, tensor.numel, tensor.element_size


class RealWorld:
    """The real library, and what was allocated through it."""

    tracked = None
    dies = KeyboardInterrupt  # It does not answer any more.

    def __init__(self, saver: Any, memory: Any, job: dict[str, Any]) -> None:
        module: Any = importlib.import_module("patchkit.tms.capabilities")
        capabilities = module.capabilities_of(saver)
        self._library = module.library_of(saver)
        self.saver, self._memory = saver, memory
        self.allocations: list[Any] = []
        self.counts = self.pools = capabilities.pools_by_tag
        self.disables = capabilities.disable
        self.backs_up = capabilities.backup
        self.frees_while_paused = capabilities.free_while_paused
        self._untracked: list[Any] = []
        self._simulator = ctypes.CDLL("libcuda.so.1")
        self._simulator.patchkit_sim_device_bytes.restype = ctypes.c_size_t

    def allocate(self, tag: str, value: int) -> Memory:
        made = Memory(tag, self._memory.allocate(value))
        (self.allocations if tag else self._untracked).append(made)
        return made

    def free(self, memory: Memory) -> None:
        """Builds before 0.0.10 free what they track in a region only, and hook mode torch does so in every build."""
        self.allocations.remove(memory)
        memory.tensor.free()
        with self._tracking():
            self._memory.empty_cache()

    @contextmanager
    def _tracking(self) -> Iterator[None]:
        if not hasattr(self._library, "tms_get_interesting_region"):
            with self.saver.region("default"):
                yield
            return
        before = self._library.tms_get_interesting_region()
        self._library.tms_set_interesting_region(ctypes.c_bool(True))
        yield
        self._library.tms_set_interesting_region(ctypes.c_bool(before))

    def check_paused(self, states: dict[str, str], strays: list[Memory]) -> None:
        here = [each for each in self.allocations if each in strays or states[each.tag] != "paused"]
        assert self._simulator.patchkit_sim_device_bytes() == SIZE * (len(here) + len(self._untracked))

    def clear(self, machine: Any) -> None:
        """Resume what is paused by the package's own means, and free everything, so that the guard can be dropped."""
        machine.free_what_was_allocated_so()
        for tag, state in machine.model.state.items():
            if state == "paused":
                self.saver.resume(tag)
            machine.guard.mark_restored(tag)
        for each in [*self.allocations]:
            self.free(each)
        for each in self._untracked:
            each.tensor.free()
        self._memory.empty_cache()
        self._untracked.clear()
        assert self._simulator.patchkit_sim_device_bytes() == 0


def chosen(random: Random, machine: Any, tags: tuple[str, ...]) -> tuple[str, Callable[[], None]]:
    """A call with its arguments; pauses and resumes are the most frequent."""
    tag = random.choice(tags)
    some = random.choice((None, tag))
    flag = random.random() < 0.5
    name = random.choice((None, "actor", "ref"))
    subset = frozenset(each for each in tags if random.random() < 0.5)
    number = random.randrange(100)
    calls: dict[str, Callable[[], None]] = {
        f"pause {some} discard={flag}": lambda: machine.pause(some, discard=flag),
        f"resume {some} restore={flag}": lambda: machine.resume(some, restore=flag),
        "pause": lambda: machine.pause(None, discard=True),
        "resume": lambda: machine.resume(None, restore=True),
        f"restore {some}": lambda: machine.restore(some),
        f"go around {tag} pause={flag}": lambda: machine.go_around(tag, pause=flag),
        f"restorer {tag} works={flag}": lambda: machine.restorer_breaks_or_works_again(tag, works=flag or number < 50),
        f"declare {tag} {flag}": lambda: machine.declare_again(tag, there=flag or number < 50),
        f"written {tag} {name}": lambda: machine.written_by_others(tag, name),
        f"train {tag} {number}": lambda: machine.train(tag, number),
        f"allocate {tag}": lambda: machine.allocate(tag),
        "allocate untracked": machine.allocate_untracked,
        f"behind {tag}": lambda: machine.allocate_behind_its_back(tag) if number < 30 else None,
        f"free {number}": lambda: machine.free(number),
        "free strays": machine.free_what_was_allocated_so,
        f"section {sorted(subset)} {name}": lambda: machine.section(subset if flag else None, name),
        f"hold {sorted(subset)}": lambda: machine.take_hold(subset) if number < 30 else None,
        f"release {number}": lambda: machine.release(number),
        f"dirty {flag}": lambda: machine.mark_gradients(dirty=flag),
        f"step works={flag}": lambda: machine.step(works=flag),
    }
    if tag in ("default", "weights"):
        del calls[f"declare {tag} {flag}"]
    return random.choice(list(calls.items()))


def main() -> None:
    """Run the sequences; what is wrong ends the process, one way or the other."""
    job = json.loads(sys.argv[1])
    sys.path[:0] = [
        str(ROOT / "patchkit/tms/simulator/stand_ins"),
        job["saver"],
        str(ROOT),
        str(ROOT / "tests/cpu/tms"),
    ]
    device_memory: Any = importlib.import_module("device_memory")
    device_memory.SIZE = SIZE
    memory = device_memory.Memory(importlib.import_module("torch"))
    saver = importlib.import_module("torch_memory_saver").torch_memory_saver
    if job["hook"] == "torch":
        saver.hook_mode = "torch"
    machines: Any = importlib.import_module("guard_machine")
    out = Path(job["out"])
    first = job.get("first", 0)
    for seed in range(first, first + job["sequences"]):
        random = Random(seed)  # noqa: S311 - to be had again
        lines = [f"seed {seed}"]
        world = RealWorld(saver, memory, job)
        machine = machines.Machine(world, poison=random.random() < 0.5)
        machine.check()
        for _ in range(job["calls"]):
            name, call = chosen(random, machine, machines.TAGS)
            lines.append(name)
            out.write_text("\n".join(lines), encoding="utf-8")
            call()
            machine.check()
        world.clear(machine)
        del machine, call
    out.write_text(f"{job['sequences']} sequences of {job['calls']} calls\n", encoding="utf-8")


main()
sys.stdout.flush()
os._exit(0)
