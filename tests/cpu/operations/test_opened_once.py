"""A clone is looked at, and git asked where it is, once for all that a command reads there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from patchkit.operations.explain_hunks import explain_hunks
from patchkit.operations.rebase import rebase
from patchkit.operations.rebase_run import Surroundings
from patchkit.operations.rebase_session import Request
from patchkit.operations.regenerate import regenerate
from patchkit.operations.upstream_check import check_upstream
from patchkit.operations.upstream_discovery import look_around
from patchkit.operations.upstream_targets import Asked
from patchkit.trees import git_program
from patchkit.trees.git_folder import GitFolder, files_read
from patchkit.trees.git_program import GitProgram

from .carried_world import World
from .test_rebase import CLASH, MOVED
from .test_upstream_check import tracked

Opened = Callable[[], tuple[list[GitFolder], int]]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Return what tells whose files were looked at, and how often git was asked where a repository is."""
    looked_at: list[GitFolder] = []

    def noted(folder: GitFolder) -> Iterator[Path]:
        looked_at.append(folder)
        return files_read(folder)

    trace = tmp_path / "trace"
    monkeypatch.setattr(git_program, "files_read", noted)
    monkeypatch.setenv("GIT_TRACE", str(trace))
    return lambda: (looked_at, trace.read_text().count("rev-parse --absolute-git-dir"))


@pytest.fixture
def made(tmp_path: Path) -> World:
    """Return a release that clashes with a patch: commits are named for what is in conflict, and asked of the clone."""
    return World(tmp_path / "world", dict(CLASH))


def test_check_upstream_opens_a_clone_once(made: World, opened: Opened) -> None:
    repository = made.repository()
    clone = GitProgram(repository, download=False)
    discovery = look_around(made.series, repository=clone, offline=True)
    asked = Asked(onto=("HEAD", "HEAD~1", "1.0", "2.0"), base="1.0", repository=clone)
    report = check_upstream(made.series, asked, discovery, cache=made.cache)
    assert [any(hunk.commits for patch in target.patches for hunk in patch.hunks) for target in report.targets] == [
        *(True, False, False, True),
    ]
    assert opened() == ([GitFolder(repository / ".git", repository / ".git")], 1)


def test_explain_opens_a_clone_once(made: World, opened: Opened) -> None:
    repository = made.repository()
    told = explain_hunks(made.series, "first", None, "HEAD", base="1.0", repository=repository, cache=made.cache)
    assert any(each.hunk.commits for each in told.hunks)
    assert opened() == ([GitFolder(repository / ".git", repository / ".git")], 1)


def test_explain_asks_once_for_the_commits_of_all_releases(
    made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = made.repository()
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))
    told = explain_hunks(made.series, "first", None, "2.0", base="1.0", repository=repository, cache=made.cache)
    asked = [line.partition("built-in: git ")[2] for line in trace.read_text().splitlines()]

    assert any(each.hunk.commits for each in told.hunks)
    assert [" ".join(each.split()[:2]) for each in asked if each] == [
        "rev-parse --absolute-git-dir",
        "cat-file '--batch-check=%(objectname)",
        "cat-file --batch",  # whether the files of hunks are there
        "blame --porcelain",
        "blame --porcelain",
        "log --no-walk=unsorted",
    ]


def test_rebase_opens_a_clone_once(made: World, tmp_path: Path, opened: Opened) -> None:
    repository = made.repository()
    around = Surroundings(today="2026-01-02", cache=made.cache, edit_dir=tmp_path / "edit")
    done = rebase(made.series, Request(onto="HEAD", repository=repository), around)
    assert any(hunk.commits for patch in done.patches for hunk in patch.hunks)
    assert opened() == ([GitFolder(repository / ".git", repository / ".git")], 1)


def test_regenerate_opens_a_clone_once(tmp_path: Path, opened: Opened) -> None:
    world = World(tmp_path / "world", dict(MOVED))
    repository = tracked(world)
    before = len(opened()[0])
    file = world.root / "upstream_versions.yaml"
    text = file.read_text()
    branch = text[text.index("    - name: main\n") : text.index("torch-memory-saver:")]
    file.write_text(text.replace(branch, branch + branch.replace("main", "next")))
    assert regenerate(world.series, repository=repository, cache=world.cache).kept == ()
    folder = GitFolder(repository / ".git", repository / ".git")
    assert (opened()[0][before:], opened()[1] - before) == ([folder], 1)
