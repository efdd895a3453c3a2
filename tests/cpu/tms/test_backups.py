"""Which answer cpu_backup gives, without memory; test_guarded.py has it with the real library."""

from __future__ import annotations

import ctypes
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from patchkit.errors import CapabilityError, UnrestoredError
from patchkit.tms import backups, capabilities
from patchkit.tms.backups import backup_block, cpu_backup
from patchkit.tms.guard import OffloadGuard
from patchkit.tms.placement import Backup, Placement, Placements, Segment
from patchkit.tms.states import State

from .fake_saver import FakeSaver

COPY = "a copy"


def answer(
    monkeypatch: pytest.MonkeyPatch,
    place: Placement | None,
    *,
    guard: OffloadGuard | None = None,
    elements: int = 8,
    pools: bool = True,
    tag: str | None = None,
) -> Any:
    storage = SimpleNamespace(data_ptr=lambda: 0, nbytes=lambda: 8)
    detached = SimpleNamespace(to=lambda device, copy: COPY if (device, copy) == ("cpu", True) else None)
    tensor = SimpleNamespace(numel=lambda: elements, untyped_storage=lambda: storage, detach=lambda: detached)
    known = Placements([Segment(0, 8, 8, 8, place)]) if pools else None
    monkeypatch.setattr(backups, "placements_of", lambda _: known)
    return cpu_backup(tensor, guard or OffloadGuard(FakeSaver()), tag=tag)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (Placement("default", Backup.HOST), COPY),
        (Placement("default", Backup.DISK), None),
        (Placement("grad_buffer", Backup.NONE), None),
        (None, COPY),
        # Of a region that was entered without the guard, which has not been paused then.
        (Placement("weights", Backup.HOST), COPY),
    ],
)
def test_only_memory_with_a_backup_on_the_host_has_one(
    monkeypatch: pytest.MonkeyPatch, place: Placement | None, expected: object
) -> None:
    assert answer(monkeypatch, place) == expected


def test_a_tensor_without_elements_is_copied_whatever_its_memory_is(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = OffloadGuard(FakeSaver())
    guard.pause()

    for place in (Placement("default", Backup.HOST), Placement("grad_buffer", Backup.NONE)):
        assert answer(monkeypatch, place, guard=guard, elements=0) == COPY


def test_where_no_pool_says_it_the_tag_does_and_what_it_was_declared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = OffloadGuard(FakeSaver())
    guard.add_tag("weights", backup=False, restore=lambda: None)
    guard.add_tag("optimizer", backup=True)
    found = [answer(monkeypatch, None, guard=guard, tag=tag, pools=False) for tag in (None, "optimizer", "weights")]

    assert found == [COPY, COPY, None]


def test_what_nobody_restored_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = OffloadGuard(FakeSaver())
    guard.add_tag("weights", backup=False, restore=lambda: None)
    guard.pause()
    guard.resume(restore=False)
    with pytest.raises(UnrestoredError, match=r"cpu_backup\(\) at .*: tag weights"):
        answer(monkeypatch, Placement("weights", Backup.HOST), guard=guard)


def test_a_build_that_finds_no_backup_is_told_by_the_place_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    saver = FakeSaver()
    library = SimpleNamespace(tms_get_cpu_backup_pointer=lambda _address, _size: ctypes.POINTER(ctypes.c_uint8)())
    monkeypatch.setattr(capabilities, "library_of", lambda _saver: library)
    monkeypatch.setattr(backups, "library_of", lambda _saver: library)
    with pytest.raises(CapabilityError, match=r"^cpu_backup\(\) at there: tag default: .* has no backup of it$"):
        backup_block(1 << 12, 8, OffloadGuard(saver), tag="default", site="there")


def test_nobody_pauses_or_resumes_while_it_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    guard, seen = OffloadGuard(FakeSaver()), list[Any]()
    other = threading.Thread(target=lambda: seen.append(guard.pause()), daemon=True)

    def placements(_saver: object) -> Placements:
        other.start()
        other.join(0.3)
        seen.append("asked")
        return Placements([])

    tensor = SimpleNamespace(
        numel=lambda: 8,
        untyped_storage=lambda: SimpleNamespace(data_ptr=lambda: 0, nbytes=lambda: 8),
        detach=lambda: SimpleNamespace(to=lambda *_words, **_more: seen.append(guard.states["default"])),
    )
    monkeypatch.setattr(backups, "placements_of", placements)
    cpu_backup(tensor, guard)
    other.join(10)

    assert seen == ["asked", State.ACTIVE, ("default",)]
