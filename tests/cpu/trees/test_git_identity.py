from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from patchkit.trees import git_identity
from patchkit.trees.git_identity import identity

from .repositories import git


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a folder in it, and nobody who works there."""
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "repository"
    (folder / "megatron").mkdir(parents=True)
    git(folder, "init", "-q")
    return folder


def test_who_works_in_a_folder_is_what_git_was_told(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert identity(repository) is None
    git(repository, "config", "user.name", "Some Body")
    assert identity(repository) is None
    git(repository, "config", "user.email", "some@example.org")
    assert identity(repository) == "Some Body <some@example.org>"
    assert identity(repository / "megatron") == "Some Body <some@example.org>"
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Other")
    assert identity(repository) == "Other <some@example.org>"


@pytest.mark.parametrize("name", ["config", "HEAD", "commondir", "refs/heads/main", "config.worktree"])
@pytest.mark.parametrize("kind", ["a pipe", "a device", "in a worktree"])
def test_git_is_not_asked_in_a_repository_with_files_that_have_no_end(
    repository: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    git(repository, "config", "user.name", "Some Body")
    git(repository, "config", "user.email", "some@example.org")
    place = repository / ".git" / name
    if kind == "in a worktree":
        (repository / ".git").rename(repository.parent / "elsewhere")
        (repository / ".git").write_text("gitdir: ../elsewhere\n")
        place = repository.parent / "elsewhere" / name
    place.unlink(missing_ok=True)
    if kind == "a device":
        place.symlink_to("/dev/zero")
    else:
        os.mkfifo(place)
    asked: list[Any] = []
    monkeypatch.setattr(git_identity, "run_git", lambda *how, **more: asked.append(how))

    assert (identity(repository / "megatron"), asked) == (None, [])


def test_of_another_repository_that_a_hook_is_told_of_nothing_is_asked(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "other")
    git(tmp_path / "other", "config", "user.name", "Other")
    git(tmp_path / "other", "config", "user.email", "other@example.org")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))

    assert identity(repository) is None


def test_whom_git_does_not_tell_in_time_works_under_no_name(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("patchkit.trees.git_identity._SOON_TOLD", 0.3)
    os.mkfifo(tmp_path / "pipe")
    git(repository, "config", "include.path", str(tmp_path / "pipe"))

    assert identity(repository) is None
