"""Random calls: the guard, a model of its rules, and a torch_memory_saver that dies when it is called wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from patchkit.errors import (
    DirtyGradientsError,
    HeldError,
    MissingRestorerError,
    OrderError,
    PausedError,
    TrackedGrowthError,
    UnrestoredError,
)
from patchkit.tms.guard import OffloadGuard
from patchkit.tms.sections import Hold

from .fake_saver import Allocation, DiedError, FakeSaver

TAGS = ("default", "param_buffer", "adapter", "grad_buffer")
BACKED = {"default"}
tags = st.sampled_from(TAGS)
some = st.none() | tags


@dataclass
class Model:
    """What the rules say, in as few words as possible."""

    state: dict[str, str] = field(default_factory=lambda: dict.fromkeys(TAGS, "active"))
    epoch: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TAGS, 0))
    truth: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TAGS, 0))
    restorers: set[str] = field(default_factory=lambda: {"param_buffer", "grad_buffer"})
    fails: set[str] = field(default_factory=set)
    held: list[frozenset[str]] = field(default_factory=list)
    dirty: bool = False
    stray: set[str] = field(default_factory=set)
    """Tags that were allocated under while they were paused."""

    def at(self, tag: str | None, *states: str) -> list[str]:
        return [name for name in TAGS if tag in (None, name) and self.state[name] in states]

    @property
    def grown(self) -> bool:
        return any(self.state[tag] == "paused" for tag in self.stray)

    def pause_error(self, todo: list[str], *, discard: bool) -> type[OrderError] | None:
        if self.grown:
            return TrackedGrowthError
        for tag in todo:
            if any(tag in held for held in self.held):
                return HeldError
            if tag not in BACKED | self.restorers:
                return MissingRestorerError
            if tag == "grad_buffer" and self.dirty and not discard:
                return DirtyGradientsError
        return None

    def restore(self, todo: list[str]) -> type[Exception] | None:
        for tag in todo:
            if tag not in self.restorers:
                return MissingRestorerError
            if tag in self.fails:
                return ZeroDivisionError
            if tag == "grad_buffer":
                self.truth[tag] = 0
            self.state[tag] = "active"
        return None

    def read_error(self, names: list[str]) -> type[OrderError] | None:
        for tag in names:
            if self.state[tag] != "active":
                return PausedError if self.state[tag] == "paused" else UnrestoredError
        return None


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the type of what it raises."""
    try:
        return call()
    except DiedError:
        raise
    except Exception as error:
        return type(error)


