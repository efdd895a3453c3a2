"""What can be asked of a guard, one call at a time, and what its rules answer: for random sequences of calls.

The same machine runs on a torch_memory_saver without memory (test_guard_states.py) and on the real library
(sequences_worker.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from patchkit.errors import (
    ContentsError,
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

TAGS = ("default", "param_buffer", "adapter", "weights", "grad_buffer")
BACKED = {"default"}
LATER = {"weights"}
"""Written by an update."""


class Memory(Protocol):
    """An allocation."""

    tag: str

    def read(self) -> int | None: ...
    def write(self, value: int | None) -> None: ...


class World(Protocol):
    """A torch_memory_saver with the memory that goes through it."""

    saver: Any
    allocations: list[Any]
    tracked: Callable[[], Any] | None
    """None: as the guard counts by itself."""
    counts: bool
    """Whether growth of paused memory is noticed."""
    pools: bool
    """Whether there is a pool for each tag, with what was asked for in it."""
    backs_up: bool
    disables: bool
    frees_while_paused: bool

    def allocate(self, tag: str, value: int) -> Memory:
        """Allocate in the region that is open; ``tag`` is its name, or empty where nothing is tracked."""

    def free(self, memory: Memory) -> None:
        """Give it back, down to the driver."""

    def check_paused(self, states: dict[str, str], strays: list[Memory]) -> None:
        """Assert that exactly the memory of the tags in state ``paused`` is away."""

    @property
    def dies(self) -> type[BaseException]:
        """What stands for the end of the process; it is no answer."""


@dataclass
class Model:
    """What the rules say, in as few words as possible."""

    state: dict[str, str] = field(default_factory=lambda: dict.fromkeys(TAGS, "active"))
    epoch: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TAGS, 0))
    truth: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TAGS, 0))
    contents: dict[str, str | None] = field(default_factory=lambda: dict.fromkeys(TAGS))
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

    def pause_error(self, todo: list[str], *, discard: bool, buffers: bool) -> type[Exception] | None:
        """``buffers``: those of gradients are asked for, to see whether they are all."""
        if self.grown:
            return TrackedGrowthError
        for tag in todo:
            if any(tag in held for held in self.held):
                return HeldError
            if tag not in BACKED | LATER | self.restorers:
                return MissingRestorerError
            if tag == "grad_buffer" and buffers and tag in self.fails:
                return ZeroDivisionError
            if tag == "grad_buffer" and self.dirty and not discard:
                return DirtyGradientsError
        return None

    def pause(self, todo: list[str]) -> None:
        for name in todo:
            self.state[name] = "paused"
            self.epoch[name] += 1
            if name not in BACKED:
                self.contents[name] = None
        if "grad_buffer" in todo:
            self.dirty = False

    def resume(self, todo: list[str]) -> None:
        for name in todo:
            self.state[name] = "active" if name in BACKED else "unrestored"

    def restore(self, todo: list[str]) -> tuple[type[Exception] | None, list[str]]:
        """What is raised, and the tags that were restored before."""
        done: list[str] = []
        for tag in todo:
            if tag in LATER:
                continue
            if tag not in self.restorers:
                return MissingRestorerError, done
            if tag in self.fails:
                return ZeroDivisionError, done
            if tag == "grad_buffer":
                self.truth[tag] = 0
            self.state[tag], self.contents[tag] = "active", "actor" if tag == "param_buffer" else None
            done.append(tag)
        return None, done

    def read_error(self, names: list[str]) -> type[OrderError] | None:
        for tag in names:
            if self.state[tag] != "active":
                return PausedError if self.state[tag] == "paused" else UnrestoredError
        return None


class Machine:
    """Each call is made of the guard and of the model; what they answer has to be the same."""

    def __init__(self, world: World, *, poison: bool = False) -> None:
        self.world = world
        self.model = Model()
        self.guard = OffloadGuard(world.saver, tracked=world.tracked, poison=poison)
        self.holds: list[Hold] = []
        self.strays: list[Memory] = []
        for tag in TAGS[1:]:
            self.declare(tag)
        for tag in TAGS:
            self.allocate(tag)

    def outcome(self, call: Callable[[], Any]) -> Any:
        """What a call returns, or the type of what it raises."""
        try:
            return call()
        except self.world.dies:
            raise
        except Exception as error:
            return type(error)

    def declare(self, tag: str) -> None:
        there = tag in self.model.restorers
        self.guard.add_tag(
            tag,
            backup=tag in BACKED,
            restore=(lambda: self.restore_memory(tag)) if there and tag != "grad_buffer" else None,
            buffers=(lambda: self.of(tag)) if there or tag in LATER else None,
            contents="actor" if tag == "param_buffer" else None,
            later=tag in LATER,
        )

    def of(self, tag: str) -> list[Any]:
        if tag in self.model.fails:
            raise ZeroDivisionError
        return [each for each in self.world.allocations if each.tag == tag]

    def restore_memory(self, tag: str) -> None:
        for each in self.of(tag):
            each.write(self.model.truth[tag])

    # --- calls

    def pause(self, tag: str | None, *, discard: bool) -> None:
        todo = self.model.at(tag, "active", "unrestored")
        buffers = self.world.pools and any(each.tag == "grad_buffer" for each in self.world.allocations)
        expected: Any = self.model.pause_error(todo, discard=discard, buffers=buffers)
        if expected is None:
            expected = tuple(todo)
            self.model.pause(todo)
        found = self.outcome(lambda: self.guard.pause(tag, discard_gradients=discard))
        assert found == expected, f"{found} is not {expected}"

    def resume(self, tag: str | None, *, restore: bool) -> None:
        todo = self.model.at(tag, "paused")
        expected: Any = TrackedGrowthError if self.model.grown else None
        if expected is None:
            self.model.resume(todo)
            unrestored = [name for name in todo if name not in BACKED]
            failed: type[Exception] | None = None
            if self.guard._poison and self.model.fails & {*unrestored} & {*LATER, *self.model.restorers}:
                failed = ZeroDivisionError
            elif restore:
                failed = self.model.restore(unrestored)[0]
            expected = failed or tuple(todo)
        assert self.outcome(lambda: self.guard.resume(tag, restore=restore)) == expected

    def restore(self, tag: str | None) -> None:
        failed, done = self.model.restore(self.model.at(tag, "unrestored"))
        assert self.outcome(lambda: self.guard.restore(tag)) == (failed or tuple(done))

    def go_around(self, tag: str, *, pause: bool) -> None:
        """The package's own functions, where they do not end the process."""
        if self.strays or (self.model.state[tag] == "paused") is pause:
            return
        (self.guard.saver.pause if pause else self.guard.saver.resume)(tag)
        (self.model.pause if pause else self.model.resume)([tag])

    def restorer_breaks_or_works_again(self, tag: str, *, works: bool) -> None:
        (self.model.fails.discard if works else self.model.fails.add)(tag)

    def declare_again(self, tag: str, *, there: bool) -> None:
        if self.model.state[tag] != "active":
            assert self.outcome(lambda: self.guard.add_tag(tag, backup=False)) == OrderError
            return
        (self.model.restorers.add if there else self.model.restorers.discard)(tag)
        self.declare(tag)

    def written_by_others(self, tag: str, contents: str | None) -> None:
        if self.model.state[tag] == "paused":
            assert self.outcome(lambda: self.guard.mark_restored(tag)) == PausedError
            return
        self._write(tag)
        self.guard.mark_restored(tag, contents=contents)
        self.model.state[tag], self.model.contents[tag] = "active", contents

    def train(self, tag: str, value: int) -> None:
        expected = self.model.read_error([tag])
        assert self.outcome(lambda: self.guard.check_readable(tag)) == expected
        if expected is None:
            self.model.truth[tag] = value
            self._write(tag)

    def _write(self, tag: str) -> None:
        for each in self.world.allocations:
            if each.tag == tag:
                each.write(self.model.truth[tag])

    def allocate(self, tag: str) -> None:
        if tag in BACKED and not self.world.backs_up:
            return

        def made() -> None:
            with self.guard.region(tag, enable_cpu_backup=tag in BACKED):
                self.world.allocate(tag, self.model.truth[tag])

        assert self.outcome(made) == (PausedError if self.model.state[tag] == "paused" else None)

    def allocate_untracked(self) -> None:
        if self.world.disables:
            with self.guard.disable():
                self.world.allocate("", 0)

    def allocate_behind_its_back(self, tag: str) -> None:
        paused = self.model.state[tag] == "paused"
        if (tag in BACKED and not self.world.backs_up) or (paused and not self.world.counts):
            return
        options = {"enable_cpu_backup": tag in BACKED} if self.world.backs_up else {}
        with self.world.saver.region(tag, **options):
            stray = self.world.allocate(tag, self.model.truth[tag])
        if paused:
            self.model.stray.add(tag)
            self.strays.append(stray)

    def free(self, at: int) -> None:
        # What was allocated before a free that nobody counted can hide behind it (docs/guard.md).
        away = "paused" in self.model.state.values()
        if not self.strays and self.world.allocations and (self.world.frees_while_paused or not away):
            self.world.free(self.world.allocations[at % len(self.world.allocations)])
        self.outcome(self.guard.check_growth)

    def free_what_was_allocated_so(self) -> None:
        for each in self.strays:
            self.world.free(each)
        self.strays.clear()
        self.model.stray.clear()

    def section(self, reads: frozenset[str] | None, contents: str | None) -> None:
        names = [tag for tag in TAGS if (tag != "grad_buffer" if reads is None else tag in reads)]
        wanted = {} if contents is None else {"param_buffer": contents}
        expected: Any = TrackedGrowthError if self.model.grown else self.model.read_error(self._in_order(names, wanted))
        if expected is None and wanted and self.model.contents["param_buffer"] != contents:
            expected = ContentsError

        def opened() -> None:
            with self.guard.save(reads=None if reads is None else names, contents=wanted):
                for each in self.world.allocations:
                    if each.tag in names:
                        assert each.read() == self.model.truth[each.tag]

        assert self.outcome(opened) == expected

    @staticmethod
    def _in_order(names: list[str], more: dict[str, str]) -> list[str]:
        return list(dict.fromkeys([*names, *more]))

    def take_hold(self, names: frozenset[str]) -> None:
        self.holds.append(self.guard.take_hold("something", tags=names))
        self.model.held.append(names)

    def release(self, at: int) -> None:
        if self.holds:
            self.guard.release(self.holds.pop(at % len(self.holds)))
            self.model.held.pop(at % len(self.model.held))

    def mark_gradients(self, *, dirty: bool) -> None:
        (self.guard.mark_gradients_dirty if dirty else self.guard.mark_gradients_clean)()
        self.model.dirty = dirty

    def step(self, *, works: bool) -> None:
        expected: Any = TrackedGrowthError if self.model.grown else self.model.read_error(list(TAGS))
        if expected is None:
            self.model.dirty = not works
            expected = None if works else KeyError

        def run() -> None:
            with self.guard.step():
                if not works:
                    raise KeyError

        assert self.outcome(run) == expected

    # --- after each call

    def check(self) -> None:
        """States, counts and contents are those of the model, and the memory is as they say."""
        words = {"resumed, not restored": "unrestored"}
        assert {tag: words.get(each.value, each.value) for tag, each in self.guard.states.items()} == self.model.state
        assert {tag: self.guard.epoch(tag) for tag in TAGS} == self.model.epoch
        assert {tag: self.guard.contents(tag) for tag in TAGS} == self.model.contents
        assert self.guard.asleep == ("paused" in self.model.state.values())
        self.world.check_paused(self.model.state, self.strays)
        for each in self.world.allocations:
            if each not in self.strays and self.model.state.get(each.tag) == "active":
                assert each.read() == self.model.truth[each.tag]
