from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from patchkit.core.blobs import blob_id
from patchkit.errors import TreeError
from patchkit.trees.bases import Bases, Interval, find_bases, matching
from patchkit.trees.git import GitTree

from .repositories import damaged_tags, git, lose, record
from .snapshots import lay

A1, A2, B1, B2 = b"a one\n", b"a two\n", b"b one\n", b"b two\n"


@pytest.fixture
def history(tmp_path: Path) -> tuple[Path, list[str]]:
    """Six commits: both files, an unrelated change, a changes, b changes, unrelated, a changes back."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    steps = [
        {"m/a": A1, "m/b": B1},
        {"other": b"1\n"},
        {"m/a": A2},
        {"m/b": B2},
        {"other": b"2\n"},
        {"m/a": A1},
    ]
    made: list[str] = []
    for number, files in enumerate(steps):
        lay(folder, files)
        made.append(record(folder, str(number)))
        git(folder, "tag", f"v{number}")
    return folder, made


def wanted(a: bytes | None, b: bytes | None) -> dict[str, str | None]:
    return {path: None if text is None else blob_id(text)[:9] for path, text in (("m/a", a), ("m/b", b))}


def test_the_run_of_commits_that_has_all_files_is_found_with_its_tags(history: tuple[Path, list[str]]) -> None:
    folder, made = history

    assert find_bases(GitTree(folder, "HEAD"), wanted(A1, B1)) == Bases(
        (Interval(first=made[0], newest=made[1], commits=2, tags=("v0", "v1")),), None, 2
    )
    assert find_bases(GitTree(folder, "HEAD"), wanted(A2, B2)).intervals == (
        Interval(first=made[3], newest=made[4], commits=2, tags=("v3", "v4")),
    )


def test_runs_that_other_commits_lie_between_are_told_apart(history: tuple[Path, list[str]]) -> None:
    folder, made = history
    only = {"m/a": blob_id(A1)[:9]}

    assert [(one.first, one.newest) for one in find_bases(GitTree(folder, "HEAD"), only).intervals] in (
        [(made[0], made[1]), (made[5], made[5])],
        [(made[5], made[5]), (made[0], made[1])],
    )


def test_a_file_that_must_not_exist_counts(history: tuple[Path, list[str]]) -> None:
    folder, made = history
    tree = GitTree(folder, "HEAD")

    assert find_bases(tree, {"m/a": blob_id(A2), "m/new": None}).intervals[0].first == made[2]
    assert find_bases(tree, {"m/a": None}) == Bases((), None, 0)


def test_without_a_commit_that_has_all_the_newest_of_the_best_is_named(history: tuple[Path, list[str]]) -> None:
    folder, made = history

    assert find_bases(GitTree(folder, "HEAD"), wanted(A2, b"never\n")) == Bases((), made[3], 1)
    assert find_bases(GitTree(folder, "HEAD"), wanted(b"never\n", b"nor\n")) == Bases((), None, 0)


def test_a_merge_that_brings_the_files_together_begins_a_run(history: tuple[Path, list[str]]) -> None:
    folder, made = history
    git(folder, "checkout", "-q", "-b", "side", made[1])
    lay(folder, {"m/c": b"side\n"})
    record(folder, "side")
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "--no-edit", "side")
    merge = git(folder, "rev-parse", "HEAD")
    everything = {**wanted(A1, B2), "m/c": blob_id(b"side\n")}

    assert find_bases(GitTree(folder, "HEAD"), everything).intervals == (
        Interval(first=merge, newest=merge, commits=1, tags=()),
    )


def test_how_many_files_a_revision_has(history: tuple[Path, list[str]]) -> None:
    folder, made = history
    tree = GitTree(folder, made[2])

    assert [matching(tree, wanted(*texts)) for texts in ((A2, B1), (A2, B2), (A1, B2), (None, B1))] == [2, 1, 0, 1]


def test_tags_of_a_run_are_told_whatever_their_names_are(history: tuple[Path, list[str]]) -> None:
    folder, _made = history
    names = [b"a\xe2\x80\xa8b", b"a\xc2\x85b", b"a\xc2\xa0b", b"\xff"]
    for name in names:
        subprocess.run([b"git", b"tag", name, b"v2"], cwd=folder, check=True)

    (only,) = find_bases(GitTree(folder, "HEAD"), wanted(A2, B1)).intervals
    assert only.tags == tuple(sorted(["v2", *map(os.fsdecode, names)]))


def test_a_commit_without_a_time_keeps_its_parents_and_is_neither_the_first_nor_the_newest(
    history: tuple[Path, list[str]],
) -> None:
    folder, made = history
    lines = git(folder, "cat-file", "commit", made[4]).split("\n")
    odd = [f"{line.partition('>')[0]}>" if line.startswith("committer ") else line for line in lines]
    (folder / "commit").write_text("\n".join(odd))
    timeless = git(folder, "hash-object", "-t", "commit", "-w", "--literally", "commit")
    git(folder, "branch", "odd", timeless)

    assert find_bases(GitTree(folder, "HEAD"), wanted(A2, B2)).intervals == (
        Interval(first=made[3], newest=made[4], commits=3, tags=("v3", "v4")),
    )


def test_tags_that_are_damaged_hide_no_other(history: tuple[Path, list[str]]) -> None:
    folder, made = history
    git(folder, "tag", "-a", "-m", "again", "again", made[1])
    damaged_tags(folder)

    assert find_bases(GitTree(folder, "HEAD"), wanted(A1, B1)).intervals == (
        Interval(first=made[0], newest=made[1], commits=2, tags=("again", "v0", "v1")),
    )


def test_a_history_that_cannot_be_read_is_no_damaged_tag(history: tuple[Path, list[str]]) -> None:
    folder, made = history
    lose(folder, f"{made[2]}^{{tree}}")

    with pytest.raises(TreeError) as caught:
        find_bases(GitTree(folder, "HEAD"), wanted(A1, B1))
    assert caught.value.hint == f"git -C {folder} fsck says what is damaged; a new clone mends it"
