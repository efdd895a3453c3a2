"""A clone with pipes in its checkout, and settings that lead to them: no question of ours opens them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from operations import made_up as texts
from trees.repositories import git, record

from .conftest import Command


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The made-up repository, in which the branch ``renamed`` moves a file and changes it."""
    folder = tmp_path / "repository"
    texts.repository(folder)
    git(folder, "checkout", "-q", "-b", "renamed", "core_v1.1")
    git(folder, "mv", "megatron/core/buffer.py", "megatron/core/moved.py")
    place = folder / "megatron" / "core" / "moved.py"
    place.write_text(place.read_text().replace("Buffers", "What is buffered"))
    record(folder, "Move")
    git(folder, "checkout", "-q", "main")
    return folder


def wait_for(repository: Path) -> None:
    """Put pipes where git reads attributes and what is ignored, and name one in the settings."""
    os.mkfifo(repository / "pipe")
    for folder in ("", "megatron", "megatron/core"):
        os.mkfifo(repository / folder / ".gitattributes")
    for setting in ("core.excludesFile", "core.attributesFile"):
        git(repository, "config", setting, "pipe")


@pytest.mark.parametrize(
    "command",
    [
        ("history", "--range", "core_v1.1..renamed"),
        ("explain", "grads", "--onto", "main", "--from", "1.1"),
        ("apply", "--megatron", "1.1", "--branch", "new"),
    ],
)
def test_pipes_in_the_checkout_and_in_settings_change_no_answer(
    made_up: Command, repository: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    # Who waits all the same is stopped soon.
    monkeypatch.setattr("patchkit.trees.git_program._LONGEST", 20)
    monkeypatch.setattr("patchkit.trees.git_log._MOVED_SECONDS", 20)
    asked = (*command, "--git", repository, "--format", "json")
    for _ in range(2):  # what was carried once is known, and told as such
        before = made_up(*asked)
        if command[0] == "apply":
            git(repository, "branch", "-D", "new")
    wait_for(repository)

    assert (made_up(*asked), before.code) == (before, 0)


def test_a_move_is_told_where_attributes_of_the_checkout_hide_it(made_up: Command, repository: Path) -> None:
    wait_for(repository)
    done = made_up("history", "--git", repository, "--range", "core_v1.1..renamed")

    assert "it moved the file to megatron/core/moved.py" in done.out


@pytest.mark.parametrize("name", ["main@{u}", "main@{push}", "main@{UPSTREAM}", "main@{u}~1"])
def test_a_name_that_settings_of_the_clone_give_a_meaning_is_refused(
    made_up: Command, repository: Path, name: str
) -> None:
    os.mkfifo(repository / ".git" / "pipe")
    git(repository, "config", "branch.main.remote", ".")
    git(repository, "config", "branch.main.merge", "pipe")
    done = made_up("explain", "grads", "--onto", name, "--git", repository)

    assert (done.code, done.err.splitlines()[-2:]) == (
        4,
        [
            f"error: {name!r} is what the settings of {repository} make of it",
            "  hint: name the branch itself",
        ],
    )


@pytest.mark.parametrize("columns", ["80", "200"])
@pytest.mark.parametrize(("text", "why"), [(b"a\0b\n" * 9, "binary"), (b"a = 1\n" * 2_000_000, "larger than 8 MiB")])
def test_lines_of_what_nobody_can_read_are_not_shown(
    made_up: Command, repository: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, why: str, *, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    (repository / "megatron" / "core" / "buffer.py").write_bytes(texts.BUFFER + text)
    record(repository, "Large")
    done = made_up("explain", "grads", "--onto", "main", "--from", "1.1", "--git", repository)

    assert done.code == 0
    assert f"note: megatron/core/buffer.py: no lines are shown, one of its texts is {why}" in done.err.splitlines()
