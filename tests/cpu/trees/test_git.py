from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from patchkit.core.blobs import blob_id
from patchkit.core.kept_names import MANIFEST
from patchkit.errors import (
    DamagedCloneError,
    RevisionNotFoundError,
    TreeError,
    UnsafePathError,
    UsageError,
    WriteFailedError,
)
from patchkit.trees.git import GitTree
from patchkit.trees.git_ignored import ignored_files
from patchkit.trees.git_program import GitProgram
from patchkit.trees.git_write import CommitSpec, commit_series, export
from patchkit.trees.interface import Edits, SourceTree

from .faults import full_disk, tripped
from .repositories import claim, git, record, with_a_cut, without_alternates, without_objects
from .snapshots import contents, lay, snapshot

FILES = {"megatron/core/a.py": b"a\n", "megatron/core/b.py": b"b\r\n", "megatron-x.py": b"x", "run.sh": b"#!/bin/sh\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit ``v1`` with a link and an executable; ``main`` is one commit further."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "megatron").mkdir()
    (folder / "megatron" / "link.py").symlink_to("core/a.py")
    (folder / "linked").symlink_to("megatron/core")
    git(folder, "init", "-q", "-b", "main")
    lay(folder, FILES)
    (folder / "run.sh").chmod(0o755)
    record(folder, "first")
    git(folder, "tag", "-a", "v1", "-m", "one")
    lay(folder, {"megatron/core/a.py": b"newer\n"})
    record(folder, "second")
    return folder


def spec(edits: Edits, message: str = "message\n") -> CommitSpec:
    return CommitSpec(message, "A U Thor", "author@example.org", "2026-01-02T03:04:05+01:00", edits)


def state(repository: Path) -> dict[str, tuple[int, bytes] | str]:
    """Everything in the folder but the objects: checkout, index, branches."""
    return {path: what for path, what in snapshot(repository).items() if "/objects" not in path}


def test_a_revision_reads_as_a_tree(repository: Path) -> None:
    tree: SourceTree = GitTree(repository, "v1")

    assert tree.label == f"{repository}@v1"
    assert tree.manifest_path == ".patchkit/manifest.json"
    assert list(tree.paths()) == sorted(FILES)
    assert list(tree.paths("megatron")) == ["megatron/core/a.py", "megatron/core/b.py"]
    assert list(tree.paths("megatron/core/a.py")) == list(tree.paths("no/such")) == []
    assert {path: tree.read(path) for path in tree.paths()} == FILES
    assert [tree.read(path) for path in ("megatron/core", "no/such", "run.sh/x", "linked/a.py")] == [None] * 4


def test_files_that_may_be_executed_are_told(repository: Path) -> None:
    assert GitTree(repository, "v1").executables() == {"run.sh"}
    assert GitTree(repository, "v1").executables("megatron") == frozenset()


@pytest.mark.parametrize("bare", [True, False])
def test_what_git_ignores_is_told_for_any_folder_by_its_own_rules(
    repository: Path, tmp_path: Path, *, bare: bool
) -> None:
    asked = repository
    if bare:
        asked = tmp_path / "bare.git"
        git(tmp_path, "clone", "-q", "--bare", repository, asked)
    files = {".gitignore": b"*.so\n", "megatron/lib.so": b"", "megatron/a.py": b"", "sub/.gitignore": b"x*\n"}
    folder = lay(tmp_path / "tree", {**files, "sub/x y.py": b"", "x.py": b""})
    before = state(repository)

    assert ignored_files(asked, folder) == {"megatron/lib.so", "sub/x y.py"}
    assert state(repository) == before


def test_many_names_are_asked_about_at_once_and_what_is_no_commit_is_none(repository: Path) -> None:
    first, second = (git(repository, "rev-parse", name) for name in ("v1^{commit}", "main"))
    blob = git(repository, "rev-parse", "main:run.sh")
    asked = {"v1": first, "refs/heads/main": second, "no/such": None, second: second, "0" * 40: None, blob: None}

    assert GitProgram(repository).commits(list(asked)) == asked
    assert GitProgram(repository).commits([]) == {}
    odd = dict.fromkeys(["main\nmain", "main\u2028main", "main\udcff"])
    assert GitProgram(repository).commits([*odd, "main"]) == {**odd, "main": GitProgram(repository).commit("main")}


