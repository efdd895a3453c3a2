"""The guard's rules, one by one, on a torch_memory_saver without memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from patchkit.errors import (
    CapabilityError,
    DirtyGradientsError,
    HeldError,
    MissingRestorerError,
    OrderError,
    PausedError,
    TrackedGrowthError,
    UnrestoredError,
)
from patchkit.tms.capabilities import Capabilities, check_environment, retain_backups
from patchkit.tms.guard import OffloadGuard
from patchkit.tms.states import State

from .fake_saver import Allocation, DiedError, FakeSaver

ACTIVE, PAUSED, UNRESTORED = State.ACTIVE, State.PAUSED, State.UNRESTORED


@dataclass
class Bench:
    """A guard with a tag of each kind, each with one allocation."""

    saver: FakeSaver = field(default_factory=FakeSaver)
    options: dict[str, Any] = field(default_factory=dict)
    restored: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.guard = OffloadGuard(self.saver, tracked=self.saver.counted, **self.options)
        self.default = self.saver.allocate(1)
        self.guard.add_tag("param_buffer", backup=False, restore=self.restore, buffers=lambda: [self.parameters])
        self.guard.add_tag("grad_buffer", backup=False, buffers=lambda: [self.gradients])
        with self.guard.region("param_buffer"):
            self.parameters = self.saver.allocate(2)
        with self.guard.region("grad_buffer"):
            self.gradients = self.saver.allocate(3)

    def restore(self) -> None:
        self.restored.append(f"parameters over {self.parameters.value}")
        self.parameters.write(2)

    @property
    def states(self) -> list[State]:
        return list(self.guard.states.values())


@pytest.fixture
def bench() -> Bench:
    return Bench()


def here(offset: int) -> str:
    """File and line of the caller, plus ``offset`` lines."""
    import sys

    return f"{Path(__file__)}:{sys._getframe(1).f_lineno + offset}"


def test_a_cycle_restores_parameters_and_zeroes_gradients(bench: Bench) -> None:
    assert bench.guard.pause() == ("default", "param_buffer", "grad_buffer")
    assert bench.states == [PAUSED] * 3
    assert bench.guard.resume() == ("default", "param_buffer", "grad_buffer")
    assert bench.states == [ACTIVE] * 3
    assert [each.read() for each in (bench.default, bench.parameters, bench.gradients)] == [1, 2, 0]
    assert bench.restored == ["parameters over None"]


def test_a_second_sleep_and_a_second_wake_change_nothing(bench: Bench) -> None:
    bench.guard.pause()

    assert bench.guard.pause() == ()
    assert bench.guard.pause("default") == ()
    bench.guard.resume()
    assert bench.guard.resume() == ()
    assert bench.guard.resume("param_buffer") == ()
    assert bench.restored == ["parameters over None"]


@pytest.mark.parametrize("calls", [("pause", "pause"), ("resume",), ("pause", "resume", "resume")])
def test_without_the_guard_they_end_the_process(calls: tuple[str, ...]) -> None:
    saver = Bench().saver
    for name in calls[:-1]:
        getattr(saver, name)()
    with pytest.raises(DiedError):
        getattr(saver, calls[-1])()


def test_strictly_a_second_pause_by_name_names_both_calls() -> None:
    guard = Bench(options={"strict": True}).guard
    first, second = here(1), here(3)
    guard.pause("default")
    with pytest.raises(OrderError) as caught:
        guard.pause("default")

    assert caught.value.message == f"pause() at {second} (earlier: {first}): tag default: it is paused already"
    assert (caught.value.tag, caught.value.here, caught.value.earlier) == ("default", second, first)
    assert guard.pause() == ("param_buffer", "grad_buffer")


def test_a_resume_without_a_tag_resumes_exactly_what_is_paused(bench: Bench) -> None:
    bench.guard.pause("grad_buffer")
    bench.guard.pause("default")

    assert bench.guard.resume() == ("default", "grad_buffer")
    assert bench.saver.calls[-2:] == [("resume", "default"), ("resume", "grad_buffer")]


@pytest.mark.parametrize("call", ["pause", "resume", "restore", "mark_restored", "epoch"])
def test_a_tag_that_nobody_declared_is_a_slip_of_the_pen(bench: Bench, call: str) -> None:
    with pytest.raises(OrderError, match="tag param_bufer: nobody declared it, known are default, param_buffer, grad"):
        getattr(bench.guard, call)("param_bufer")


def test_a_tag_without_backup_and_restorer_is_not_paused(bench: Bench) -> None:
    with bench.guard.region("adapter"):
        bench.saver.allocate(4)
    with pytest.raises(MissingRestorerError, match=r"tag adapter: it has no backup, .* it needs a restorer"):
        bench.guard.pause()

    assert bench.states == [ACTIVE] * 4
    assert bench.saver.calls == []


def test_gradients_need_buffers_or_a_restorer(bench: Bench) -> None:
    bench.guard.add_tag("grad_buffer", backup=False)
    with pytest.raises(MissingRestorerError, match="it needs buffers to zero, or a restorer"):
        bench.guard.pause("grad_buffer")


def test_what_is_not_restored_cannot_be_read(bench: Bench) -> None:
    bench.guard.pause()
    resumed = here(1)
    bench.guard.resume(restore=False)
    with pytest.raises(UnrestoredError) as caught, bench.guard.save():
        pass

    assert (caught.value.tag, caught.value.earlier) == ("param_buffer", resumed)
    assert bench.states == [ACTIVE, UNRESTORED, UNRESTORED]
    assert bench.guard.restore() == ("param_buffer", "grad_buffer")
    with bench.guard.save():
        assert bench.parameters.read() == 2


def test_restorers_run_in_the_order_of_declaration_and_stop_at_the_first_that_fails(bench: Bench) -> None:
    def fail() -> None:
        raise ValueError("no weights")

    bench.guard.add_tag("param_buffer", backup=False, restore=fail)
    bench.guard.pause()
    with pytest.raises(ValueError, match="no weights"):
        bench.guard.resume()

    assert bench.states == [ACTIVE, UNRESTORED, UNRESTORED]
    bench.guard.mark_restored("param_buffer")
    assert bench.guard.restore() == ("grad_buffer",)


def test_a_restorer_runs_after_every_pause_and_an_epoch_counts_them(bench: Bench) -> None:
    for _ in range(3):
        bench.guard.pause("param_buffer")
        bench.guard.resume("param_buffer")

    assert bench.restored == ["parameters over None"] * 3
    assert (bench.guard.epoch("param_buffer"), bench.guard.epoch("default")) == (3, 0)


def test_what_restores_may_not_pause(bench: Bench) -> None:
    bench.guard.add_tag("param_buffer", backup=False, restore=bench.guard.pause)
    bench.guard.pause()
    with pytest.raises(HeldError, match="needed until the end of: restoring"):
        bench.guard.resume()


def test_poison_is_in_the_buffers_until_they_are_restored() -> None:
    bench = Bench(options={"poison": True})
    bench.guard.pause()
    bench.guard.resume(restore=False)

    assert [each.read() for each in (bench.default, bench.parameters, bench.gradients)] == [1, -1, -1]
    bench.guard.restore()
    assert bench.restored == ["parameters over -1"]
    assert bench.gradients.read() == 0


@pytest.mark.parametrize("name", ["save", "export", "update"])
def test_a_section_needs_what_it_reads_and_keeps_it(bench: Bench, name: str) -> None:
    section: Callable[..., Any] = getattr(bench.guard, name)
    with section():
        opened = here(-1)
        with pytest.raises(HeldError) as caught:
            bench.guard.pause("param_buffer")
        assert (caught.value.earlier, caught.value.tag) == (opened, "param_buffer")
        # Gradients are not part of a checkpoint.
        assert bench.guard.pause("grad_buffer") == ("grad_buffer",)
    with section():
        pass
    bench.guard.pause()
    with pytest.raises(PausedError, match="tag default: it is paused"), section():
        pass
    with section(reads=()):
        assert bench.states == [PAUSED] * 3


def test_an_open_step_keeps_its_gradients(bench: Bench) -> None:
    with pytest.raises(ZeroDivisionError), bench.guard.step():
        raise ZeroDivisionError
    with pytest.raises(DirtyGradientsError, match="gradients of an open step would be lost"):
        bench.guard.pause()
    with bench.guard.step():
        pass
    bench.guard.pause()
    with pytest.raises(PausedError), bench.guard.step():
        pass


def test_gradients_between_the_parts_of_a_step_can_be_given_up_on_purpose(bench: Bench) -> None:
    marked = here(1)
    bench.guard.mark_gradients_dirty()
    assert bench.guard.pause("param_buffer") == ("param_buffer",)
    with pytest.raises(DirtyGradientsError) as caught:
        bench.guard.pause("grad_buffer")

    assert caught.value.earlier == marked
    assert bench.guard.pause("grad_buffer", discard_gradients=True) == ("grad_buffer",)
    bench.guard.resume()
    assert bench.guard.pause() == ("default", "param_buffer", "grad_buffer")


def test_process_groups_are_destroyed_before_a_pause(bench: Bench) -> None:
    taken = bench.guard.take_hold("process groups")
    with pytest.raises(HeldError, match="needed until the end of: process groups"):
        bench.guard.pause()
    bench.guard.release(taken)
    bench.guard.release(taken)

    assert len(bench.guard.pause()) == 3


def test_a_gather_in_the_gradient_buffer_keeps_only_that(bench: Bench) -> None:
    with bench.guard.hold("parameter gather", tags=["grad_buffer"]):
        assert bench.guard.pause("param_buffer") == ("param_buffer",)
        with pytest.raises(HeldError, match="parameter gather"):
            bench.guard.pause()


def test_tracked_memory_does_not_grow_while_paused(bench: Bench) -> None:
    bench.guard.pause("default")
    with bench.guard.disable():
        bench.saver.allocate()
    bench.guard.check_readable("param_buffer")
    bench.saver.allocate()
    with pytest.raises(TrackedGrowthError, match="tag default: 1 bytes were allocated under it while it was paused"):
        bench.guard.resume()
    with pytest.raises(DiedError):
        bench.saver.resume("default")


def test_what_was_freed_while_paused_does_not_hide_what_was_allocated(bench: Bench) -> None:
    bench.guard.pause("default")
    bench.saver.allocations.remove(bench.default)
    with bench.guard.update(reads=()):
        pass
    with pytest.raises(TrackedGrowthError), bench.guard.update(reads=()):
        bench.saver.allocate()


def test_other_tags_can_grow(bench: Bench) -> None:
    bench.guard.pause("default")
    with bench.guard.region("param_buffer"):
        bench.saver.allocate()

    assert bench.guard.resume() == ("default",)


def test_a_region_of_a_paused_tag_is_not_entered(bench: Bench) -> None:
    bench.guard.pause("param_buffer")
    with pytest.raises(PausedError, match="was never paused"), bench.guard.region("param_buffer"):
        pass


def test_a_region_may_not_give_up_a_declared_backup(bench: Bench) -> None:
    with pytest.raises(OrderError, match="tag default: it counts as backed up"), bench.guard.region("default"):
        pass
    with bench.guard.region("default", enable_cpu_backup=True):
        pass


def test_parameters_are_checked_one_by_one(bench: Bench) -> None:
    class Module:
        def named_parameters(self) -> list[tuple[str, Allocation]]:
            return [("one", bench.parameters), ("two", bench.parameters)]

    found = bench.guard.named_parameters(Module())

    assert next(found) == ("one", bench.parameters)
    bench.guard.pause("grad_buffer")
    assert next(found) == ("two", bench.parameters)
    bench.guard.pause("param_buffer")
    with pytest.raises(PausedError, match=r"^named_parameters\(\) at "):
        next(bench.guard.named_parameters(Module()))


def test_installed_it_stands_between_the_package_and_everybody(bench: Bench) -> None:
    bench.guard.install()
    bench.saver.pause()
    bench.saver.pause()
    with pytest.raises(PausedError), bench.saver.region("param_buffer", enable_cpu_backup=False):
        pass
    bench.saver.resume()
    bench.guard.uninstall()

    assert bench.states == [ACTIVE] * 3
    with pytest.raises(DiedError):
        bench.saver.resume()


def test_a_tag_is_not_declared_anew_while_it_is_paused(bench: Bench) -> None:
    bench.guard.pause("param_buffer")
    with pytest.raises(OrderError, match=r"add_tag\(\) at .*: tag param_buffer: it is paused"):
        bench.guard.add_tag("param_buffer", backup=True)


def test_without_a_restorer_a_resume_leaves_it_to_whoever_says_so(bench: Bench) -> None:
    bench.guard.pause("param_buffer")
    with pytest.raises(PausedError):
        bench.guard.mark_restored("param_buffer")
    bench.guard.resume(restore=False)
    bench.guard.mark_restored("param_buffer")

    assert (bench.states[1], bench.restored) == (ACTIVE, [])


def test_a_build_that_does_not_know_disk_backups_is_refused() -> None:
    old = Capabilities(
        backup=True,
        disk_backup=False,
        disable=True,
        nested_regions=False,
        free_while_paused=False,
        backup_pointer=False,
        pools_by_tag=False,
    )
    with pytest.raises(CapabilityError, match="does not know it: memory would be paused without any backup"):
        check_environment(old, {"TMS_INIT_ENABLE_DISK_BACKUP": "1"})
    check_environment(old, {"TMS_INIT_ENABLE_DISK_BACKUP": "0"})


def test_what_is_outside_regions_has_the_backup_that_the_process_was_started_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TMS_INIT_ENABLE", "1")
    monkeypatch.setenv("TMS_INIT_ENABLE_CPU_BACKUP", "0")
    with pytest.raises(MissingRestorerError, match="tag default"):
        OffloadGuard(FakeSaver()).pause()
    monkeypatch.setenv("TMS_INIT_ENABLE_CPU_BACKUP", "1")

    assert OffloadGuard(FakeSaver()).pause() == ("default",)


@dataclass
class RetainingLibrary:
    """The switch of 0.0.10, and what it was set to."""

    told: list[bool] = field(default_factory=list)

    def tms_set_retain_cpu_backup(self, value: Any) -> None:
        self.told.append(value.value)


def test_backups_are_retained_on_request_before_the_first_byte_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    library = RetainingLibrary()
    monkeypatch.setattr("patchkit.tms.capabilities.library_of", lambda _saver: library)
    asked, plain = Bench(options={"retain_backups": True}), Bench()
    plain.guard.pause()
    assert library.told == []
    asked.guard.pause()

    assert library.told == [True]


def test_a_build_that_cannot_retain_backups_refuses_before_the_first_byte_is_given_up() -> None:
    bench = Bench(options={"retain_backups": True})
    with pytest.raises(CapabilityError, match="cannot retain backups on the host"):
        bench.guard.pause()

    assert (bench.states, bench.saver.calls) == ([ACTIVE] * 3, [])


class OnePool:
    """As the package's object up to 5d48a5f, whose library keeps every copy until its memory is freed."""

    def __init__(self, *, pools: str = "_primary_mem_pool", symbols: tuple[str, ...] = ("tms_pause",)) -> None:
        library = SimpleNamespace(**dict.fromkeys(symbols))
        self._impl = SimpleNamespace(**{pools: {}, "_binary_wrapper": SimpleNamespace(cdll=library)})

    def region(self, tag: str = "default", enable_cpu_backup: bool = False) -> None:
        raise NotImplementedError


class WithoutBackups(OnePool):
    """As 0.0.8, which has no copies to keep."""

    def region(self, tag: str = "default", *_other: object) -> None:
        raise NotImplementedError


def test_a_build_that_keeps_its_copies_anyway_need_not_be_told() -> None:
    retain_backups(OnePool())


@pytest.mark.parametrize(
    "saver",
    [
        # 383bec3 keeps them and 9b8b788 does not; nothing tells them apart.
        OnePool(pools="_mem_pools"),
        # A fork that hands out pointers came after copies were freed at a resume.
        OnePool(symbols=("tms_pause", "tms_get_cpu_backup_pointer")),
        WithoutBackups(),
    ],
    ids=["pools by tag", "pointers to copies", "no copies"],
)
def test_a_build_that_is_not_known_to_keep_its_copies_is_refused(saver: OnePool) -> None:
    with pytest.raises(CapabilityError, match="cannot retain backups on the host, or does not show that it does"):
        retain_backups(saver)
