from __future__ import annotations

from pathlib import Path

import pytest
from trees.faults import full_disk, killed_at, tripped
from trees.snapshots import contents, lay

from patchkit.errors import WriteFailedError
from patchkit.store.pending import drop, finish, is_pending, write_all

OLD = {"a": b"old a", "b": b"old b", "c": b"old c"}
NEW = {"a": b"new a", "d/e": b"new e"}
WRITTEN = {"a": b"new a", "b": b"old b", "d/e": b"new e"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lay(tmp_path / "folder", OLD)


def write(folder: Path) -> None:
    write_all(folder.parent / "pending", {folder / name: text for name, text in NEW.items()}, [folder / "c"])


def test_everything_is_written_and_nothing_is_kept(folder: Path) -> None:
    write(folder)

    assert contents(folder) == WRITTEN
    assert [path.name for path in folder.parent.iterdir()] == ["folder"]


def test_killed_at_any_point_it_can_be_finished_or_dropped(folder: Path) -> None:
    at = 0
    while True:
        at += 1
        lay(folder, OLD)
        (folder / "d" / "e").unlink(missing_ok=True)
        if not killed_at(at, lambda: write(folder)):
            break
        place = folder.parent / "pending"
        if is_pending(place):
            now = {path: text for path, text in contents(folder).items() if "/." not in f"/{path}"}
            if now == OLD and at % 2:
                assert drop(place)
                assert contents(folder) == OLD
            else:
                assert drop(place) == (now == OLD)
                if now != OLD:
                    finish(place)
                    assert contents(folder) == WRITTEN
        else:
            assert contents(folder) in (OLD, WRITTEN)
        assert not is_pending(place)
    assert at > 10


def test_a_write_that_fails_before_it_began_keeps_nothing(folder: Path) -> None:
    at = 0
    failed = True
    while failed:
        at += 1
        lay(folder, OLD)
        (folder / "d" / "e").unlink(missing_ok=True)
        failed = False
        with tripped(at.__eq__, full_disk):
            try:
                write(folder)
            except WriteFailedError:
                failed = True
        place = folder.parent / "pending"
        if is_pending(place):
            finish(place)
            assert contents(folder) == WRITTEN
        else:
            assert contents(folder) in (OLD, WRITTEN)