def test_any_name_of_a_commit_leads_to_the_commit(repository: Path) -> None:
    first = git(repository, "rev-parse", "v1^{commit}")

    found = {name: GitTree(repository, name).commit for name in ("v1", "main~1", first, first[:10], "refs/tags/v1")}
    assert found == dict.fromkeys(found, first)


def test_another_revision_is_had_from_the_same_tree(repository: Path) -> None:
    tree = GitTree(repository, "v1")
    newer = tree.at("main")

    assert (tree.read("megatron/core/a.py"), newer.read("megatron/core/a.py")) == (b"a\n", b"newer\n")
    assert newer.commit == git(repository, "rev-parse", "main")


def test_a_blob_id_is_had_without_the_content(repository: Path) -> None:
    tree = GitTree(repository, "v1")

    assert tree.blob_id("megatron/core/a.py") == blob_id(b"a\n")
    assert (tree.blob_id("megatron"), tree.blob_id("nothing")) == (None, None)


@pytest.mark.parametrize("path", ["megatron/link.py", "linked", "../repository/run.sh", "/etc/passwd"])
def test_what_leads_elsewhere_is_not_read(repository: Path, path: str) -> None:
    with pytest.raises(UnsafePathError):
        GitTree(repository, "v1").read(path)


@pytest.mark.parametrize(
    "revision", ["v2", "0" * 40, "v1:run.sh", "v1^{tree}", "", "-x", "a..b", "two\nlines", "main~9"]
)
def test_a_revision_that_is_not_there_is_said_with_what_to_do(repository: Path, revision: str) -> None:
    with pytest.raises(RevisionNotFoundError) as caught:
        GitTree(repository, revision)

    assert caught.value.message == f"{repository} has no revision {revision!r}"
    assert caught.value.hint == f"fetch it: git -C {repository} fetch --tags"


@pytest.mark.parametrize(
    "harm", [without_objects, without_alternates, partial(with_a_cut, ".pack"), partial(with_a_cut, ".idx")]
)
def test_a_clone_that_lost_its_objects_is_damaged_and_lacks_no_branch(
    repository: Path, tmp_path: Path, harm: Callable[[Path], str]
) -> None:
    clone = tmp_path / "clone.git"
    git(tmp_path, "clone", "-q", "--bare", repository.as_uri(), clone)
    git(clone, "repack", "-qad")
    commit = git(clone, "rev-parse", "main")
    culprit = harm(clone)
    for revision in ("main", "main~1"):
        with pytest.raises(DamagedCloneError) as caught:
            GitProgram(clone).commit(revision)
        # Behind it are git's own words, which differ from version to version, where git has any.
        said, _, words = caught.value.message.partition(" (git: error: ")
        assert said == f"{clone} is damaged: main is {commit}, which is not there"
        assert (culprit in words, bool(words)) == (True, bool(culprit))
        assert caught.value.hint == f"git -C {clone} fsck says what is damaged; a new clone mends it"
    with pytest.raises(RevisionNotFoundError, match="has no revision 'other'"):
        GitProgram(clone).commit("other")


def test_of_many_commits_one_that_cannot_be_read_hides_no_other(repository: Path) -> None:
    whole, lost = (git(repository, "rev-parse", name) for name in ("v1^{commit}", "main"))
    place = repository / ".git" / "objects" / lost[:2] / lost[2:]
    place.chmod(0o644)
    place.write_bytes(b"nonsense")
    program = GitProgram(repository)
    assert program.commits(["main", "v1", "nothing"]) == {"main": None, "v1": whole, "nothing": None}
    with pytest.raises(DamagedCloneError, match="is damaged: main cannot be read"):
        program.commit("main")


