"""What people do to a guard who have not read about it: threads, forks, copies, odd names, calls around it."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import signal
import threading
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from patchkit import errors
from patchkit.errors import (
    ContentsError,
    DeviceMemoryError,
    DirtyGradientsError,
    GuardError,
    GuardUseError,
    HeldError,
    HostMemoryError,
    MissingRestorerError,
    OrderError,
    PausedError,
    TrackedGrowthError,
    UnrestoredError,
)
from patchkit.tms import host
from patchkit.tms.backups import cpu_backup
from patchkit.tms.guard import OffloadGuard
from patchkit.tms.host import available_bytes
from patchkit.tms.placement import Backup, Placement, Placements, Segment
from patchkit.tms.states import State, call_site

from .fake_saver import DiedError, FakeSaver

ACTIVE, PAUSED, UNRESTORED = State.ACTIVE, State.PAUSED, State.UNRESTORED


@pytest.fixture
def saver() -> FakeSaver:
    return FakeSaver()


@pytest.fixture
def guard(saver: FakeSaver) -> OffloadGuard:
    return OffloadGuard(saver, tracked=saver.counted)


def in_thread(call: Callable[[], Any]) -> Any:
    """What another thread gets from a call: what it returns, or what it raises; it may not hang."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except GuardError as error:
            found.append(type(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert found, "it hangs"
    return found[0]


# --- one guard, one process


def test_a_second_guard_is_refused_with_the_place_of_the_first(saver: FakeSaver) -> None:
    first = OffloadGuard(saver)
    made = f"{__file__}:{inspect.currentframe().f_lineno - 1}"  # type: ignore[union-attr]
    with pytest.raises(GuardUseError, match="has a guard already, made at ") as caught:
        OffloadGuard(saver)

    assert made in caught.value.message
    assert first.pause() == ("default",)


def test_a_guard_that_nobody_refers_to_makes_room_unless_memory_is_away(saver: FakeSaver) -> None:
    class Actor:
        def __init__(self) -> None:
            self.guard = OffloadGuard(saver)
            self.guard.add_tag("weights", backup=False, restore=self.restore)

        def restore(self) -> None:
            raise AssertionError

    Actor()
    again = OffloadGuard(saver)
    again.pause()
    del again
    gc.collect()
    with pytest.raises(GuardUseError):
        OffloadGuard(saver)


def test_a_guard_is_kept_until_everything_is_back(saver: FakeSaver) -> None:
    guard = OffloadGuard(saver, tracked=saver.counted)
    guard.add_tag("weights", backup=False, restore=lambda: None)
    guard.pause()
    guard.resume(restore=False)
    kept = weakref.ref(guard)
    del guard
    gc.collect()
    with pytest.raises(GuardUseError):
        OffloadGuard(saver)
    again = kept()
    assert again is not None
    again.restore()
    del again
    gc.collect()

    assert OffloadGuard(saver).states == {"default": ACTIVE}


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_guard_is_not_copied(guard: OffloadGuard, copied: Callable[[Any], Any]) -> None:
    with pytest.raises(GuardUseError, match=r"the guard made at .*test_guard_strangers.*cannot be pickled"):
        copied(guard)


@pytest.mark.parametrize(
    "call",
    [
        lambda guard: guard.pause(),
        lambda guard: guard.resume(),
        lambda guard: guard.restore(),
        lambda guard: guard.mark_restored("default"),
        lambda guard: guard.add_tag("more", backup=True),
        lambda guard: guard.check_growth(),
        lambda guard: guard.check_readable(),
        lambda guard: guard.take_hold("groups"),
        lambda guard: guard.disable(),
        lambda guard: guard.empty_cache(),
        lambda guard: guard.region("default", enable_cpu_backup=True).__enter__(),
        lambda guard: guard.save().__enter__(),
        lambda guard: guard.saver.pause(),
        lambda guard: cpu_backup(SimpleNamespace(numel=lambda: 1), guard),
    ],
)
def test_a_forked_process_is_told_so_even_when_the_lock_was_taken(
    saver: FakeSaver, guard: OffloadGuard, call: Callable[[OffloadGuard], Any]
) -> None:
    said = in_child(guard, lambda: call(guard))

    assert said.startswith("GuardUseError: ")
    assert f"this guard was made in process {os.getpid()}, at " in said
    assert guard.pause() == ("default",)


def test_a_forked_process_leaves_the_sections_of_its_parent_without_waiting(guard: OffloadGuard) -> None:
    held = guard.take_hold("process groups")
    assert in_child(guard, lambda: guard.release(held)) == "nothing was raised"
    with pytest.raises(HeldError):
        guard.pause()
    section = guard.save()
    section.__enter__()
    assert in_child(guard, lambda: section.__exit__(None, None, None)).startswith("GuardUseError: the end of save()")
    section.__exit__(None, None, None)


def in_child(guard: OffloadGuard, call: Callable[[], Any]) -> str:
    """What comes of a call in a process that is forked off while another thread has all locks of the guard."""
    reading, writing = os.pipe()
    taken, done = threading.Event(), threading.Event()

    def hold_the_lock() -> None:
        with guard._changing, guard._lock:
            taken.set()
            done.wait(10)

    thread = threading.Thread(target=hold_the_lock)
    thread.start()
    taken.wait(10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 advises against it, with reason.
        child = os.fork()
    if child == 0:
        signal.alarm(10)  # It ends a process that hangs.
        try:
            call()
            answer = "nothing was raised"
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, answer.encode())
        os._exit(0)
    done.set()
    thread.join()
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def test_a_forked_process_can_make_a_guard_of_its_own(saver: FakeSaver) -> None:
    parent = OffloadGuard(saver)
    parent.install()
    parent._claim.process = 1  # As in a child.
    child = OffloadGuard(saver)

    assert child.pause() == ("default",)
    assert saver.calls == [("pause", "default")]


ERRORS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.PatchkitError)]


