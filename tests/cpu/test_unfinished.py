"""What is built beside its place: left by a kill, it goes with the next; in use, it stays."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest
from trees.faults import in_child, kill_self, killed_at
from trees.snapshots import lay

from patchkit.folders import remove
from patchkit.unfinished import remove_folder, sweep, unfinished


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def kill_self_instead(_folder: Path, *, last: str) -> None:
    kill_self()


def killed_while_building(place: Path, *, folder: bool) -> None:
    def work() -> None:
        with unfinished(place, folder=folder) as building:
            (building / "inside" if folder else building).write_bytes(b"half")
            kill_self()

    assert os.WIFSIGNALED(in_child(work))


@pytest.mark.parametrize("folder", [False, True])
def test_what_a_killed_process_left_goes_when_the_next_one_builds_for_the_same_place(
    tmp_path: Path, folder: bool
) -> None:
    killed_while_building(tmp_path / "place", folder=folder)
    killed_while_building(tmp_path / "other", folder=folder)
    assert len(names(tmp_path)) == 2

    with unfinished(tmp_path / "place", folder=folder) as building:
        (building / "inside" if folder else building).write_bytes(b"whole")
        building.rename(tmp_path / "place")
    left = [name for name in names(tmp_path) if name != "place"]
    assert (len(left), left[0].startswith(".other.patchkit-")) == (1, True)


@pytest.mark.parametrize("folder", [False, True])
def test_what_another_process_is_building_stays(tmp_path: Path, folder: bool) -> None:
    with unfinished(tmp_path / "place", folder=folder) as building:
        assert in_child(lambda: sweep(tmp_path / "place")) == 0
        assert names(tmp_path) == [building.name]

    assert names(tmp_path) == []


def test_a_link_with_such_a_name_and_what_it_leads_to_stay(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "letter").write_bytes(b"dear\n")
    (tmp_path / ".place.patchkit-0123abcd").symlink_to(tmp_path / "theirs")
    sweep(tmp_path / "place")

    assert names(tmp_path) == [".place.patchkit-0123abcd", "theirs"]
    assert names(tmp_path / "theirs") == ["letter"]


def test_files_that_are_only_named_in_that_way_stay(tmp_path: Path) -> None:
    theirs = [".place.patchkit-", ".place.patchkit-0123abcd.txt", ".place.patchkit-0123abcg", ".place.patchkit-notes"]
    for name in theirs:
        (tmp_path / name).write_bytes(b"mine\n")
    sweep(tmp_path / "place")

    assert names(tmp_path) == theirs


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with unfinished(tmp_path / "place") as building:
            building.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert names(tmp_path) == []


def test_a_folder_goes_in_one_step_and_what_a_kill_leaves_of_it_with_the_next_sweep(tmp_path: Path) -> None:
    (tmp_path / "place" / "inside").mkdir(parents=True)

    def work() -> None:
        with mock.patch("patchkit.unfinished.remove", side_effect=kill_self_instead):
            remove_folder(tmp_path / "place", last="whose")

    assert os.WIFSIGNALED(in_child(work))
    left = names(tmp_path)
    assert (len(left), left[0].startswith(".place.patchkit-")) == (1, True)

    sweep(tmp_path / "place")
    assert names(tmp_path) == []


def test_killed_at_any_point_what_is_left_of_a_folder_says_whose_it_is_or_is_empty(tmp_path: Path) -> None:
    at, alive = 0, True
    while alive:
        at += 1
        lay(tmp_path / "place", {"whose": b"mine", "a": b"a", "x/b": b"b", "x/y/c": b"c", "z/whose": b"z"})
        alive = killed_at(at, lambda: remove_folder(tmp_path / "place", last="whose"))
        for left in tmp_path.iterdir():
            assert names(left) == [] or (left / "whose").read_bytes() == b"mine"
            remove(left)
    assert at > 8