def test_a_ref_with_no_id_in_it_is_damage(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone.git"
    git(tmp_path, "clone", "-q", "--bare", repository.as_uri(), clone)
    git(clone, "pack-refs", "--all")
    (clone / "packed-refs").write_text("")
    (clone / "refs" / "heads" / "main").write_text("nonsense\n")
    with pytest.raises(DamagedCloneError) as caught:
        GitProgram(clone).commit("main")
    assert caught.value.message == (
        f"{clone} is damaged: main cannot be read (git: warning: ignoring broken ref refs/heads/main)"
    )


def test_after_a_revision_that_is_not_there_others_can_still_be_read(repository: Path) -> None:
    tree = GitTree(repository, "v1")
    with pytest.raises(RevisionNotFoundError):
        tree.at("two\nlines")

    assert tree.at("main").read("megatron/core/a.py") == b"newer\n"


def test_a_shallow_clone_is_named_in_the_hint(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", repository.as_uri(), "shallow")

    with pytest.raises(RevisionNotFoundError) as caught:
        GitTree(tmp_path / "shallow", "v1")

    hint = f"fetch it: git -C {tmp_path}/shallow fetch --tags --unshallow (this clone is shallow)"
    assert caught.value.hint == hint


@pytest.mark.parametrize("kind", ["bare", "worktree", "no settings", "hook"])
def test_every_kind_of_repository_is_read(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    other = tmp_path / "other"
    if kind == "worktree":
        git(repository, "worktree", "add", "-q", other, "v1")
    elif kind == "hook":
        git(tmp_path, "init", "-q", "hooked")
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "hooked" / ".git"))
        monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "hooked" / ".git" / "index"))
        other = repository
    else:
        git(tmp_path, "clone", "-q", "--bare", repository, "other")
        if kind == "no settings":
            (other / "config").unlink()

    assert GitTree(other, "v1").read("megatron/core/a.py") == b"a\n"
    if kind != "no settings":
        assert commit_series(other, "v1", "made", [spec({"new": b""})]) == [GitTree(other, "made").commit]


@pytest.mark.parametrize("name", ["missing", "plain", "plain/$HOME"])
def test_a_folder_without_repository_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "plain").mkdir()

    with pytest.raises(TreeError) as caught:
        GitTree(tmp_path / name, "main")

    assert caught.value.message == f"{tmp_path / name} is not a git repository"


def test_a_repository_of_somebody_else_is_refused_in_gits_words(repository: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    for folder in (repository, repository / ".git"):
        os.chown(folder, 12345, 12345)

    with pytest.raises(TreeError, match="dubious ownership"):
        GitTree(repository, "v1")


def test_a_missing_object_is_a_tree_error(repository: Path) -> None:
    blob = blob_id(b"a\n")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    tree = GitTree(repository, "v1")

    with pytest.raises(TreeError) as caught:
        tree.read("megatron/core/a.py")

    assert caught.value.message == (
        f"git cannot read megatron/core/a.py ({blob}) of {repository}@v1: fatal: Not a valid object name {blob}"
    )


def test_an_object_that_ends_early_is_a_tree_error_and_the_others_are_read(repository: Path) -> None:
    content = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(6_000))
    (repository / "big.bin").write_bytes(content)
    record(repository, "Something big")
    blob = blob_id(content)
    file = repository / ".git" / "objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:100_000])
    tree = GitTree(repository, "HEAD")

    with pytest.raises(TreeError) as caught:
        tree.read("big.bin")

    assert caught.value.message.startswith(f"git cannot read big.bin ({blob}) of {repository}@HEAD: fatal: ")
    assert tree.read("megatron/core/a.py") is not None


@pytest.mark.parametrize("refresh", [None, "quiet"])
def test_a_machine_without_git_is_explained(repository: Path, tmp_path: Path, refresh: str | None) -> None:
    program = (
        "from pathlib import Path\nfrom patchkit.errors import TreeError\nfrom patchkit.trees.git import GitTree\n"
        f"try:\n    GitTree(Path({str(repository)!r}), 'v1')\nexcept TreeError as error:\n    print(error.message)\n"
    )
    environment = {"PATH": str(tmp_path), **({"GIT_PYTHON_REFRESH": refresh} if refresh else {})}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "reading a git repository needs the git program, and it cannot be run\n"


def test_a_replaced_object_does_not_pass_for_the_original(repository: Path) -> None:
    replacement = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"],  # noqa: S607
        cwd=repository,
        input=b"forged\n",
        capture_output=True,
        check=True,
    ).stdout.decode()
    git(repository, "replace", blob_id(b"a\n"), replacement.strip())

    assert GitTree(repository, "v1").read("megatron/core/a.py") == b"a\n"