def test_every_error_comes_out_of_another_process_as_it_was() -> None:
    """Ray and multiprocessing pickle what a worker raises."""
    made = {
        errors.PatchFormatError: errors.PatchFormatError("a.patch", 3, "short", hint="look"),
        errors.StoreError: errors.StoreError("a.yaml", "hunks[2]", "short"),
        errors.PlacementError: errors.PlacementError("elsewhere", ("a", "b")),
        errors.ArgumentRuleError: errors.ArgumentRuleError(("one", "two")),
        errors.RanksDisagreeError: errors.RanksDisagreeError("differ", (1, 2)),
    }
    order = {"tag": "t", "rule": "r", "here": "a:1", "earlier": "b:2", "hint": "h"}
    for kind in ERRORS:
        if issubclass(kind, OrderError):
            error: Any = kind("pause()", **order)
        else:
            error = made.get(kind) or kind("text", hint="h")
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own

        assert (type(again), str(again), vars(again)) == (kind, str(error), vars(error))


# --- names


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "two\nlines", None, 7])
def test_a_name_that_the_package_would_take_for_another_is_refused(guard: OffloadGuard, name: Any) -> None:
    rule = "the name of a tag is a text that is not empty and can be printed"
    with pytest.raises(OrderError, match=rule):
        guard.add_tag(name, backup=True)
    with pytest.raises(OrderError, match=rule), guard.region(name, enable_cpu_backup=True):
        pass
    assert list(guard.states) == ["default"]


@pytest.mark.parametrize("name", ["weights v2", "größe", "模型", "a/b:c", "%s{0}"])
def test_any_other_name_is_a_name(saver: FakeSaver, guard: OffloadGuard, name: str) -> None:
    with guard.region(name, enable_cpu_backup=True):
        saver.allocate(1)

    assert guard.pause(name) == (name,)
    with pytest.raises(PausedError, match="it is paused"), guard.save(reads=[name]):
        pass
    assert guard.resume() == (name,)


def test_a_restorer_that_would_never_run_is_refused(guard: OffloadGuard) -> None:
    with pytest.raises(OrderError, match=r"tag weights: an update writes it \(later=True\), so that its"):
        guard.add_tag("weights", backup=False, later=True, restore=lambda: None)

    assert guard.states == {"default": ACTIVE}


