"""Ranks that differ are told so, all of them, before they wait for each other (C10, C15, C16).

Each rank is a thread with a torch_memory_saver and a guard of its own; a collective is a meeting that everybody has to
come to within a second.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from patchkit.errors import GuardUseError, RanksDisagreeError
from patchkit.tms.guard import OffloadGuard
from patchkit.tms.ranks import require_same, require_same_state

from .fake_saver import FakeSaver

RANKS = 2


class World:
    """What ranks have in common."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._meetings: dict[str, threading.Barrier] = {}
        self._said: dict[str, dict[int, Any]] = {}

    def meet(self, name: str, rank: int, value: Any = None) -> list[Any]:
        """As a collective of the group ``name``: who comes alone waits, here for a second."""
        with self._lock:
            barrier = self._meetings.setdefault(name, threading.Barrier(RANKS))
        barrier.wait(1)
        self._said.setdefault(name, {})[rank] = value
        barrier.wait(1)
        return [self._said[name][each] for each in range(RANKS)]

    def each(self, program: Callable[[World, int], Any]) -> list[Any]:
        """What the program returns on each rank, or the name of what it raises."""

        def run(rank: int) -> Any:
            try:
                return program(self, rank)
            except (RanksDisagreeError, threading.BrokenBarrierError) as error:
                return type(error).__name__

        with ThreadPoolExecutor(RANKS) as pool:
            return list(pool.map(run, range(RANKS)))


HANG = ["BrokenBarrierError"] * RANKS
TOLD = ["RanksDisagreeError"] * RANKS


@pytest.mark.parametrize(("checked", "expected"), [(False, HANG), (True, TOLD)])
def test_groups_that_are_made_in_another_order(checked: bool, expected: list[str]) -> None:
    def program(world: World, rank: int) -> str:
        names = ["engine 0", "engine 1"] if rank == 0 else ["engine 1", "engine 0"]
        if checked:
            require_same("process groups", names, lambda value: world.meet("all", rank, value))
        for name in names:
            world.meet(name, rank)
        return "made"

    assert World().each(program) == expected


@pytest.mark.parametrize(("checked", "expected"), [(False, HANG), (True, TOLD)])
def test_weights_that_come_from_the_host_on_one_rank_and_from_the_device_on_another(
    checked: bool, expected: list[str]
) -> None:
    def program(world: World, rank: int) -> str:
        saver = FakeSaver()
        guard = OffloadGuard(saver)
        guard.add_tag("param_buffer", backup=False, restore=lambda: None)
        # Only one rank found a copy on the host and let go of the device.
        guard.pause(None if rank == 0 else "default")
        if checked:
            require_same_state(guard, lambda value: world.meet("all", rank, value))
        world.meet("broadcast of the host" if guard.states["param_buffer"].value == "paused" else "gather", rank)
        return "sent"

    assert World().each(program) == expected


@pytest.mark.parametrize(("checked", "expected"), [(False, [None, 7]), (True, [7, 7])])
def test_a_rank_reads_what_another_one_has_not_restored_yet(checked: bool, expected: list[Any]) -> None:
    """The question is a barrier: nobody goes on before everybody has restored."""
    memory: list[Any] = [None] * RANKS
    read = threading.Event()

    def program(world: World, rank: int) -> Any:
        saver = FakeSaver()
        guard = OffloadGuard(saver)
        with guard.region("param_buffer"):
            memory[rank] = saver.allocate(7)

        def restore() -> None:
            if rank == 1 and not checked:
                read.wait(10)
            memory[rank].write(7)

        guard.add_tag("param_buffer", backup=False, restore=restore)
        guard.pause()
        guard.resume(restore=False)
        world.meet("resumed", rank)
        guard.restore()
        if checked:
            require_same_state(guard, lambda value: world.meet("all", rank, value))
        value = memory[1].read()
        read.set()
        return value

    assert World().each(program) == expected


