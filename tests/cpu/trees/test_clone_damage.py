"""What is said of a clone that git cannot read in part."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.errors import TreeError
from patchkit.trees.git import GitTree

from .repositories import git, put, record


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main", "repository")
    (tmp_path / "repository" / "a.py").write_text("1\n")
    record(tmp_path / "repository", "One")
    git(tmp_path, "clone", "-q", "--bare", "repository", "clone.git")
    return tmp_path / "clone.git"


def forged_tag(clone: Path) -> str:
    git(clone, "tag", "-a", "-m", "Nine.", "v9", "main")
    tag = git(clone, "rev-parse", "v9")
    return put(clone, b"tag", git(clone, "cat-file", "tag", "v9").replace("Nine", "Ten").encode(), tag)


def lost_tag(clone: Path) -> str:
    tag = "12" * 20
    (clone / "refs" / "tags" / "v9").write_text(f"{tag}\n")
    return tag


def cut_commit(clone: Path) -> str:
    commit = git(clone, "commit-tree", "-m", "Cut.", "main^{tree}")
    file = clone / "objects" / commit[:2] / commit[2:]
    file.chmod(0o644)
    os.truncate(file, 20)
    (clone / "refs" / "tags" / "v9").write_text(f"{commit}\n")
    return commit


TAGS = ("for-each-ref", "--points-at=main", "--format=%(creatordate)")
LOG = ("log", "--tags")


@pytest.mark.parametrize(
    ("harm", "command"),
    [(forged_tag, TAGS), (lost_tag, TAGS), (cut_commit, TAGS), (lost_tag, LOG), (cut_commit, LOG)],
)
def test_whatever_git_is_asked_for_a_damaged_object_has_a_hint(
    clone: Path, harm: Callable[[Path], str], command: tuple[str, ...]
) -> None:
    tree = GitTree(clone, "main")
    harmed = harm(clone)

    with pytest.raises(TreeError) as caught:
        tree.ask(*command)
    said, _, words = caught.value.message.partition(": ")
    assert (said, harmed in words or "v9" in words) == (f"git {command[0]} failed in {clone}", True)
    assert caught.value.hint == f"git -C {clone} fsck says what is damaged; a new clone mends it"


def test_a_question_that_git_refuses_is_no_damage(clone: Path) -> None:
    with pytest.raises(TreeError) as caught:
        GitTree(clone, "main").ask("rev-list", "--all", "--", "nowhere", "--no-such-option", "..")
    assert caught.value.hint is None