def test_a_hold_on_a_tag_that_nobody_declared_keeps_nothing_and_is_refused(guard: OffloadGuard) -> None:
    with pytest.raises(OrderError, match="tag grad_bufer: nobody declared it"):
        guard.take_hold("gather", tags=["grad_bufer"])


def test_a_region_that_this_build_does_not_have_leaves_no_tag(saver: FakeSaver) -> None:
    class Old(FakeSaver):
        def region(self, tag: str = "default") -> Any:  # type: ignore[override]
            return super().region(tag)

    guard = OffloadGuard(Old())
    with pytest.raises(errors.CapabilityError), guard.region("weights", enable_cpu_backup=True):
        pass
    assert list(guard.states) == ["default"]


# --- around the guard


def test_who_goes_around_the_guard_is_noticed(saver: FakeSaver, guard: OffloadGuard) -> None:
    guard.add_tag("weights", backup=False, restore=lambda: None, contents="actor")
    saver.pause()
    paused = f"{__file__}:{inspect.currentframe().f_lineno - 1}"  # type: ignore[union-attr]

    assert list(guard.states.values()) == [PAUSED, PAUSED]
    with pytest.raises(PausedError) as caught:
        guard.check_readable("default")
    assert caught.value.earlier == paused
    assert (guard.pause(), guard.epoch("weights")) == ((), 1)
    saver.resume("weights")
    assert list(guard.states.values()) == [PAUSED, UNRESTORED]
    assert (guard.resume(), guard.restore(), guard.contents("weights")) == (("default",), ("weights",), "actor")


def test_a_pause_around_the_guard_does_not_hide_what_grew_before(saver: FakeSaver, guard: OffloadGuard) -> None:
    guard.add_tag("weights", backup=True)
    guard.pause("default")
    saver.allocate(1)
    saver.pause("weights")
    with pytest.raises(TrackedGrowthError, match="tag default"):
        guard.resume()


def test_after_an_uninstall_it_is_noticed_too(saver: FakeSaver, guard: OffloadGuard) -> None:
    guard.install()
    guard.uninstall()
    saver.pause()

    assert guard.states == {"default": PAUSED}


def test_a_count_of_all_tags_together_says_nothing_while_one_of_them_may_grow(saver: FakeSaver) -> None:
    counted = {"all": 1}
    guard = OffloadGuard(saver, tracked=lambda: {None: (counted["all"],)})
    guard.add_tag("weights", backup=True)
    guard.pause("weights")
    counted["all"] = 2
    assert guard.resume() == ("weights",)
    guard.pause()
    counted["all"] = 3
    with pytest.raises(TrackedGrowthError):
        guard.resume()


def test_what_was_refused_by_the_package_changes_no_state(guard: OffloadGuard, saver: FakeSaver) -> None:
    saver.allocate(1)
    with pytest.raises(DiedError):
        saver.resume()

    assert guard.states == {"default": ACTIVE}


def test_without_its_guard_an_object_of_the_package_is_as_before(saver: FakeSaver) -> None:
    OffloadGuard(saver)
    gc.collect()
    saver.pause()
    saver.resume("default")

    assert saver.calls == [("pause", None), ("resume", "default")]


@pytest.mark.parametrize("around", [False, True], ids=["through the guard", "around it"])
def test_an_interrupt_during_a_pause_or_a_resume_comes_after_it(
    saver: FakeSaver, guard: OffloadGuard, monkeypatch: pytest.MonkeyPatch, *, around: bool
) -> None:
    """A call of the library takes seconds; a Ctrl-C in that time is raised as soon as it returns."""
    weights = saver.allocate(5)

    def interrupted(name: str) -> Callable[[str | None], None]:
        plain = getattr(FakeSaver, name)

        def call(tag: str | None = None) -> None:
            plain(saver, tag)
            raise KeyboardInterrupt

        return call

    for name in ("pause", "resume"):
        monkeypatch.setitem(guard._plain, name, interrupted(name))
        getattr(saver, name).plain = guard._plain[name]
    caller: Any = saver if around else guard
    with pytest.raises(KeyboardInterrupt):
        caller.pause()
    assert (guard.states, guard.pause()) == ({"default": PAUSED}, ())
    with pytest.raises(KeyboardInterrupt):
        caller.resume()
    assert (guard.states, guard.resume(), weights.read()) == ({"default": ACTIVE}, (), 5)


