"""Random calls: the guard, a model of its rules, and a torch_memory_saver that dies when it is called wrongly.

The first test runs on a torch_memory_saver without memory, with sequences that hypothesis makes up and shortens. The
second one runs on the real library under the simulator, where a mistake ends the process.

PATCHKIT_SEQUENCES is how many sequences each of them runs (usually 300, and 150 for each build and hook mode).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from .conftest import Wheel
from .fake_saver import Allocation, DiedError, FakeSaver
from .guard_machine import TAGS, Machine, Memory
from .test_guarded import NEW, OLD, started

SEQUENCES = os.environ.get("PATCHKIT_SEQUENCES")
CALLS = 50
"""In each sequence."""

tags = st.sampled_from(TAGS)
some = st.none() | tags
names = st.none() | st.sampled_from(("actor", "ref"))


class FakeWorld:
    """torch_memory_saver without memory."""

    counts = backs_up = disables = frees_while_paused = True
    pools = False
    dies = DiedError

    def __init__(self) -> None:
        self.saver = FakeSaver()
        self.allocations = self.saver.allocations
        self.tracked: Callable[[], Any] | None = self.saver.counted

    def allocate(self, tag: str, value: int) -> Allocation:
        made = self.saver.allocate(value)
        assert made.tag == tag
        return made

    def free(self, memory: Any) -> None:
        self.allocations.remove(memory)

    def check_paused(self, states: dict[str, str], strays: list[Memory]) -> None:
        for each in self.allocations:
            if each not in strays:
                assert each.paused == (states[each.tag] == "paused")


class Calls(RuleBasedStateMachine):
    """Hypothesis chooses the calls."""

    machine: Machine

    @initialize(poison=st.booleans())
    def start(self, poison: bool) -> None:
        self.machine = Machine(FakeWorld(), poison=poison)

    @rule(tag=some, discard=st.booleans())
    def pause(self, tag: str | None, discard: bool) -> None:
        self.machine.pause(tag, discard=discard)

    @rule(tag=some, restore=st.booleans())
    def resume(self, tag: str | None, restore: bool) -> None:
        self.machine.resume(tag, restore=restore)

    @rule(tag=some)
    def restore(self, tag: str | None) -> None:
        self.machine.restore(tag)

    @rule(tag=tags, pause=st.booleans())
    def go_around(self, tag: str, pause: bool) -> None:
        self.machine.go_around(tag, pause=pause)

    @rule(tag=tags, works=st.booleans())
    def restorer_breaks_or_works_again(self, tag: str, works: bool) -> None:
        self.machine.restorer_breaks_or_works_again(tag, works=works)

    @rule(tag=st.sampled_from(("param_buffer", "adapter", "grad_buffer")), there=st.booleans())
    def declare_again(self, tag: str, there: bool) -> None:
        self.machine.declare_again(tag, there=there)

    @rule(tag=tags, contents=names)
    def written_by_others(self, tag: str, contents: str | None) -> None:
        self.machine.written_by_others(tag, contents)

    @rule(tag=tags, value=st.integers(1, 9))
    def train(self, tag: str, value: int) -> None:
        self.machine.train(tag, value)

    @rule(tag=tags)
    def allocate(self, tag: str) -> None:
        self.machine.allocate(tag)

    @rule()
    def allocate_untracked(self) -> None:
        self.machine.allocate_untracked()

    @rule(tag=tags)
    def allocate_behind_its_back(self, tag: str) -> None:
        self.machine.allocate_behind_its_back(tag)

    @rule(tag=tags)
    def sleep_and_allocate_behind_its_back(self, tag: str) -> None:
        self.machine.pause(tag, discard=True)
        self.machine.allocate_behind_its_back(tag)
        self.machine.resume(None, restore=True)

    @rule(at=st.integers(0, 99))
    def free(self, at: int) -> None:
        self.machine.free(at)

    @rule()
    def free_what_was_allocated_so(self) -> None:
        self.machine.free_what_was_allocated_so()

    @rule(reads=st.none() | st.frozensets(tags), contents=names)
    def section(self, reads: frozenset[str] | None, contents: str | None) -> None:
        self.machine.section(reads, contents)

    @rule(names=st.frozensets(tags))
    def take_hold(self, names: frozenset[str]) -> None:
        self.machine.take_hold(names)

    @rule(at=st.integers(0, 9))
    def release(self, at: int) -> None:
        self.machine.release(at)

    @rule(dirty=st.booleans())
    def mark_gradients(self, dirty: bool) -> None:
        self.machine.mark_gradients(dirty=dirty)

    @rule(works=st.booleans())
    def step(self, works: bool) -> None:
        self.machine.step(works=works)

    @invariant()
    def agree(self) -> None:
        self.machine.check()


Calls.TestCase.settings = settings(max_examples=int(SEQUENCES or 300), stateful_step_count=CALLS, deadline=None)
TestCalls = Calls.TestCase

WORKER = Path(__file__).with_name("sequences_worker.py")


@pytest.mark.network
@pytest.mark.parametrize(
    ("version", "hook"), [(NEW, "preload"), (NEW, "torch"), (OLD, "preload"), (OLD, "torch"), ("0.0.8", "preload")]
)
def test_no_sequence_ends_the_process(wheel: Wheel, simulated: Path, tmp_path: Path, version: str, hook: str) -> None:
    """Builds before 0.0.10 enter no region in a process that tracks everything, so that there only regions are."""
    out = tmp_path / "out.json"
    job = {
        "saver": str(wheel(version).root),
        "hook": hook,
        "sequences": int(SEQUENCES or 150),
        "calls": CALLS,
        "out": str(out),
        "torch": False,
    }
    settings = {"TMS_INIT_ENABLE": "0"} if version != NEW else {}
    done: subprocess.CompletedProcess[str] = started(
        WORKER, job, wheel(version), simulated, settings=settings, timeout=3600 if SEQUENCES else 280
    )

    assert done.returncode == 0, f"{out.read_text()}\n{done.stderr[-3000:]}"
    assert out.read_text() == f"{job['sequences']} sequences of {CALLS} calls\n"
