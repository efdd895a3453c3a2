"""A write that was cut short: what is said about it, and what undoes it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from operations import made_up as fake
from operations.made_up import PATCHED, TOUCHED, path_of
from trees.faults import in_child, kill_self
from trees.snapshots import lay, snapshot

from patchkit.cli.main import run
from patchkit.core.upstream import MEGATRON
from patchkit.trees.archive import WheelTree, unpack
from patchkit.trees.layout import open_folder

from .conftest import Command

DIST_INFO = "megatron_core-2.0.dist-info"
COUNT = 6
"""What an apply or revert changes: four files, patchkit's record and RECORD."""


MADE = "that it had made"


def killed(tree: Path, series: Path, command: str, *, written: int) -> None:
    """Kill ``command`` once so many files have their new content."""
    placed = 0

    def placing(real: Callable[..., None]) -> Callable[..., None]:
        def call(*args: str, **folders: int) -> None:
            nonlocal placed
            # Only a file that takes its place is named relative to its folder.
            if folders:
                if placed == written:
                    kill_self()
                placed += 1
            real(*args, **folders)

        return call

    def work() -> None:
        with (
            mock.patch.multiple(os, replace=placing(os.replace), unlink=placing(os.unlink)),
            mock.patch("patchkit.trees.journal.retire", side_effect=lambda _: kill_self()),
        ):
            run([command, "--in", str(tree), "--patches", str(series)])

    assert os.WIFSIGNALED(in_child(work))
    found = open_folder(tree, MEGATRON).interrupted()
    assert found is not None
    assert (len(found.written), len(found.pending), found.damaged) == (written, COUNT - written, ())