def test_an_export_has_the_bytes_of_the_blobs_with_the_edits(repository: Path, tmp_path: Path) -> None:
    lay(repository, {".gitattributes": b"b.py export-ignore\na.py text eol=crlf\n"})
    record(repository, "attributes")
    git(repository, "config", "core.autocrlf", "true")
    edits = {"run.sh": b"#!/bin/bash\n", "megatron-x.py": None, "new/c.py": b"c\n", "never-there": None}
    before = os.umask(0o022)
    try:
        export(GitTree(repository, "main"), tmp_path / "out", edits)
    finally:
        os.umask(before)

    assert snapshot(tmp_path / "out") == {
        ".gitattributes": (0o644, b"b.py export-ignore\na.py text eol=crlf\n"),
        "linked": "link to megatron/core",
        "megatron": "folder",
        "megatron/core": "folder",
        "megatron/core/a.py": (0o644, b"newer\n"),
        "megatron/core/b.py": (0o644, b"b\r\n"),
        "megatron/link.py": "link to core/a.py",
        "new": "folder",
        "new/c.py": (0o644, b"c\n"),
        "run.sh": (0o755, b"#!/bin/bash\n"),
    }


def test_a_submodule_becomes_an_empty_folder(repository: Path, tmp_path: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit},sub/module")
    git(repository, "commit", "-q", "-m", "submodule")
    tree = GitTree(repository, "main")
    export(tree, tmp_path / "out", {})

    assert list((tmp_path / "out" / "sub" / "module").iterdir()) == []
    assert tree.read("sub/module") is None
    assert "sub/module" not in list(tree.paths())


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../outside", "core/../../../outside", "core/../core/a.py", "../../repository"]
)
def test_an_export_refuses_a_link_that_leads_or_could_lead_out(repository: Path, tmp_path: Path, target: str) -> None:
    place = repository / ("evil" if target == "../outside" else "megatron/evil")
    place.symlink_to(target)
    record(repository, "evil")

    with pytest.raises(UnsafePathError) as caught:
        export(GitTree(repository, "main"), tmp_path / "out", {})

    name = place.relative_to(repository).as_posix()
    assert caught.value.message == f"{name} is a link to {target!r}, which is not inside the tree"
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]


@pytest.mark.parametrize("path", ["megatron/link.py", "../x", "/x"])
def test_an_export_refuses_edits_of_links_and_of_places_outside(repository: Path, tmp_path: Path, path: str) -> None:
    for content in (b"", None):
        with pytest.raises(UnsafePathError):
            export(GitTree(repository, "main"), tmp_path / "out", {path: content})

    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", [".patchkit/lock", "a/.PatchKit/journal/journal.json"])
def test_a_revision_that_comes_with_notes_of_ours_is_not_exported(repository: Path, tmp_path: Path, name: str) -> None:
    place = repository / name
    place.parent.mkdir(parents=True)
    place.write_text("{}")
    record(repository, "evil")

    with pytest.raises(UnsafePathError) as caught:
        export(GitTree(repository, "main"), tmp_path / "out", {})

    assert caught.value.message == f"{name} is where patchkit keeps its own files"
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]


def test_the_record_of_a_patched_revision_is_exported(repository: Path, tmp_path: Path) -> None:
    (repository / ".patchkit").mkdir()
    (repository / MANIFEST).write_text("{}")
    record(repository, "patched")
    export(GitTree(repository, "main"), tmp_path / "out", {})

    assert (tmp_path / "out" / MANIFEST).read_text() == "{}"


def test_an_export_that_fails_leaves_nothing(repository: Path, tmp_path: Path) -> None:
    tree = GitTree(repository, "main")
    with tripped(lambda calls: calls == 5, full_disk), pytest.raises(WriteFailedError):
        export(tree, tmp_path / "out", {})
    with pytest.raises(TreeError, match="exists and is not empty"):
        export(tree, repository, {})

    assert [path.name for path in tmp_path.iterdir()] == ["repository"]


def test_a_series_becomes_a_branch_with_one_commit_each(repository: Path) -> None:
    (repository / "untracked").write_bytes(b"untracked\n")
    (repository / "run.sh").write_bytes(b"edited, not staged\n")
    before = state(repository)
    first = spec({"run.sh": b"#!/bin/bash\n", "new/é.py": b"new\r\n", "never-there": None}, "first é\n\nbody\n")
    second = spec({"megatron-x.py": None, "new/é.py": b"newer\n"}, "second")
    made = commit_series(repository, "v1", "patches/series", [first, second])

    def told(commit: str) -> str:
        return git(repository, "log", "-1", "--format=%P|%an|%ae|%ad|%B", "--date=iso-strict", commit)

    base = git(repository, "rev-parse", "v1^{commit}")
    author = "A U Thor|author@example.org|2026-01-02T03:04:05+01:00"
    assert told(made[0]).rstrip() == f"{base}|{author}|first é\n\nbody"
    assert told(made[1]).rstrip() == f"{made[0]}|{author}|second"
    assert git(repository, "rev-parse", "patches/series") == made[1]
    listing = git(repository, "-c", "core.quotePath=false", "ls-tree", "-r", "patches/series").splitlines()
    assert listing == [
        f"{mode} blob {blob_id(content)}\t{path}"
        for mode, path, content in (
            ("120000", "linked", b"megatron/core"),
            ("100644", "megatron/core/a.py", b"a\n"),
            ("100644", "megatron/core/b.py", b"b\r\n"),
            ("120000", "megatron/link.py", b"core/a.py"),
            ("100644", "new/é.py", b"newer\n"),
            ("100755", "run.sh", b"#!/bin/bash\n"),
        )
    ]
    after = state(repository)
    assert {path for path in after if path not in before} == {
        f".git/{place}refs/heads/{name}" for place in ("", "logs/") for name in ("patches", "patches/series")
    }
    assert {path: after[path] for path in before} == before


