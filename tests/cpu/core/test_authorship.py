from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from trees.repositories import AUTHOR, git, record

from patchkit.core.authorship import is_day, names_somebody


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "-q")
    (folder / "a").write_text("a\n")
    record(folder, "one")
    return folder


def commits(repository: Path, **author: str) -> bool:
    """Tell whether git makes a commit with this author."""
    command = ["git", "commit-tree", "HEAD^{tree}", "-m", "x"]
    done = subprocess.run(command, cwd=repository, check=False, capture_output=True, env=os.environ | AUTHOR | author)
    return done.returncode == 0


@pytest.mark.parametrize(
    ("author", "expected"),
    [
        ("A U Thor <a@example.org>", True),
        ("x", True),
        ("<x>", True),
        ("(x)", True),
        ("é", True),
        ("-", True),
        ("<>", False),
        (".,;:<>\"\\' <.,;>", False),
        ("\t \x1f", False),
    ],
)
def test_an_author_is_whom_git_takes(repository: Path, author: str, *, expected: bool) -> None:
    assert names_somebody(author) is expected
    assert commits(repository, GIT_AUTHOR_NAME=author) is expected


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("1970-01-01", True),
        ("2026-12-01", True),
        ("2099-12-31", True),
        ("1969-12-31", False),
        ("2100-01-01", False),
        ("9999-12-31", False),
    ],
)
def test_a_day_is_one_that_git_takes(repository: Path, day: str, *, expected: bool) -> None:
    assert is_day(day) is expected
    assert commits(repository, GIT_AUTHOR_DATE=f"{day}T00:00:00+00:00") is expected


def test_a_blank_that_git_does_not_know_is_one_as_well() -> None:
    assert not names_somebody("\u3000 <\u00a0>")


def test_a_day_that_is_in_no_calendar_is_none_though_git_takes_another_one_for_it(repository: Path) -> None:
    assert not is_day("2026-02-30")
    assert [is_day(day) for day in ("never", "2026-13-01", "2026-00-01", "2026-01-00")] == [False] * 4
    assert commits(repository, GIT_AUTHOR_DATE="2026-02-30T00:00:00+00:00")
