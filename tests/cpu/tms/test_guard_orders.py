"""Orders of calls of which a part could go unnoticed: what is refused changes nothing, what was done counts once."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext
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
)
from patchkit.tms import tags
from patchkit.tms.guard import OffloadGuard
from patchkit.tms.placement import Backup, Placement, Placements, Segment
from patchkit.tms.states import State

from .fake_saver import FakeSaver

ACTIVE, PAUSED, UNRESTORED = State.ACTIVE, State.PAUSED, State.UNRESTORED


@pytest.fixture
def saver() -> FakeSaver:
    return FakeSaver()


@pytest.fixture
def guard(saver: FakeSaver) -> OffloadGuard:
    return OffloadGuard(saver, tracked=saver.counted)


def add_weights(guard: OffloadGuard) -> None:
    guard.add_tag("weights", backup=False, restore=lambda: None)


# --- pause


def test_what_grew_before_a_pause_is_told_before_it(saver: FakeSaver, guard: OffloadGuard) -> None:
    guard.add_tag("weights", backup=True)
    guard.pause("default")
    saver.allocate(1)
    with pytest.raises(TrackedGrowthError):
        guard.pause("weights")

    assert guard.states == {"default": PAUSED, "weights": ACTIVE}


def test_what_grew_during_a_pause_is_told_after_it(saver: FakeSaver, guard: OffloadGuard) -> None:
    """Such as by a thread that goes around the guard."""
    plain = guard._plain["pause"]

    def pause(tag: str) -> None:
        plain(tag)
        if tag == "weights":
            saver.allocate(1)

    guard.add_tag("weights", backup=True)
    guard.pause("default")
    guard._plain["pause"] = pause
    with pytest.raises(TrackedGrowthError):
        guard.pause("weights")

    assert guard.states == {"default": PAUSED, "weights": PAUSED}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Of what torch holds nothing is more, of what is in use something.
        ({"default": (10, 5)}, {"default": (10, 6)}),
        # A count that tells tags apart and does not have one says that nothing is there.
        ({"weights": (3, 3)}, {"weights": (3, 3), "default": (1, 1)}),
    ],
)
def test_growth_is_that_of_any_figure_and_of_a_tag_that_had_nothing(
    saver: FakeSaver, before: dict[str | None, tuple[int, ...]], after: dict[str | None, tuple[int, ...]]
) -> None:
    counts = [before]
    guard = OffloadGuard(saver, tracked=lambda: counts[-1])
    guard.add_tag("weights", backup=True)
    guard.pause("default")
    counts.append(after)
    with pytest.raises(TrackedGrowthError, match="tag default: 1 bytes"):
        guard.check_growth()


def test_integers_are_poisoned_byte_by_byte(saver: FakeSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[tuple[str, int]] = []
    monkeypatch.setattr("patchkit.tms.imports.torch", lambda: SimpleNamespace(uint8="uint8"))
    tensor = SimpleNamespace(
        is_floating_point=lambda: False,
        view=lambda kind: SimpleNamespace(fill_=lambda value: filled.append((kind, value))),
    )
    guard = OffloadGuard(saver, poison=True)
    guard.add_tag("weights", backup=False, restore=lambda: None, buffers=lambda: [tensor])
    guard.pause()
    guard.resume()

    assert filled == [("uint8", 0xFF)]


def test_what_nobody_restored_can_be_paused_again(guard: OffloadGuard) -> None:
    add_weights(guard)
    guard.pause()
    guard.resume(restore=False)

    assert guard.pause() == ("default", "weights")
    assert guard.epoch("weights") == 2


def test_a_region_that_was_entered_without_the_guard_is_paused_with_the_rest(
    saver: FakeSaver, guard: OffloadGuard
) -> None:
    vars(saver)["_impl"] = SimpleNamespace(_mem_pools={("adapter", True): object(), "no key": object()})

    assert guard.pause() == ("default", "adapter")


@pytest.mark.parametrize(
    ("pools", "backed"),
    [
        ([("adapter", True)], True),
        ([("adapter", False), ("adapter", True)], False),
        ([("adapter", True), ("adapter", False)], False),
        # A backup on disk is one; what stands there in builds without it is the backend.
        ([("adapter", False, True)], True),
        ([("adapter", False, "cuda")], False),
    ],
)
def test_a_tag_of_which_one_region_has_no_backup_has_none(
    saver: FakeSaver, guard: OffloadGuard, pools: list[tuple[Any, ...]], *, backed: bool
) -> None:
    vars(saver)["_impl"] = SimpleNamespace(_mem_pools=dict.fromkeys(pools))
    saver.pause()

    assert guard.has_backup("adapter") is backed


def test_a_build_that_cannot_retain_is_asked_for_it_only_when_there_is_something_to_pause(saver: FakeSaver) -> None:
    guard = OffloadGuard(saver, retain_backups=True)
    saver.pause()

    assert guard.pause() == ()


def test_what_was_allocated_between_two_pauses_did_not_grow(saver: FakeSaver, guard: OffloadGuard) -> None:
    guard.pause()
    guard.resume()
    saver.allocate(1)

    assert (guard.pause(), guard.resume()) == (("default",), ("default",))


def test_gradients_with_a_backup_need_not_be_zeroed(
    saver: FakeSaver, guard: OffloadGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment = Segment(0, 1 << 20, 512, 9, Placement("grad_buffer", Backup.HOST))
    monkeypatch.setattr(tags, "placements_of", lambda _: Placements([segment]))
    guard.add_tag("grad_buffer", backup=True, buffers=list)

    assert guard.pause() == ("default", "grad_buffer")


def test_gradients_of_an_open_step_are_kept_where_they_have_a_backup(guard: OffloadGuard) -> None:
    guard.add_tag("grad_buffer", backup=True)
    guard.mark_gradients_dirty()
    assert guard.pause() == ("default", "grad_buffer")
    guard.resume()
    guard.add_tag("grad_buffer", backup=False, buffers=list)
    with pytest.raises(DirtyGradientsError):
        guard.pause()


# --- resume


def test_a_tag_whose_backup_is_read_in_place_is_not_resumed_nor_is_any_other(guard: OffloadGuard) -> None:
    class View:
        pass

    view = View()
    guard.add_tag("weights", backup=True)
    guard.pause()
    guard.views.add("weights", view, "reader.py:3")
    for _ in range(2):
        with pytest.raises(HeldError) as caught:
            guard.resume()
    assert (caught.value.tag, caught.value.earlier) == ("weights", "reader.py:3")
    assert guard.states == {"default": PAUSED, "weights": PAUSED}
    assert guard.resume("default") == ("default",)
    del view

    assert guard.resume() == ("weights",)


def test_after_it_was_marked_restored_nothing_keeps_a_guard(saver: FakeSaver) -> None:
    guard = OffloadGuard(saver)
    add_weights(guard)
    guard.pause()
    guard.resume(restore=False)
    guard.mark_restored("weights")
    gone = weakref.ref(guard)
    del guard
    gc.collect()

    assert gone() is None


# --- sections and regions


def test_a_step_needs_its_gradients_too(guard: OffloadGuard) -> None:
    guard.add_tag("grad_buffer", backup=False, buffers=list)
    with guard.step(), pytest.raises(HeldError, match="tag grad_buffer: it is needed until the end of: step"):
        guard.pause("grad_buffer", discard_gradients=True)
    guard.pause("grad_buffer")
    with pytest.raises(PausedError, match="tag grad_buffer"), guard.step():
        pass


def test_a_hold_ends_with_an_exception(guard: OffloadGuard) -> None:
    with pytest.raises(KeyError), guard.hold("process groups"):
        raise KeyError

    assert guard.pause() == ("default",)


class DiskSaver(FakeSaver):
    """As builds from 39093d6 on, which can keep backups on disk."""

    def region(self, tag: str = "default", enable_cpu_backup: bool = False, enable_disk_backup: bool = False) -> Any:
        return super().region(tag, enable_cpu_backup or enable_disk_backup)


def test_a_backup_on_disk_is_a_backup() -> None:
    guard = OffloadGuard(DiskSaver())
    for name, asked in (("on disk", {"enable_disk_backup": True}), ("none", {})):
        with guard.region(name, **asked):
            pass

    assert [guard.has_backup(name) for name in ("on disk", "none")] == [True, False]


@pytest.mark.parametrize(
    ("known", "asleep", "emptied"),
    [(None, False, True), (None, True, False), (False, True, False), (True, True, True)],
    ids=["awake", "a build that does not show it", "a build that cannot", "a build that can"],
)
def test_the_cache_is_emptied_where_nothing_is_released_twice(
    saver: FakeSaver, monkeypatch: pytest.MonkeyPatch, *, known: bool | None, asleep: bool, emptied: bool
) -> None:
    done: list[str] = []
    torch = SimpleNamespace(cuda=SimpleNamespace(empty_cache=lambda: done.append("emptied")))
    monkeypatch.setattr("patchkit.tms.imports.torch", lambda: torch)
    guard = OffloadGuard(saver, free_while_paused=known)
    if asleep:
        guard.pause()
    if emptied:
        guard.empty_cache()
    else:
        with pytest.raises(PausedError, match="may release paused memory a second time"):
            guard.empty_cache()

    assert done == ["emptied"] * emptied


def test_what_grew_is_told_when_the_cache_is_emptied(saver: FakeSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = SimpleNamespace(cuda=SimpleNamespace(empty_cache=lambda: None))
    monkeypatch.setattr("patchkit.tms.imports.torch", lambda: torch)
    guard = OffloadGuard(saver, tracked=saver.counted, free_while_paused=True)
    guard.pause()
    saver.allocate(1)
    with pytest.raises(TrackedGrowthError):
        guard.empty_cache()


def test_what_is_not_restored_is_not_declared_anew(guard: OffloadGuard) -> None:
    add_weights(guard)
    guard.pause()
    guard.resume(restore=False)
    with pytest.raises(OrderError, match="tag weights: it is resumed, not restored"):
        add_weights(guard)


def test_what_is_declared_anew_has_the_pauses_and_the_contents_that_it_had(guard: OffloadGuard) -> None:
    guard.add_tag("weights", backup=True)
    guard.pause()
    guard.resume()
    guard.mark_restored("weights", contents="ref")
    guard.add_tag("weights", backup=True)

    assert (guard.epoch("weights"), guard.contents("weights")) == (1, "ref")


def test_a_setting_that_the_build_does_not_know_is_told_at_the_first_pause(
    guard: OffloadGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMS_INIT_ENABLE_DISK_BACKUP", "1")
    with pytest.raises(CapabilityError, match="TMS_INIT_ENABLE_DISK_BACKUP is set"):
        guard.pause()

    assert guard.states == {"default": ACTIVE}


@pytest.mark.parametrize(("backup", "error"), [(True, OrderError), (False, None)])
def test_a_region_around_the_guard_may_only_give_up_a_backup_that_nobody_counts_on(
    saver: FakeSaver, guard: OffloadGuard, *, backup: bool, error: type[Exception] | None
) -> None:
    guard.add_tag("weights", backup=backup, restore=lambda: None)
    vars(saver)["_impl"] = SimpleNamespace(_mem_pools={("weights", False): object()})
    with pytest.raises(error, match="tag weights: it counts as backed up") if error else nullcontext():
        assert guard.pause() == ("default", "weights")


def test_gradients_that_a_restorer_writes_need_no_buffers(guard: OffloadGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = Segment(0, 1 << 20, 512, 9, Placement("grad_buffer", Backup.NONE))
    monkeypatch.setattr(tags, "placements_of", lambda _: Placements([segment]))
    guard.add_tag("grad_buffer", backup=False, restore=lambda: None, buffers=list)

    assert guard.pause() == ("default", "grad_buffer")


# --- calls around the guard


def test_what_was_lost_around_the_guard_and_has_no_restorer_is_told(saver: FakeSaver, guard: OffloadGuard) -> None:
    guard.add_tag("weights", backup=False)
    saver.pause()
    saver.resume()
    with pytest.raises(MissingRestorerError, match=r"^restore\(\) at .*: tag weights: it has no backup"):
        guard.restore()

    assert guard.states == {"default": ACTIVE, "weights": UNRESTORED}


def test_an_empty_name_is_every_tag_to_the_package(saver: FakeSaver, guard: OffloadGuard) -> None:
    guard.add_tag("weights", backup=True)
    any_saver: Any = saver
    any_saver.pause("")

    assert guard.states == {"default": PAUSED, "weights": PAUSED}


def test_tags_of_regions_around_the_guard_are_paused_with_the_rest(saver: FakeSaver, guard: OffloadGuard) -> None:
    vars(saver)["_impl"] = SimpleNamespace(_mem_pools={("adapter", True): object()})
    saver.pause()

    assert guard.states == {"default": PAUSED, "adapter": PAUSED}


def test_an_install_adds_no_function_that_the_package_does_not_have() -> None:
    class Small:
        """As 0.0.8, which cannot be disabled."""

        region = FakeSaver.region
        pause = resume = FakeSaver.pause

    saver: Any = Small()
    guard = OffloadGuard(saver)
    guard.install()

    assert (saver.pause, hasattr(saver, "disable")) == (guard.pause, False)


def test_an_uninstall_watches_again(saver: FakeSaver, guard: OffloadGuard) -> None:
    guard.install()
    guard.uninstall()
    saver.pause()

    assert guard.states == {"default": PAUSED}


def test_a_pause_of_what_is_paused_is_no_second_one(saver: FakeSaver, guard: OffloadGuard) -> None:
    saver.pause()
    saver.pause()

    assert guard.epoch("default") == 1


def test_a_resume_of_what_is_active_does_not_make_it_unrestored(saver: FakeSaver, guard: OffloadGuard) -> None:
    add_weights(guard)
    saver.resume()

    assert guard.states == {"default": ACTIVE, "weights": ACTIVE}


def test_what_is_allocated_after_a_pause_around_the_guard_has_grown(saver: FakeSaver, guard: OffloadGuard) -> None:
    saver.pause()
    saver.allocate(1)
    with pytest.raises(TrackedGrowthError):
        guard.resume()