def seen(tree: Path) -> dict[str, object]:
    """Everything in the tree but the lock of the killed process, which is nobody's any more."""
    return {path: value for path, value in snapshot(tree).items() if not path.endswith("/.patchkit/lock")}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The made-up 2.0 with its metadata."""
    unpack(WheelTree(fake.wheel(tmp_path, "2.0")), tmp_path / "tree", {})
    return tmp_path / "tree"


@pytest.mark.parametrize(
    ("written", "left_by_it", "undone"),
    [
        (0, "0 files have their new content, 6 their old one", "0 files were put back"),
        (1, "1 file has its new content, 5 their old one", "1 file was put back"),
        (5, "5 files have their new content, 1 its old one", f"3 files were put back, 2 files {MADE} were removed"),
        (6, "6 files have their new content, 0 their old one", f"4 files were put back, 2 files {MADE} were removed"),
    ],
)
def test_a_killed_apply_is_told_and_the_next_apply_undoes_it_first_says_so_and_succeeds(  # noqa: PLR0917 - a table
    made_up: Command, tree: Path, series: Path, written: int, left_by_it: str, undone: str
) -> None:
    killed(tree, series, "apply", written=written)
    left = seen(tree)
    message = f"an earlier apply was interrupted: {left_by_it}"
    for command in ("status", "verify"):
        ran = made_up(command, "--in", tree)
        assert ran.code == 1
        first, hint = ran.err.splitlines()[:2]
        assert first.endswith(f": {message}")
        offered = f"patchkit apply --in {tree} --patches {series}"
        assert hint == f"  hint: run `{offered}`, or `revert`: it undoes the interrupted write first"
        assert seen(tree) == left

    ran = made_up("apply", "--in", tree)
    note = f"an interrupted apply was undone: {undone}"
    assert (ran.code, ran.err) == (0, f"note: {note}\n")
    assert ran.out.splitlines()[-2:] == [f"  note: {note}", "applied (4 files and the record)"]
    assert {path: (tree / path).read_bytes() for path in TOUCHED} == {path: PATCHED["2.0"][path] for path in TOUCHED}
    assert not (tree / DIST_INFO / ".patchkit").exists()
    assert made_up("verify", "--in", tree).code == 0


def test_a_killed_apply_is_undone_by_revert_and_nothing_is_left_of_it(
    made_up: Command, tree: Path, series: Path
) -> None:
    before = snapshot(tree)
    killed(tree, series, "apply", written=3)
    ran = made_up("revert", "--in", tree)

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "nothing to revert")
    assert (
        f"  note: an interrupted apply was undone: 2 files were put back, 1 file {MADE} was removed"
        in ran.out.splitlines()
    )
    assert snapshot(tree) == before


def test_a_killed_revert_is_undone_before_the_next_one(made_up: Command, tree: Path, series: Path) -> None:
    before = snapshot(tree)
    made_up("apply", "--in", tree)
    killed(tree, series, "revert", written=2)
    ran = made_up("status", "--in", tree)
    assert (
        ran.code,
        "an earlier revert was interrupted: 2 files have their new content, 4 their old one" in ran.err,
    ) == (
        1,
        True,
    )

    ran = made_up("revert", "--in", tree)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "reverted (4 files and the record)")
    assert snapshot(tree) == before


def test_a_dry_run_undoes_nothing_and_says_what_to_do(made_up: Command, tree: Path, series: Path) -> None:
    killed(tree, series, "apply", written=2)
    left = seen(tree)
    for command in ("apply", "revert"):
        ran = made_up(command, "--in", tree, "--dry-run")
        assert (ran.code, ran.out) == (4, "")
        assert ran.err.endswith(
            ": an earlier apply was interrupted: 2 files have their new content, 4 their old one\n"
            "  hint: run the command without --dry-run\n"
        )
        assert seen(tree) == left


def test_a_file_that_was_changed_since_is_named_and_nothing_is_undone(
    made_up: Command, tree: Path, series: Path
) -> None:
    killed(tree, series, "apply", written=6)
    lay(tree, {path_of("config"): b"mine = 1\n"})
    left = seen(tree)
    told = made_up("status", "--in", tree)
    assert told.code == 1
    assert told.err.startswith(f"error: {path_of('config')}: an earlier apply was interrupted: 5 files")
    assert "1 was changed since" in told.err.splitlines()[0]

    for command in ("apply", "revert"):
        ran = made_up(command, "--in", tree)
        assert (ran.code, ran.out) == (4, "")
        assert ran.err.startswith(
            f"error: an earlier apply of {tree} was cut short, and since then these files were changed: "
            f"{path_of('config')}\n"
        )
        assert seen(tree) == left


def test_json_has_the_interrupted_write_as_a_problem_and_the_undoing_as_a_note(
    made_up: Command, tree: Path, series: Path
) -> None:
    killed(tree, series, "apply", written=2)
    told = json.loads(made_up("status", "--in", tree, "--format", "json").out)
    assert told["ok"] is False
    assert told["problems"][0]["message"].startswith("an earlier apply was interrupted: 2 files have their new content")

    done = json.loads(made_up("apply", "--in", tree, "--format", "json").out)
    assert (done["ok"], done["verdict"]) == (True, "applied")
    assert done["notes"] == ["an interrupted apply was undone: 2 files were put back"]


def test_a_refusal_after_the_undoing_says_that_something_was_undone(made_up: Command, tree: Path, series: Path) -> None:
    before = snapshot(tree)
    killed(tree, series, "apply", written=2)
    refused = json.loads(made_up("apply", "--in", tree, "--megatron", "1.0", "--format", "json").out)

    assert (refused["ok"], refused["verdict"]) == (False, "refused")
    assert refused["notes"] == ["an interrupted apply was undone: 2 files were put back"]
    assert snapshot(tree) == before


@pytest.mark.parametrize("written", [2, COUNT])
def test_a_folder_whose_write_did_not_end_is_not_taken_for_a_finished_one(
    made_up: Command, tree: Path, series: Path, written: int
) -> None:
    killed(tree, series, "apply", written=written)
    ran = made_up("apply", "--megatron", "2.0", "--to", tree)

    said = f"error: {tree} exists already, and is not what would be made there: an earlier write to it was interrupted"
    assert (ran.code, ran.err.splitlines()[0]) == (4, said)


def test_what_a_write_left_that_was_killed_before_it_changed_anything_goes_away_without_a_word(
    made_up: Command, tree: Path, series: Path
) -> None:
    before = snapshot(tree)

    def work() -> None:
        with mock.patch("patchkit.trees.journal.sync_folder", side_effect=lambda _: kill_self()):
            run(["apply", "--in", str(tree), "--patches", str(series)])

    assert os.WIFSIGNALED(in_child(work))
    assert snapshot(tree) != before
    ran = made_up("status", "--in", tree)
    assert (ran.code, ran.out.splitlines()[-1], ran.err) == (0, "clean", "")
    ran = made_up("revert", "--in", tree)
    assert (ran.code, ran.out.splitlines()[-1], ran.err) == (0, "nothing to revert", "")
    assert snapshot(tree) == before
