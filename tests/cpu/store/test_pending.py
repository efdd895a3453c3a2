from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from trees.faults import full_disk, killed_at, tripped
from trees.snapshots import contents, lay

from patchkit.errors import TreeBusyError, WriteFailedError
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


@pytest.mark.parametrize("ask", [is_pending, finish, drop])
def test_what_another_process_is_writing_was_not_cut_short(folder: Path, ask: Callable[[Path], object]) -> None:
    place = folder.parent / "pending"
    place.mkdir()
    descriptor = os.open(folder.parent, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    asked: list[tuple[Callable[[Path], object], Path]] = [(ask, place), (write, folder)]
    for work, path in asked:
        with pytest.raises(TreeBusyError) as caught:
            work(path)
        expected = f"another patchkit process is writing to {folder.parents[1]}"
        assert (caught.value.message, caught.value.hint) == (expected, "wait until it has ended, then run this again")
    assert contents(folder) == OLD
    os.close(descriptor)

    assert is_pending(place)


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