@pytest.mark.parametrize("name", ["pause", "resume"])
def test_what_the_package_refused_is_as_it_was(
    saver: FakeSaver, guard: OffloadGuard, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refuse(_tag: str) -> None:
        raise DiedError

    guard.add_tag("weights", backup=True)
    before = {"pause": ACTIVE, "resume": PAUSED}[name]
    if before is PAUSED:
        guard.pause()
    plain = guard._plain[name]
    monkeypatch.setitem(guard._plain, name, lambda tag: refuse(tag) if tag == "weights" else plain(tag))
    with pytest.raises(DiedError):
        getattr(guard, name)()
    after = {ACTIVE: PAUSED, PAUSED: ACTIVE}[before]
    assert guard.states == {"default": after, "weights": before}
    monkeypatch.undo()
    assert getattr(guard, name)() == ("weights",)


# --- threads


def test_a_region_keeps_its_tag_from_other_threads(saver: FakeSaver, guard: OffloadGuard) -> None:
    with guard.region("weights", enable_cpu_backup=True):
        assert in_thread(guard.pause) is HeldError
        assert in_thread(lambda: guard.pause("default")) == ("default",)
    assert in_thread(guard.pause) == ("weights",)


def test_in_its_own_thread_a_region_can_be_left_paused_and_what_is_allocated_then_is_found(
    saver: FakeSaver, guard: OffloadGuard
) -> None:
    with guard.region("weights", enable_cpu_backup=True):
        saver.allocate(1)
        assert guard.pause("weights") == ("weights",)
        saver.allocate(2)
    with pytest.raises(TrackedGrowthError, match="tag weights"):
        guard.resume()


def test_a_region_that_fails_lets_go_of_its_tag(guard: OffloadGuard) -> None:
    with pytest.raises(KeyError), guard.region("weights", enable_cpu_backup=True):
        raise KeyError

    assert in_thread(guard.pause) == ("default", "weights")


def test_a_restorer_may_work_with_threads_that_allocate_and_ask(saver: FakeSaver, guard: OffloadGuard) -> None:
    def load() -> object:
        with guard.region("staging", enable_cpu_backup=True), guard.disable():
            guard.check_readable("default")
        return guard.epoch("weights")

    found = []
    guard.add_tag("weights", backup=False, restore=lambda: found.append(in_thread(load)))
    guard.pause()
    assert guard.resume() == ("default", "weights")
    assert found == [1]


def test_what_changes_states_waits_for_restorers_and_each_runs_once(guard: OffloadGuard) -> None:
    started, go_on, runs = threading.Event(), threading.Event(), []

    def restore() -> None:
        runs.append(1)
        started.set()
        go_on.wait(10)

    guard.add_tag("weights", backup=False, restore=restore)
    guard.pause()
    found: dict[str, Any] = {}
    first = threading.Thread(target=lambda: found.update(first=guard.resume()))
    first.start()
    started.wait(10)
    others = [
        threading.Thread(target=lambda: found.update(restore=guard.restore())),
        threading.Thread(target=lambda: found.update(resume=guard.resume())),
    ]
    for thread in others:
        thread.start()
    with pytest.raises(UnrestoredError), guard.save():
        pass
    go_on.set()
    for thread in (first, *others):
        thread.join(10)

    assert found == {"first": ("default", "weights"), "restore": (), "resume": ()}
    assert runs == [1]


def test_between_the_check_of_a_section_and_its_hold_nobody_pauses(
    guard: OffloadGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(in_thread(guard.pause)), daemon=True)
    plain = guard.take_hold

    def take_hold(what: str, **options: Any) -> Any:
        waiting.start()
        waiting.join(0.3)
        assert found == []
        return plain(what, **options)

    monkeypatch.setattr(guard, "take_hold", take_hold)
    with guard.save():
        waiting.join(10)
    assert found == [HeldError]


# --- restorers, sections, steps


def test_a_restorer_that_restores_is_told_so_and_does_not_go_round(guard: OffloadGuard) -> None:
    guard.add_tag("weights", backup=False, restore=guard.restore)
    guard.pause()
    with pytest.raises(OrderError, match=r"restore\(\) at .*: tag weights: its restorer is running"):
        guard.resume()

    assert guard.states == {"default": ACTIVE, "weights": UNRESTORED}


def test_a_restorer_may_wake_again_and_save_what_has_a_backup(guard: OffloadGuard) -> None:
    seen: list[Any] = []

    def restore() -> None:
        seen.append(guard.resume())
        with guard.save(reads=["default"]):
            seen.append("saved")
        with pytest.raises(UnrestoredError), guard.save():
            pass

    guard.add_tag("weights", backup=False, restore=restore)
    guard.pause()
    guard.resume()

    assert seen == [(), "saved"]
    assert guard.pause() == ("default", "weights")


def test_sections_inside_of_sections_and_exceptions_leave_nothing_held(guard: OffloadGuard) -> None:
    with pytest.raises(KeyError), guard.save(), guard.export(), guard.update(reads=()):
        raise KeyError
    assert guard.pause() == ("default",)
    guard.resume()
    with guard.save():
        with guard.save():
            pass
        with pytest.raises(HeldError, match="needed until the end of: save"):
            guard.pause()
    assert guard.pause() == ("default",)


def test_a_step_that_fails_after_a_step_inside_of_it_leaves_gradients_dirty(guard: OffloadGuard) -> None:
    guard.add_tag("grad_buffer", backup=False, buffers=list)

    def fail() -> None:
        with guard.step():
            with guard.step():
                pass
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with pytest.raises(DirtyGradientsError):
        guard.pause()


def test_disable_is_for_allocations_while_asleep_also_after_an_exception(saver: FakeSaver, guard: OffloadGuard) -> None:
    guard.pause()
    with pytest.raises(ZeroDivisionError), guard.disable():
        saver.allocate(1 // 0)
    with guard.disable():
        saver.allocate(1)
    assert guard.resume() == ("default",)
    guard.pause()
    saver.allocate(1)  # Tracked again.
    with pytest.raises(TrackedGrowthError):
        guard.resume()


def test_buffers_that_are_gone_are_left_out(saver: FakeSaver, guard: OffloadGuard) -> None:
    """Without the distributed optimizer param_data is None; a weak reference answers None too."""
    with guard.region("grad_buffer"):
        there = saver.allocate(4)
    guard.add_tag("grad_buffer", backup=False, buffers=lambda: [None, there])
    guard.pause()
    guard.resume()

    assert there.read() == 0


def test_a_call_site_is_not_in_this_package_and_may_be_beside_it() -> None:
    beside = str(Path(errors.__file__).parent / "tms_of_somebody" / "train.py")
    inside = str(Path(errors.__file__).parent / "tms" / "guard.py")
    found: dict[str, Any] = {"call_site": call_site}
    for file in (beside, inside):
        exec(compile("def ask(): return call_site()", file, "exec"), found)  # noqa: S102 - a file of that name
        found[file] = found["ask"]()

    assert found[beside] == f"{beside}:1"
    assert found[inside].startswith(f"{__file__}:")


# --- contents


def test_contents_have_a_name_until_a_pause_loses_them(guard: OffloadGuard) -> None:
    guard.add_tag("weights", backup=False, restore=lambda: None, contents="actor")
    assert guard.contents("weights") is None
    guard.mark_restored("weights", contents="ref")
    with pytest.raises(ContentsError) as caught, guard.save(contents={"weights": "actor"}):
        pass
    assert caught.value.rule == "it holds ref, and actor is asked for"
    assert caught.value.hint == "write actor into it, and mark_restored('weights', contents='actor')"
    guard.pause()
    assert guard.contents("weights") is None
    with pytest.raises(PausedError), guard.update(reads=(), contents={"weights": "actor"}):
        pass
    guard.resume(restore=False)
    with pytest.raises(UnrestoredError), guard.export(reads=(), contents={"weights": "actor"}):
        pass
    guard.restore()
    for section in (guard.save, guard.export, guard.update, guard.step):
        with section(contents={"weights": "actor"}), pytest.raises(HeldError):
            guard.pause("weights")


def test_memory_with_a_backup_keeps_the_name_of_its_contents(guard: OffloadGuard) -> None:
    guard.mark_restored("default", contents="optimizer")
    guard.pause()
    guard.resume()

    assert guard.contents("default") == "optimizer"


def test_what_comes_with_an_update_is_unrestored_until_then(guard: OffloadGuard) -> None:
    guard.add_tag("weights", backup=False, later=True)
    guard.pause()
    assert guard.resume() == ("default", "weights")
    assert (guard.restore(), guard.states["weights"]) == ((), UNRESTORED)
    with pytest.raises(UnrestoredError) as caught, guard.section("generate"):
        pass
    assert caught.value.hint == "mark_restored() after the update that writes them"
    guard.mark_restored("weights")
    guard.check_readable()


# --- room on the host


def placements(*segments: tuple[str, Backup, int]) -> Placements:
    return Placements(
        Segment(at << 20, size, size, size, Placement(tag, backup)) for at, (tag, backup, size) in enumerate(segments)
    )


def test_a_pause_whose_backups_do_not_fit_is_refused_before_the_first_byte(
    saver: FakeSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = placements(("default", Backup.HOST, 60), ("default", Backup.DISK, 999), ("weights", Backup.HOST, 41))
    monkeypatch.setattr(host, "placements_of", lambda _: found)
    room = [100]
    guard = OffloadGuard(saver, tracked=saver.counted, host_memory=lambda: room[0])
    guard.add_tag("weights", backup=True)
    with pytest.raises(HostMemoryError) as caught:
        guard.pause()

    assert (caught.value.tag, saver.calls) == ("default", [])
    assert "its 60 bytes, of 101 to be copied to the host, do not fit into the 100 that the host" in caught.value.rule
    assert guard.pause("weights") == ("weights",)
    guard.resume()
    room[0] = 101
    assert guard.pause() == ("default", "weights")
    guard.resume()
    # Of what was resumed before that, no copy is there.
    vars(saver)["retain_cpu_backup"] = True
    room[0] = 100
    with pytest.raises(HostMemoryError, match="of 101 to be copied"):
        guard.pause()
    room[0] = 101
    assert guard.pause() == ("default", "weights")
    guard.resume()
    # Copies that were kept are there already.
    room[0] = 0
    assert guard.pause() == ("default", "weights")
    guard.resume()
    # Not of what was allocated since, nor of memory that was freed.
    monkeypatch.setattr(
        host,
        "placements_of",
        lambda _: placements(("default", Backup.HOST, 60), ("weights", Backup.HOST, 41), ("weights", Backup.HOST, 7)),
    )
    room[0] = 47
    with pytest.raises(HostMemoryError, match="its 48 bytes, of 48 to be copied"):
        guard.pause()
    # Whoever stops retaining gives the copies back at the next resume.
    room[0] = 48
    guard.pause()
    vars(saver)["retain_cpu_backup"] = False
    guard.resume()
    with pytest.raises(HostMemoryError, match="of 108 to be copied"):
        guard.pause()


def test_a_resume_that_does_not_fit_into_the_device_is_refused_before_the_first_byte(
    saver: FakeSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = placements(("default", Backup.HOST, 60), ("default", Backup.NONE, 10), ("weights", Backup.HOST, 31))
    monkeypatch.setattr(host, "placements_of", lambda _: found)
    room = [100]
    guard = OffloadGuard(saver, tracked=saver.counted, device_memory=lambda: room[0])
    guard.add_tag("weights", backup=True)
    guard.pause()
    with pytest.raises(DeviceMemoryError) as caught:
        guard.resume()

    assert caught.value.tag == "default"
    assert "its 70 bytes, of 101 to be mapped again, do not fit into the 100 that the device" in caught.value.rule
    assert guard.states == {"default": PAUSED, "weights": PAUSED}
    assert guard.resume("weights") == ("weights",)
    assert guard.resume() == ("default",)
    guard.pause()
    room[0] = 101
    assert guard.resume() == ("default", "weights")


def test_before_the_first_pause_nothing_is_kept_yet(saver: FakeSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "placements_of", lambda _: placements(("default", Backup.HOST, 60)))
    vars(saver)["retain_cpu_backup"] = True
    with pytest.raises(HostMemoryError):
        OffloadGuard(saver, host_memory=lambda: 59).pause()


def test_without_a_pool_for_each_tag_room_is_not_known(saver: FakeSaver) -> None:
    assert OffloadGuard(saver, host_memory=lambda: 0).pause() == ("default",)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 8 << 10),
        ({"proc/self/cgroup": "0::/a/b\n", "groups/a/memory.max": "7000\n", "groups/a/memory.current": "3000\n"}, 4000),
        (
            {
                "proc/self/cgroup": "0::/a\n",
                "groups/a/memory.max": "7000",
                "groups/a/memory.current": "6900",
                "groups/a/memory.stat": "anon 5\ninactive_file 400\n",
                "groups/memory.max": "max",
                "groups/memory.current": "6",
            },
            500,
        ),
        ({"proc/self/cgroup": "0::/a\n", "groups/a/memory.max": "max\n", "groups/a/memory.current": "1\n"}, 8 << 10),
        (
            {
                "proc/self/cgroup": "5:cpu:/x\n4:memory:/x\n",
                "groups/memory/memory.limit_in_bytes": "9000",
                "groups/memory/memory.usage_in_bytes": "8000",
                "groups/memory/memory.stat": "total_inactive_file 7\n",
            },
            1007,
        ),
        (
            {
                "proc/self/cgroup": "4:memory:/\n",
                "groups/memory/memory.limit_in_bytes": str((1 << 63) - 4096),
                "groups/memory/memory.usage_in_bytes": "8000",
            },
            8 << 10,
        ),
        ({"proc/self/cgroup": "0::/\n", "groups/memory.max": "5", "groups/memory.current": "9"}, 0),
    ],
)
def test_what_the_host_has_left_is_the_least_of_kernel_and_container(
    tmp_path: Path, files: dict[str, str], expected: int
) -> None:
    for name, text in {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:  8 kB\n", **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert available_bytes(tmp_path / "proc", tmp_path / "groups") == expected


def test_a_kernel_that_does_not_say_what_is_left_is_told(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\n")
    with pytest.raises(OSError, match="meminfo has no line MemAvailable"):
        available_bytes(tmp_path, tmp_path)


def test_this_host_has_memory_left() -> None:
    assert available_bytes() > 0


# --- buffers that nobody named


@pytest.mark.parametrize(
    ("requested", "error"), [(8, None), (9, MissingRestorerError), (None, None)], ids=["all", "more", "unknown"]
)
def test_gradients_in_buffers_that_nobody_named_are_not_lost(
    saver: FakeSaver, monkeypatch: pytest.MonkeyPatch, requested: int | None, error: type[Exception] | None
) -> None:
    from patchkit.tms import tags

    tensor = SimpleNamespace(data_ptr=lambda: 64, numel=lambda: 4, element_size=lambda: 2, zero_=lambda: None)
    view = SimpleNamespace(data_ptr=lambda: 64, numel=lambda: 2, element_size=lambda: 2, zero_=lambda: None)
    segment = Segment(0, 1 << 20, 512, requested, Placement("grad_buffer", Backup.NONE))
    monkeypatch.setattr(tags, "placements_of", lambda _: Placements([segment]))
    guard = OffloadGuard(saver, tracked=saver.counted)
    guard.add_tag("grad_buffer", backup=False, buffers=lambda: [tensor, view, None])
    if error is None:
        assert guard.pause() == ("default", "grad_buffer")
        return
    with pytest.raises(error, match="tag grad_buffer: 1 bytes of it are in none of its buffers"):
        guard.pause()
    assert saver.calls == []


def test_a_cycle_looks_at_memory_twice_and_a_step_never(saver: FakeSaver) -> None:
    """C18: a probe of memory that was itself slow in each cycle."""
    looks: list[int] = []

    def counted() -> Any:
        looks.append(1)
        return saver.counted()

    guard = OffloadGuard(saver, tracked=counted)
    with guard.step():
        guard.check_readable("default")
    with guard.save():
        pass
    assert len(looks) == 0
    guard.pause()
    guard.resume()
    assert len(looks) == 2
    guard.pause()
    with guard.update(reads=()):
        pass
    guard.resume()
    assert len(looks) == 6
