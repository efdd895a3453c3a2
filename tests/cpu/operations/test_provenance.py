from __future__ import annotations

from pathlib import Path

import pytest
from trees.repositories import git, lose, record
from trees.snapshots import lay

from patchkit.core.carry_report import CommitReport
from patchkit.operations.provenance import Touched, brought_by, edges_between
from patchkit.trees.git import GitTree

PATH = "m/a.py"
ONE = b"first = 1\nsecond = 2\nthird = 3\nfourth = 4\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """``base``, then a commit that changes line 2, and on a branch that is merged one that removes line 4."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    lay(folder, {PATH: ONE})
    record(folder, "Begin")
    git(folder, "tag", "base")
    git(folder, "checkout", "-q", "-b", "side")
    lay(folder, {PATH: ONE.replace(b"fourth = 4\n", b"")})
    record(folder, "Take the fourth away (#41)")
    git(folder, "checkout", "-q", "main")
    lay(folder, {PATH: ONE.replace(b"second = 2", b"second = 22")})
    record(folder, "Double the second")
    git(folder, "merge", "-q", "--no-ff", "-m", "Merge pull request #43 from somebody/side", "side")
    return folder


def found(repository: Path, touched: Touched) -> tuple[list[tuple[str, int | None]], str]:
    base, target = GitTree(repository, "base"), GitTree(repository, "main")
    commits, why_not = brought_by(base, target, touched)
    return [(commit.subject, commit.pull_request) for commit in commits], why_not


def test_a_line_of_the_target_names_the_commit_that_made_it(repository: Path) -> None:
    assert found(repository, Touched(PATH, (2, 2), ())) == ([("Double the second", None)], "")


def test_a_commit_has_its_abbreviated_id(repository: Path) -> None:
    base, target = GitTree(repository, "base"), GitTree(repository, "main")
    (commit,), _ = brought_by(base, target, Touched(PATH, (2, 2), ()))

    assert commit == CommitReport(git(repository, "rev-parse", "--short", "main^1"), "Double the second", None)


def test_lines_that_are_gone_are_looked_for_in_merged_branches_too(repository: Path) -> None:
    gone = Touched(PATH, None, (b"fourth = 4\n", b"x\n"))

    assert found(repository, gone) == ([("Take the fourth away (#41)", 41)], "")


def test_lines_as_old_as_the_base_name_nobody(repository: Path) -> None:
    assert found(repository, Touched(PATH, (1, 1), ())) == ([], "")
    assert found(repository, Touched(PATH, (3, 2), ())) == ([], "")


def test_a_number_without_end_is_no_pull_request(repository: Path) -> None:
    lay(repository, {PATH: ONE.replace(b"third = 3", b"third = 33")})
    subject = f"Change the third (#{'9' * 5000})"
    record(repository, subject)

    assert found(repository, Touched(PATH, (3, 3), ())) == ([(subject[:1000], None)], "")


def test_when_the_time_is_up_there_is_no_answer_and_that_is_said(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_command: str, **how: object) -> bytes:
        assert how["seconds"] == 1.0
        raise TimeoutError

    monkeypatch.setattr(GitTree, "ask", late)

    assert found(repository, Touched(PATH, (2, 2), ())) == ([], "git took longer than 2 seconds")


def test_a_file_that_git_does_not_have_is_no_error(repository: Path) -> None:
    assert found(repository, Touched("m/b.py", (1, 1), ())) == ([], "")


def test_a_clone_that_lacks_old_texts_says_so(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", repository.as_uri(), "partial")
    target = GitTree(tmp_path / "partial", "main", download=False)

    assert brought_by(target.at("base"), target, Touched(PATH, (2, 2), ())) == (
        (),
        "git gave no answer, as in a clone that lacks old texts",
    )


@pytest.mark.parametrize("touched", [Touched(PATH, (2, 2), ()), Touched(PATH, None, (b"second = 2\n",))])
def test_a_clone_that_lost_a_folder_between_says_that_git_could_not_look(repository: Path, touched: Touched) -> None:
    """Also of a file that the target does not have any more."""
    lost = git(repository, "rev-parse", "main^1:m")
    if touched.target_lines is None:
        git(repository, "rm", "-q", PATH)
        record(repository, "Away")
    lose(repository, lost)

    command = "log" if touched.target_lines is None else "blame"
    why_not = f"git {command} failed in {repository}: fatal: unable to read tree {lost}"
    hint = f"git -C {repository} fsck says what is damaged; a new clone mends it"
    assert found(repository, touched) == ([], f"{why_not}; {hint}")


@pytest.fixture
def shallow(repository: Path, tmp_path: Path) -> Path:
    """A clone that has ``base`` and the newest commit, and nothing between."""
    lay(repository, {"m/b.py": b"another = 1\n"})
    record(repository, "End (#44)")
    git(tmp_path, "clone", "-q", "--bare", "--depth=1", repository.as_uri(), "shallow")
    git(tmp_path / "shallow", "fetch", "-q", "--depth=1", "origin", "tag", "base")
    return tmp_path / "shallow"


@pytest.mark.parametrize("touched", [Touched(PATH, (2, 2), ()), Touched(PATH, None, (b"second = 22\n",))])
def test_what_a_shallow_clone_lacks_is_not_blamed_on_the_commit_where_it_ends(shallow: Path, touched: Touched) -> None:
    """To git that commit has no parents and made every line of every file."""
    target = GitTree(shallow, "main")
    base = target.at("base")
    edges = edges_between(base, target)

    assert edges == {target.commit}
    assert brought_by(base, target, touched, edges=edges) == ((), "the clone is shallow, and lacks commits between")


def test_a_shallow_clone_that_has_all_that_is_between_is_as_good_as_a_whole_one(
    repository: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--bare", "--depth=3", repository.as_uri(), "shallow")
    target = GitTree(tmp_path / "shallow", "main")
    base = target.at(GitTree(repository, "main^1").commit)

    assert target.program.edges != frozenset()
    assert edges_between(base.at(f"{base.commit}^"), base) == frozenset()
    assert edges_between(GitTree(repository, "base"), GitTree(repository, "main")) == frozenset()


def test_a_line_of_the_file_does_not_pass_for_one_of_git(repository: Path) -> None:
    hidden = "\x85boundary\x85"
    lay(repository, {PATH: ONE.replace(b"second = 2", f"second = '{hidden}'".encode())})
    record(repository, f"Hide{hidden}it")

    assert found(repository, Touched(PATH, (2, 2), ())) == ([(f"Hide{hidden}it", None)], "")
