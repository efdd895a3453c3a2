"""Which answer cpu_backup gives, without memory; test_guarded.py has it with the real library."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from patchkit.errors import UnrestoredError
from patchkit.tms import backups
from patchkit.tms.backups import cpu_backup
from patchkit.tms.guard import OffloadGuard
from patchkit.tms.placement import Backup, Placement, Placements, Segment

from .fake_saver import FakeSaver

COPY = "a copy"


def answer(monkeypatch: pytest.MonkeyPatch, place: Placement | None, *, guard: OffloadGuard | None = None) -> Any:
    storage = SimpleNamespace(data_ptr=lambda: 0, nbytes=lambda: 8)
    detached = SimpleNamespace(to=lambda device, copy: COPY if (device, copy) == ("cpu", True) else None)
    tensor = SimpleNamespace(numel=lambda: 8, untyped_storage=lambda: storage, detach=lambda: detached)
    monkeypatch.setattr(backups, "placements_of", lambda _: Placements([Segment(0, 8, 8, 8, place)]))
    return cpu_backup(tensor, guard or OffloadGuard(FakeSaver()))


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (Placement("default", Backup.HOST), COPY),
        (Placement("default", Backup.DISK), None),
        (Placement("grad_buffer", Backup.NONE), None),
        (None, COPY),
    ],
)
def test_only_memory_with_a_backup_on_the_host_has_one(
    monkeypatch: pytest.MonkeyPatch, place: Placement | None, expected: object
) -> None:
    assert answer(monkeypatch, place) == expected


def test_what_nobody_restored_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = OffloadGuard(FakeSaver())
    guard.add_tag("weights", backup=False, restore=lambda: None)
    guard.pause()
    guard.resume(restore=False)
    with pytest.raises(UnrestoredError, match=r"cpu_backup\(\) at .*: tag weights"):
        answer(monkeypatch, Placement("weights", Backup.HOST), guard=guard)
