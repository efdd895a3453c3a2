from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.errors import TreeError
from patchkit.trees import git_objects
from patchkit.trees.git import GitTree
from patchkit.trees.git_objects import GitObjects
from patchkit.trees.git_program import GitProgram
from patchkit.trees.git_texts import blobs_at
from patchkit.trees.git_write import CommitSpec, commit_series, export

from .repositories import git, put, record
from .snapshots import contents, lay

FILES = {"megatron/core/a.py": b"a\n", "megatron/core/deep/b.py": b"b\n", "run.sh": b"#!/bin/sh\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit on ``main``."""
    return made(tmp_path / "repository")


def made(folder: Path, *options: str) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", *options)
    lay(folder, FILES)
    record(folder, "first")
    return folder


def entry(mode: bytes, name: bytes, object_id: str) -> bytes:
    return mode + b" " + name + b"\0" + bytes.fromhex(object_id)


def commit(repository: Path, tree: str) -> str:
    about = f"tree {tree}\nauthor A <a@example.org> 1 +0000\ncommitter A <a@example.org> 1 +0000\n\nodd\n"
    return put(repository, b"commit", about.encode())


def test_what_stands_in_the_place_of_an_object_is_not_it(repository: Path, tmp_path: Path) -> None:
    blob = git(repository, "rev-parse", "main:megatron/core/a.py")
    put(repository, b"blob", b"evil\n", blob)
    tree = GitTree(repository, "main")

    with pytest.raises(TreeError) as caught:
        export(tree, tmp_path / "out", {})

    assert caught.value.message == (
        f"git cannot read {blob} of {repository}@main: its content is not the one that its id stands for"
    )
    assert not (tmp_path / "out").exists()
    assert tree.read("run.sh") == FILES["run.sh"]


def test_a_folder_in_the_place_of_another_one_is_not_it(repository: Path) -> None:
    folder = git(repository, "rev-parse", "main:megatron/core")
    put(repository, b"tree", entry(b"100644", b"x.py", git(repository, "rev-parse", "main:run.sh")), folder)

    with pytest.raises(TreeError, match="its content is not the one that its id stands for"):
        GitTree(repository, "main").blob_id("megatron/core/x.py")


def test_a_folder_that_a_revision_calls_a_file_is_none(repository: Path, tmp_path: Path) -> None:
    folder = git(repository, "rev-parse", "main:megatron")
    odd = commit(repository, put(repository, b"tree", entry(b"100644", b"zz.py", folder)))
    tree = GitTree(repository, odd)

    with pytest.raises(TreeError) as caught:
        export(tree, tmp_path / "out", {})

    assert caught.value.message == f"git cannot read {folder} of {repository}@{odd}: it is a tree, not a blob"
    with pytest.raises(TreeError, match=re.escape("zz.py")):
        tree.read("zz.py")


def test_a_folder_that_has_a_name_twice_is_refused(repository: Path) -> None:
    one, two = (git(repository, "rev-parse", f"main:{path}") for path in ("run.sh", "megatron/core/a.py"))
    odd = commit(repository, put(repository, b"tree", entry(b"100644", b"x.py", one) + entry(b"100644", b"x.py", two)))

    with pytest.raises(TreeError, match="it is a folder that has a name twice"):
        GitTree(repository, odd).read("x.py")


def test_folders_that_hold_each_other_are_not_followed_for_ever(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(repository, b"tree", entry(b"100644", b"x", git(repository, "rev-parse", "main:run.sh")))
    for _ in range(4):
        folder = put(repository, b"tree", b"".join(entry(b"40000", b"%d" % name, folder) for name in range(10)))
    bomb = commit(repository, folder)
    monkeypatch.setattr(git_objects, "_MOST", 5_000)

    for attempt in (
        lambda: list(GitTree(repository, bomb).paths()),
        lambda: export(GitTree(repository, bomb), tmp_path / "out", {}),
        lambda: commit_series(repository, bomb, "branch", []),
    ):
        with pytest.raises(TreeError) as caught:
            attempt()
        assert caught.value.message == f"a revision of {repository} lists more than 5,000 files"
    assert git(repository, "branch", "--list", "branch") == ""


def test_long_paths_have_a_limit_together(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_objects, "_LONGEST_PATHS", 40)

    with pytest.raises(TreeError, match="lists more than"):
        GitTree(repository, "main").entries()


def test_files_of_a_folder_come_in_gits_order_and_of_none_there_are_none(repository: Path) -> None:
    tree = GitTree(repository, "main")
    listed = git(repository, "ls-tree", "-r", "--name-only", "main").splitlines()

    assert [each.path for each in tree.entries()] == listed
    assert [each.path for each in tree.entries("megatron/core")] == listed[:-1]
    assert (tree.entries("megatron/none"), tree.entries("run.sh")) == ([], [])


@pytest.mark.parametrize(
    "settings",
    [
        "[include]\n nothing = pipe\n",
        '[includeIf "onbranch:**"]\n path = x\n',
        '[includeIf "onbranch:main"]\n path = x\n',
        "[user]\n name = J\udce9\n",
        "[core]\n x = %(y)s\n",
    ],
    ids=["a file under no name that git knows", "branches", "branch", "Latin-1", "interpolation"],
)
def test_the_settings_of_a_clone_are_read_by_git_alone(repository: Path, settings: str) -> None:
    bare = repository.with_name("bare.git")
    git(repository, "clone", "-q", "--bare", ".", bare)
    os.mkfifo(bare / "pipe")
    with (bare / "config").open("ab") as config:
        config.write(settings.encode("utf-8", "surrogateescape"))

    assert GitTree(bare, "main").read("run.sh") == FILES["run.sh"]


def test_a_clone_may_be_called_like_a_home_folder(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(repository, tmp_path / "~")
    monkeypatch.chdir(tmp_path)

    assert GitTree(Path("~"), "main").read("run.sh") == FILES["run.sh"]


def test_a_repository_with_longer_ids_is_read_exported_and_gets_a_branch(tmp_path: Path) -> None:
    repository = made(tmp_path / "repository", "--object-format=sha256")
    tree = GitTree(repository, "main")
    export(tree, tmp_path / "out", {})
    edits = {"run.sh": None, "megatron/core/a.py": b"new\n"}
    commit_series(
        repository, "main", "series", [CommitSpec("m\n", "A", "a@example.org", "2026-01-02T03:04:05+00:00", edits)]
    )

    assert len(tree.commit) == 64
    assert contents(tmp_path / "out") == FILES
    series = GitTree(repository, "series")
    assert {path: series.read(path) for path in series.paths()} == {
        "megatron/core/a.py": b"new\n",
        "megatron/core/deep/b.py": b"b\n",
    }


def silent(folder: Path, answer: str) -> None:
    """Make a git that begins an answer about objects and does not end it; asked anything else it is the real one."""
    real = shutil.which("git")
    program = folder / "git"
    program.write_text(f'#!/bin/sh\ncase "$*" in *--batch) {answer};; *) exec {real} "$@";; esac\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("exec sleep 60", "git gave no answer for 0.3 seconds"),
        ("read name; echo $name blob 100; exec sleep 60", "git gave no answer for 0.3 seconds"),
        ("read name; echo $name blob 100", "git ended before its answer did"),
        ("read name; echo $name what", "{blob} what"),
    ],
)
def test_a_git_that_gives_no_answer_is_not_waited_for(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, told: str
) -> None:
    blob = git(repository, "rev-parse", "main:run.sh")
    (tmp_path / "bin").mkdir()
    silent(tmp_path / "bin", answer)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setattr(GitProgram, "patience", 0.3)

    with pytest.raises(TreeError) as caught:
        GitTree(repository, "main").content(blob, "run.sh")

    assert caught.value.message == f"git cannot read run.sh ({blob}) of {repository}@main: {told.format(blob=blob)}"


def test_where_nothing_can_be_downloaded_an_answer_is_due_sooner(repository: Path) -> None:
    assert (GitProgram(repository).patience, GitProgram(repository, download=False).patience) == (900, 60)


@pytest.mark.parametrize("name", ["a\nb", "HEAD\n"])
def test_a_name_with_a_line_break_is_not_asked_for(repository: Path, name: str) -> None:
    with pytest.raises(ValueError, match="a name with a line break is no name of an object"):
        GitObjects(GitProgram(repository)).folder(name)


def test_a_process_that_was_forked_with_it_does_not_end_it(repository: Path) -> None:
    objects = GitObjects(GitProgram(repository))
    blobs = [git(repository, "rev-parse", f"main:{path}") for path in FILES]
    assert objects.blob(blobs[0]) == b"a\n"
    child = os.fork()
    if child == 0:
        objects.forget()
        os._exit(0)
    os.waitpid(child, 0)

    assert [objects.blob(blob) for blob in blobs] == [*FILES.values()]


@pytest.mark.parametrize("size", [0, 1, (1 << 16) - 1, 1 << 16, (1 << 20) - 60, 1 << 20, (3 << 20) + 7])
def test_an_object_of_any_size_is_read_whole_and_the_next_one_after_it(repository: Path, size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    lay(repository, {"x.bin": content, "y.bin": b"after"})
    record(repository, "sizes")
    tree = GitTree(repository, "HEAD")

    assert (tree.read("x.bin"), tree.read("y.bin")) == (content, b"after")


def test_each_of_many_questions_goes_to_one_process(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    begin: Callable[..., object] = GitProgram.begin

    def counted(self: GitProgram, command: tuple[str, ...]) -> object:
        begun.append(" ".join(command))
        return begin(self, command)

    monkeypatch.setattr(GitProgram, "begin", counted)
    tree = GitTree(repository, "main")
    for path in (*FILES, *FILES):
        tree.at("main").read(path)

    assert begun == ["cat-file --batch"]


@pytest.mark.parametrize("damaged", [b"100644 x.py", b"1x0644 x.py\0" + bytes(20), b"\0"])
def test_a_folder_that_git_did_not_make_is_told_by_whoever_reads_it(repository: Path, damaged: bytes) -> None:
    odd = commit(repository, put(repository, b"tree", damaged))
    tree = GitTree(repository, odd)

    with pytest.raises(TreeError, match=re.escape(f"git cannot read {odd}:x.py ({odd}^{{tree}}) of {tree.label}: ")):
        tree.read("x.py")
    with pytest.raises(TreeError, match=re.escape(f"git cannot read {odd}: ({odd}^{{tree}}) of {repository}: ")):
        blobs_at(tree, [odd], ["x.py"])


def test_files_of_several_commits_are_found_at_once(repository: Path) -> None:
    first, blob = git(repository, "rev-parse", "main"), git(repository, "rev-parse", "main:run.sh")
    (repository / "run.sh").unlink()
    (repository / "run.sh").symlink_to("x")
    second = record(repository, "a link")

    assert blobs_at(GitTree(repository, "main"), [first, second], ["run.sh", "megatron/core/none.py", "megatron"]) == {
        first: {"run.sh": blob},
        second: {},
    }