class Calls(RuleBasedStateMachine):
    """Each rule asks the guard and the model the same."""

    def __init__(self) -> None:
        super().__init__()
        self.saver = FakeSaver()
        self.model = Model()
        self.guard = OffloadGuard(self.saver, tracked=self.saver.counted)
        self.holds: list[Hold] = []
        self.strays: list[Allocation] = []
        for tag in TAGS[1:]:
            self.declare(tag)
        for tag in TAGS:
            self.allocate(tag)

    def declare(self, tag: str) -> None:
        restore = (lambda: self.restore_memory(tag)) if tag in self.model.restorers and tag != "grad_buffer" else None
        buffers = (lambda: self.of(tag)) if tag == "grad_buffer" and tag in self.model.restorers else None
        self.guard.add_tag(tag, backup=tag in BACKED, restore=restore, buffers=buffers)

    def of(self, tag: str) -> list[Allocation]:
        if tag in self.model.fails:
            raise ZeroDivisionError
        return [each for each in self.saver.allocations if each.tag == tag]

    def restore_memory(self, tag: str) -> None:
        for each in self.of(tag):
            each.write(self.model.truth[tag])

    @rule(tag=some, discard=st.booleans())
    def pause(self, tag: str | None, discard: bool) -> None:
        todo = self.model.at(tag, "active", "unrestored")
        expected: Any = self.model.pause_error(todo, discard=discard)
        if expected is None:
            expected = tuple(todo)
            for name in todo:
                self.model.state[name] = "paused"
                self.model.epoch[name] += 1
            if "grad_buffer" in todo:
                self.model.dirty = False

        assert outcome(lambda: self.guard.pause(tag, discard_gradients=discard)) == expected

    @rule(tag=some, restore=st.booleans())
    def resume(self, tag: str | None, restore: bool) -> None:
        todo = self.model.at(tag, "paused")
        expected: Any = TrackedGrowthError if self.model.grown else None
        if expected is None:
            for name in todo:
                self.model.state[name] = "active" if name in BACKED else "unrestored"
            unrestored = [name for name in todo if name not in BACKED]
            expected = (self.model.restore(unrestored) if restore else None) or tuple(todo)

        assert outcome(lambda: self.guard.resume(tag, restore=restore)) == expected

    @rule(tag=some)
    def restore(self, tag: str | None) -> None:
        todo = self.model.at(tag, "unrestored")
        expected = self.model.restore(todo) or tuple(todo)

        assert outcome(lambda: self.guard.restore(tag)) == expected

    @rule(tag=tags, works=st.booleans())
    def restorer_breaks_or_works_again(self, tag: str, works: bool) -> None:
        (self.model.fails.discard if works else self.model.fails.add)(tag)

    @rule(tag=st.sampled_from(("param_buffer", "adapter", "grad_buffer")), there=st.booleans())
    def declare_again(self, tag: str, there: bool) -> None:
        if self.model.state[tag] != "active":
            assert outcome(lambda: self.guard.add_tag(tag, backup=False)) == OrderError
            return
        (self.model.restorers.add if there else self.model.restorers.discard)(tag)
        self.declare(tag)

    @rule(tag=tags)
    def written_by_others(self, tag: str) -> None:
        if self.model.state[tag] == "paused":
            assert outcome(lambda: self.guard.mark_restored(tag)) == PausedError
            return
        for each in self.saver.allocations:
            if each.tag == tag:
                each.write(self.model.truth[tag])
        self.guard.mark_restored(tag)
        self.model.state[tag] = "active"

    @rule(tag=tags, value=st.integers(1, 9))
    def train(self, tag: str, value: int) -> None:
        expected = self.model.read_error([tag])
        assert outcome(lambda: self.guard.check_readable(tag)) == expected
        if expected is None:
            self.model.truth[tag] = value
            for each in self.saver.allocations:
                if each.tag == tag:
                    each.write(value)

    @rule(tag=tags)
    def allocate(self, tag: str) -> None:
        def made() -> None:
            with self.guard.region(tag, enable_cpu_backup=tag in BACKED):
                self.saver.allocate(self.model.truth[tag])

        expected = PausedError if self.model.state[tag] == "paused" else None
        assert outcome(made) == expected

    @rule()
    def allocate_untracked(self) -> None:
        with self.guard.disable():
            self.saver.allocate()

    @rule(tag=tags)
    def allocate_behind_its_back(self, tag: str) -> None:
        with self.saver.region(tag, tag in BACKED):
            stray = self.saver.allocate(self.model.truth[tag])
        if self.model.state[tag] == "paused":
            self.model.stray.add(tag)
            self.strays.append(stray)

    # What was allocated before a free that nobody counted can hide behind it (docs/guard.md).
    @precondition(lambda self: not self.strays)
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        if self.saver.allocations:
            self.saver.allocations.remove(data.draw(st.sampled_from(self.saver.allocations)))
        self.guard.check_growth()

    @rule(tag=tags)
    def sleep_and_allocate_behind_its_back(self, tag: str) -> None:
        self.pause(tag, discard=True)
        self.allocate_behind_its_back(tag)
        self.resume(None, restore=True)

    @precondition(lambda self: self.strays)
    @rule()
    def free_what_was_allocated_so(self) -> None:
        for each in self.strays:
            self.saver.allocations.remove(each)
        self.strays.clear()
        self.model.stray.clear()

    @rule(reads=st.none() | st.frozensets(tags))
    def section(self, reads: frozenset[str] | None) -> None:
        names = [tag for tag in TAGS if (tag != "grad_buffer" if reads is None else tag in reads)]
        expected = TrackedGrowthError if self.model.grown else self.model.read_error(names)

        def opened() -> None:
            with self.guard.save(reads=None if reads is None else names):
                for each in self.saver.allocations:
                    if each.tag in names:
                        assert each.read() == self.model.truth[each.tag]

        assert outcome(opened) == expected

    @rule(names=st.frozensets(tags))
    def take_hold(self, names: frozenset[str]) -> None:
        self.holds.append(self.guard.take_hold("something", tags=names))
        self.model.held.append(names)

    @precondition(lambda self: self.holds)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.holds) - 1))
        self.guard.release(self.holds.pop(at))
        self.model.held.pop(at)

    @rule(dirty=st.booleans())
    def mark_gradients(self, dirty: bool) -> None:
        (self.guard.mark_gradients_dirty if dirty else self.guard.mark_gradients_clean)()
        self.model.dirty = dirty

    @rule(works=st.booleans())
    def step(self, works: bool) -> None:
        expected: Any = TrackedGrowthError if self.model.grown else self.model.read_error(list(TAGS))
        if expected is None:
            self.model.dirty = not works
            expected = None if works else KeyError

        def run() -> None:
            with self.guard.step():
                if not works:
                    raise KeyError

        assert outcome(run) == expected

    @invariant()
    def states_agree(self) -> None:
        found = {
            name: {"resumed, not restored": "unrestored"}.get(each.value, each.value)
            for name, each in self.guard.states.items()
        }

        assert found == self.model.state
        assert {tag: self.guard.epoch(tag) for tag in TAGS} == self.model.epoch
        assert self.guard.asleep == ("paused" in self.model.state.values())

    @invariant()
    def memory_is_as_the_states_say(self) -> None:
        for each in self.saver.allocations:
            if each in self.strays:
                continue
            assert each.paused == (self.model.state[each.tag] == "paused")
            if self.model.state[each.tag] == "active":
                assert each.read() == self.model.truth[each.tag]


Calls.TestCase.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)
TestCalls = Calls.TestCase