def test_what_differs_is_said_with_both_sides_and_the_place() -> None:
    guard = OffloadGuard(FakeSaver())
    guard.add_tag("param_buffer", backup=False, restore=lambda: None, contents="actor")
    here = guard.describe()
    other = {**here, "param_buffer": ("paused", "no backup", "paused 1 times", "contents None", "a restorer")}
    with pytest.raises(RanksDisagreeError) as caught:
        require_same_state(guard, lambda value: [value, value, other, {}])

    assert caught.value.values == (here, here, other, {})
    assert caught.value.message.startswith(f"require_same_state() at {__file__}:")
    assert caught.value.message.endswith(
        ": rank 0 says param_buffer: ('active', 'no backup', 'paused 0 times', 'contents None', 'a restorer');"
        " rank 2 says param_buffer: ('paused', 'no backup', 'paused 1 times', 'contents None', 'a restorer')"
        " (2 of 4 ranks differ from rank 0)"
    )
    with pytest.raises(RanksDisagreeError, match=r"groups at .*: rank 0 says \['a'\]; rank 1 says \['b'\]$"):
        require_same("groups", ["a"], lambda value: [value, ["b"]])
    with pytest.raises(RanksDisagreeError, match=r"groups at .*: rank 0 says \['a'\]; rank 2 says \['b'\]$"):
        require_same("groups", ["a"], lambda value: [value, value, ["b"]])


def test_a_tag_that_the_first_rank_does_not_have_is_named() -> None:
    guard = OffloadGuard(FakeSaver())
    more = {**guard.describe(), "adapter": ("active",)}
    with pytest.raises(RanksDisagreeError, match=r"rank 0 says adapter: None; rank 1 says adapter: \('active',\)$"):
        require_same_state(guard, lambda value: [value, more])


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"backup": True}, "nobody restores it"),
        ({"backup": False, "later": True}, "an update writes it"),
        ({"backup": False, "buffers": list}, "zeroed"),
        ({"backup": False, "restore": lambda: None}, "a restorer"),
    ],
)
def test_ranks_with_another_way_to_restore_are_not_alike(declared: dict[str, Any], words: str) -> None:
    guard = OffloadGuard(FakeSaver())
    guard.add_tag("grad_buffer", **declared)

    assert guard.describe()["grad_buffer"][4] == words


def test_ranks_that_agree_go_on() -> None:
    guard = OffloadGuard(FakeSaver())
    require_same_state(guard, lambda value: [value] * 8)
    require_same("groups", ["a"], lambda value: [value, ["a"]])


@pytest.mark.parametrize(("checked", "expected"), [(False, HANG), (True, TOLD)])
def test_restorers_that_are_declared_in_another_order(checked: bool, expected: list[str]) -> None:
    """Each of them gathers from all ranks, and they run in the order of declaration."""

    def program(world: World, rank: int) -> Any:
        guard = OffloadGuard(FakeSaver())
        for name in ("actor", "critic") if rank == 0 else ("critic", "actor"):
            guard.add_tag(name, backup=False, restore=partial(world.meet, name, rank))
        guard.pause()
        if checked:
            require_same_state(guard, lambda value: world.meet("all", rank, value))
        return guard.resume()

    assert World().each(program) == expected


def test_tags_that_nobody_restores_may_be_declared_in_another_order() -> None:
    def program(world: World, rank: int) -> Any:
        guard = OffloadGuard(FakeSaver())
        for name in ("one", "two") if rank == 0 else ("two", "one"):
            guard.add_tag(name, backup=True)
        require_same_state(guard, lambda value: world.meet("all", rank, value))
        return len(guard.states)

    assert World().each(program) == [3, 3]


@pytest.mark.parametrize(("gathered", "kind"), [(None, "NoneType"), ([], "list"), ("ab", "str")])
def test_a_gather_returns_what_each_rank_said(gathered: Any, kind: str) -> None:
    """torch's all_gather_object fills a list and returns nothing: handed on as it is, nothing would be compared."""
    asked: list[Callable[[Callable[[Any], Any]], None]] = [
        lambda gather: require_same("process groups", [1], gather),
        lambda gather: require_same_state(OffloadGuard(FakeSaver()), gather),
    ]
    for ask in asked:
        with pytest.raises(GuardUseError, match=f"gather returned an object of {kind}, not a list of what each rank"):
            ask(lambda _value: gathered)