def test_a_series_of_nothing_is_a_branch_at_the_revision(repository: Path) -> None:
    assert commit_series(repository, "v1", "empty", []) == []
    assert git(repository, "rev-parse", "empty") == git(repository, "rev-parse", "v1^{commit}")


def test_settings_and_hooks_of_the_user_have_no_say(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    for name in (
        "pre-commit",
        "post-commit",
        "commit-msg",
        "post-index-change",
        "reference-transaction",
        "fsmonitor",
    ):
        lay(hooks, {name: f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\nexit 1\n".encode()}, mode=0o755)
    settings = tmp_path / "settings"
    settings.write_text(
        f"[core]\n hooksPath = {hooks}\n fsmonitor = {hooks}/fsmonitor\n splitIndex = true\n"
        " autocrlf = true\n safecrlf = true\n[commit]\n gpgSign = true\n"
        "[gpg]\n program = false\n[i18n]\n commitEncoding = latin-1\n[user]\n name = Set\n email = set@example.org\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    before = state(repository)
    made = commit_series(repository, "v1", "series", [spec({"crlf.py": b"a\r\nb\n"}, "é\n")])
    new = {path for path in state(repository) if path not in before}

    raw = subprocess.run(
        ["git", "cat-file", "commit", made[0]],  # noqa: S607
        cwd=repository,
        capture_output=True,
        check=True,
    ).stdout
    assert b"encoding" not in raw
    assert b"gpgsig" not in raw
    assert "\n\né\n".encode() in raw
    assert b"\ncommitter Set <set@example.org> " in raw
    assert GitTree(repository, "series").read("crlf.py") == b"a\r\nb\n"
    assert list(tmp_path.glob("ran-*")) == []
    assert new == {".git/refs/heads/series", ".git/logs/refs/heads/series"}


@pytest.mark.parametrize(
    ("environment", "committer"),
    [
        ({}, "patchkit <patchkit@localhost>"),
        ({"GIT_COMMITTER_NAME": "Only Name"}, "patchkit <patchkit@localhost>"),
        ({"GIT_COMMITTER_NAME": "Me", "GIT_COMMITTER_EMAIL": "me@example.org"}, "Me <me@example.org>"),
    ],
)
def test_the_committer_is_the_user_where_git_knows_one(
    repository: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], committer: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("EMAIL", raising=False)
    made = commit_series(repository, "v1", "series", [spec({"a": b"a"})])

    assert git(repository, "log", "-1", "--format=%cn <%ce>", made[0]) == committer


def test_a_branch_that_exists_is_left_alone(repository: Path) -> None:
    git(repository, "branch", "taken", "v1")
    before = state(repository)

    with pytest.raises(TreeError) as caught:
        commit_series(repository, "main", "taken", [spec({"a": b"a"})])

    assert caught.value.message == f"{repository} already has a branch taken"
    expected = f"name another branch, or remove this one: git -C {repository} branch -D taken"
    assert caught.value.hint == expected
    assert state(repository) == before


def test_the_command_that_removes_a_branch_runs_nothing_that_a_name_says(repository: Path) -> None:
    place = repository.rename(repository.with_name("a; touch b"))
    git(place, "branch", "$(c)", "v1")
    with pytest.raises(TreeError) as caught:
        commit_series(place, "main", "$(c)", [spec({"a": b"a"})])

    assert caught.value.hint == f"name another branch, or remove this one: git -C '{place}' branch -D '$(c)'"
    with pytest.raises(TreeError) as caught:
        commit_series(place, "nowhere", "d", [])

    assert caught.value.hint == f"fetch it: git -C '{place}' fetch --tags"


@pytest.mark.parametrize("branch", ["", "-d", "HEAD", "a..b", "a b", "a/", "@{-1}", "x.lock"])
def test_what_cannot_be_a_branch_is_a_usage_error(repository: Path, branch: str) -> None:
    with pytest.raises(UsageError) as caught:
        commit_series(repository, "v1", branch, [])

    assert caught.value.message == f"{branch!r} cannot be the name of a branch"


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (CommitSpec("m", "", "a@example.org", "2026-01-02T03:04:05Z", {"a": b""}), TreeError),
        (CommitSpec("m", "A", "a@example.org", "no date", {"a": b""}), TreeError),
        (spec({"run.sh/below-a-file": b""}), TreeError),
        (spec({"megatron": b"where a folder is"}), TreeError),
        (spec({"../outside": b""}), UnsafePathError),
        (spec({".git/hooks/post-checkout": b""}), UnsafePathError),
        (spec({"a/" * 257 + "b": b""}), UnsafePathError),
        (spec({"linked": b""}), UnsafePathError),
        (spec({"megatron/link.py": None}), UnsafePathError),
    ],
)
def test_a_series_that_git_or_we_refuse_makes_no_branch(
    repository: Path, bad: CommitSpec, error: type[TreeError]
) -> None:
    before = state(repository)

    with pytest.raises(error):
        commit_series(repository, "v1", "series", [spec({"a": b"a"}), bad])

    assert state(repository) == before


def with_a_file_in_folders(repository: Path, depth: int) -> None:
    """Make the branch ``deep``: what v1 has, and one file more."""
    blob = git(repository, "rev-parse", "v1:run.sh")
    git(repository, "update-index", "--add", "--cacheinfo", f"100644,{blob},{'a/' * depth}b")
    tree = git(repository, "write-tree")
    git(repository, "branch", "deep", git(repository, "commit-tree", tree, "-m", "deep"))
    git(repository, "reset", "-q")


def test_a_revision_that_is_too_deep_for_a_folder_is_for_a_branch(repository: Path, tmp_path: Path) -> None:
    with_a_file_in_folders(repository, 257)
    before = state(repository)
    tree = GitTree(repository, "deep")
    said = f"{tree.label}: {'a/' * 40 + '...'!r} is nested more than 256 folders deep"
    with pytest.raises(UnsafePathError) as caught:
        export(tree, tmp_path / "new", {})
    hint = "name another revision: no folder can be made of this one"
    assert (caught.value.message, caught.value.hint) == (said, hint)
    with pytest.raises(UnsafePathError) as caught:
        commit_series(repository, "deep", "series", [spec({"run.sh": b""})])
    assert (caught.value.message, caught.value.hint) == (said, hint)
    assert ((tmp_path / "new").exists(), state(repository)) == (False, before)


def test_a_revision_as_deep_as_a_folder_may_be_becomes_both(repository: Path, tmp_path: Path) -> None:
    with_a_file_in_folders(repository, 256)
    export(GitTree(repository, "deep"), tmp_path / "new", {})
    made = commit_series(repository, "deep", "series", [spec({"run.sh": b""})])

    assert (tmp_path / "new" / ("a/" * 256) / "b").read_bytes() == FILES["run.sh"]
    assert git(repository, "rev-parse", "series") == made[0]


def test_a_branch_made_by_somebody_else_meanwhile_is_left_alone(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import patchkit.trees.git_write as module

    monkeypatch.setattr(module, "_refuse_branch", lambda *_args: git(repository, "branch", "series", "main"))
    with pytest.raises(TreeError, match="git update-ref failed"):
        commit_series(repository, "v1", "series", [spec({"a": b"a"})])

    assert git(repository, "rev-parse", "series") == git(repository, "rev-parse", "main")


def test_a_tree_that_is_dropped_leaves_no_process_and_no_open_file(repository: Path) -> None:
    program = (
        "import gc; from pathlib import Path; from patchkit.trees.git import GitTree\n"
        f"tree = GitTree(Path({str(repository)!r}), 'v1'); tree.read('run.sh'); other = tree.at('main')\n"
        "del tree, other\n"
        "gc.collect(); import subprocess; print(len(subprocess._active))"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )

    assert (done.stdout, done.stderr) == ("0\n", "")


def test_an_exported_tree_is_the_same_as_the_checkout(repository: Path, tmp_path: Path) -> None:
    export(GitTree(repository, "main"), tmp_path / "out", {})

    checkout = {path: content for path, content in contents(repository).items() if not path.startswith(".git/")}
    assert contents(tmp_path / "out") == checkout


# Asking git, and who works here.


def test_a_link_to_a_repository_with_a_nul_in_it_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: a\0b\n")

    with pytest.raises(TreeError, match=r"is not a git repository$"):
        GitTree(tmp_path, "v1")


@pytest.mark.parametrize("damage", ["HEAD", "objects", "refs"])
def test_what_only_looks_like_a_repository_does_not_stand_for_one_above_it(
    repository: Path, tmp_path: Path, damage: str
) -> None:
    git(tmp_path, "init", "-q", "repository/sub")
    sub = repository / "sub"
    (sub / ".git" / damage).rename(sub / ".git" / "lost")

    with pytest.raises(TreeError) as caught:
        GitTree(sub, "v1")

    assert caught.value.message == f"{sub} is not a git repository"
    (sub / ".git" / "lost").rename(sub / ".git" / damage)
    (sub / ".git" / "HEAD").write_text("nothing\n")
    with pytest.raises(TreeError, match="fatal: not a git repository"):
        GitTree(sub, "v1")


def test_a_question_that_takes_too_long_is_stopped(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = GitTree(repository, "main")
    assert tree.ask("rev-parse", "main", seconds=60).decode().strip() == tree.commit
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(TimeoutError, match="git log took longer than"):
        tree.ask("log", "--format=%H", "main", seconds=0.2)


def test_no_file_is_read_for_names_of_people_that_a_clone_points_to(repository: Path) -> None:
    git(repository, "config", "mailmap.file", "/dev/zero")

    assert GitProgram(repository).output("config", "--type=bool", "log.mailmap") == b"false\n"


def test_older_names_of_a_single_path_are_not_looked_for(repository: Path) -> None:
    # It leaves out commits of merges.
    git(repository, "config", "log.follow", "true")

    assert GitProgram(repository).output("config", "--type=bool", "log.follow") == b"false\n"


def test_settings_of_more_than_a_mebibyte_are_not_looked_at_and_nothing_is_downloaded(repository: Path) -> None:
    lay(repository, {".git/config.worktree": b"# x\n" * (1 << 18) + b"\n"})

    assert GitProgram(repository).environment["GIT_NO_LAZY_FETCH"] == "1"


def test_an_object_that_claims_to_be_larger_than_any_source_is_not_read(repository: Path) -> None:
    blob = claim(repository / ".git", 99_999_999_999)

    with pytest.raises(TreeError) as caught:
        GitTree(repository, "main").content(blob, "a.py")

    assert caught.value.message == f"git cannot read a.py ({blob}) of {repository}@main: it is larger than 256 MiB"


@pytest.mark.parametrize(
    ("status", "said"), [(-11, "it was ended by SIGSEGV"), (-99, "it was ended by signal 99"), (3, "exit status 3")]
)
def test_how_a_git_without_words_ended_is_told(
    repository: Path, monkeypatch: pytest.MonkeyPatch, status: int, said: str
) -> None:
    program = GitProgram(repository)
    monkeypatch.setattr("patchkit.trees.git_program.run_git", lambda *_command, **_how: (status, b"", ""))

    with pytest.raises(TreeError) as caught:
        program.output("ls-tree", "main")
    assert caught.value.message == f"git ls-tree failed in {repository}: {said}"


def test_several_revisions_are_asked_for_at_once_and_those_that_are_not_there_left_out(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = git(repository, "rev-parse", "v1^{commit}")
    program = GitProgram(repository)
    asked: list[str] = []
    run = GitProgram.run

    def told(self: GitProgram, command: Sequence[str], **how: Any) -> tuple[int, bytes, str]:
        asked.append(command[0])
        return run(self, command, **how)

    monkeypatch.setattr(GitProgram, "run", told)
    found = GitTree.several(program, ["v1", "none", "0" * 40, "HEAD\nHEAD", commit, "v1:megatron"])

    assert [(tree.revision, tree.commit) for tree in found] == [("v1", commit), (commit, commit)]
    assert [tree.read("megatron/core/a.py") for tree in found] == [b"a\n"] * 2
    assert asked == ["cat-file"]
