"""Clones whose tags, commits and folder are as git allows them and nobody makes them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from operations import made_up as texts
from operations.carried_world import World
from trees.repositories import git, put
from trees.snapshots import contents, snapshot

from patchkit.store.versions import load_versions

from .conftest import Command
from .test_rebase import CLASH

TIMES = {
    "of the year 3170843": "99999999999999 +0000",
    "of 30 digits": f"{'1' * 30} +0000",
    "of 5,000 digits": f"{'1' * 5000} +0000",
    "below zero": "-5 +0000",
    "none": "",
}
NAMES = ("core_v3.0\u2028x", "core_v3.0\x85x", "core_v3.0\u00a0x", os.fsdecode(b"core_v3.0\xff"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    texts.repository(tmp_path / "repository")
    return tmp_path / "repository"


def committed(repository: Path, time: str, revision: str = "main") -> str:
    """Make the commit ``revision`` anew, made at ``time``, and return its id."""
    lines = git(repository, "cat-file", "commit", revision).split("\n")
    told = [f"committer C <c@example.org> {time}" if line.startswith("committer ") else line for line in lines]
    done = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],  # noqa: S607 - as trees.repositories
        cwd=repository,
        check=True,
        capture_output=True,
        input="\n".join(told).encode(),
    )
    return done.stdout.decode().strip()


def named(repository: Path, reference: str, commit: str) -> None:
    # git itself names no commit whose time it cannot read.
    (repository / ".git" / "refs" / reference).write_text(f"{commit}\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_tag_of_any_name_is_no_release_and_no_obstacle(made_up: Command, repository: Path, name: str) -> None:
    commands = [
        ("check-upstream", "--offline", "--git", repository, "--format", "json"),
        ("history", "--git", repository, "--range", "core_v1.0..main", "--format", "json"),
    ]
    # What was carried once is known, and told as such.
    before = [[made_up(*command) for command in commands] for _ in range(2)][1]
    subprocess.run([b"git", b"tag", os.fsencode(name), b"core_v1.0"], cwd=repository, check=True)

    assert [made_up(*command) for command in commands] == before
    assert [done.code for done in before] == [1, 0]


@pytest.mark.parametrize("time", TIMES)
def test_a_commit_without_a_time_of_our_age_has_no_date(made_up: Command, repository: Path, time: str) -> None:
    odd = committed(repository, TIMES[time])
    named(repository, "heads/odd", odd)
    named(repository, "tags/core_v9.0", odd)
    history = made_up("history", "--git", repository, "--range", "core_v1.0..odd", "--format", "json")
    drawn = made_up("history", "--git", repository, "--range", "core_v1.0..odd", "--format", "svg")
    text = made_up("history", "--git", repository, "--range", "core_v1.0..odd")
    explained = made_up("explain", "grads", "--onto", "odd", "--git", repository, "--format", "json")
    checked = made_up("check-upstream", "--offline", "--git", repository, "--format", "json")

    report = msgspec.json.decode(history.out)
    assert [(place["date"], place["time"]) for place in report["line"][-1:]] == [("", 0)]
    assert {mark["tag"]: mark["date"] for mark in report["marks"]} == {
        **dict.fromkeys(["core_v1.0", "core_v1.1"], "2026-01-02"),
        "core_v9.0": "",
    }
    assert f"(no date) {odd[:10]} main" in text.out
    assert (history.code, drawn.code, text.code, explained.code) == (0, 0, 0, 0)
    found = [each for each in msgspec.json.decode(checked.out)["targets"] if each["name"] == "core_v9.0"]
    assert [(each["commit"], each["date"]) for each in found] == [(odd, "")]


def test_a_series_can_be_begun_for_a_commit_without_a_date(
    patchkit: Command, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(repository, "heads/odd", committed(repository, "99999999999999 +0000"))
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    done = patchkit("init", "--megatron", "odd", "--git", repository)
    (versions,) = (tmp_path / "new").rglob("upstream_versions.yaml")

    assert done.code == 0
    assert [branch.date for branch in load_versions(versions).upstream.branches] == [""]


@pytest.mark.parametrize("style", ["json", "sarif", "junit", "html", "github", "markdown", "text"])
def test_a_clone_in_a_folder_whose_name_is_no_text_is_told_with_escapes(
    made_up: Command, repository: Path, tmp_path: Path, style: str
) -> None:
    odd = tmp_path / os.fsdecode(b"a\xffb")
    repository.rename(odd)
    done = made_up("check-upstream", "--offline", "--git", odd, "--format", style)

    assert (done.code, "a\\udcffb" in done.out.replace("\\\\", "\\")) == (1, True)


def test_json_of_any_command_tells_a_folder_whose_name_is_no_text(
    made_up: Command, repository: Path, tmp_path: Path
) -> None:
    odd = tmp_path / os.fsdecode(b"a\xffb")
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--to", odd, "--format", "json")
    verified = made_up("verify", "--in", odd, "--format", "json")

    assert (done.code, verified.code) == (0, 0)
    assert msgspec.json.decode(verified.out)["tree"] == f"{tmp_path}/a\\udcffb"


def test_texts_that_are_read_one_by_one_come_to_the_same(
    made_up: Command, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, answers = os.environ["PATCHKIT_CACHE"], []
    for name, most in (("one", 1), ("all", 1 << 20)):
        monkeypatch.setattr("patchkit.trees.git_texts._BATCH", most)
        # What another test has carried is known there.
        copied = shutil.copytree(cache, tmp_path / name, ignore=shutil.ignore_patterns("history"))
        monkeypatch.setenv("PATCHKIT_CACHE", str(copied))
        answers += [made_up("history", "--git", repository, *how, "--format", "json") for how in (("--all",), ())]

    assert answers[:2] == answers[2:]
    assert {done.code for done in answers} == {0}
    assert msgspec.json.decode(answers[0].out)["counts"]["carried"] == 4


ODD = os.fsdecode(b"a\xffb")


@pytest.mark.parametrize("odd", ["onto", "base", "edit_dir", "repository"])
def test_no_rebase_is_begun_that_could_not_be_written_down(patchkit: Command, tmp_path: Path, odd: str) -> None:
    made = World(tmp_path / "world", dict(CLASH))
    repository = made.repository()
    (repository / ".git" / "refs" / "heads" / ODD).write_text(git(repository, "rev-parse", "main") + "\n")
    named: dict[str, str | Path] = {
        "onto": "main",
        "base": "1.0",
        "edit_dir": tmp_path / "edit",
        "repository": repository,
    }
    before = snapshot(made.series)
    if odd == "repository":
        repository = repository.rename(tmp_path / f"{ODD}c")
    named |= {odd: tmp_path / f"{ODD}d" if odd == "edit_dir" else ODD, "repository": repository}
    flags = ("--onto", "--from", "--edit-dir", "--git")
    options = [word for pair in zip(flags, named.values(), strict=True) for word in pair]
    done = patchkit("rebase", "--patches", made.series, *options)

    (told,) = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert (done.code, done.out) == (2, "")
    assert re.fullmatch(r"error: '\S*a\\udcffb[cd]?' is not UTF-8, as names and texts in YAML must be", told)
    assert (snapshot(made.series), (tmp_path / "edit").exists()) == (before, False)


def test_a_project_is_not_begun_with_a_name_that_could_not_be_written_down(
    patchkit: Command, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / ".git" / "refs" / "heads" / ODD).write_text(git(repository, "rev-parse", "main") + "\n")
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    done = patchkit("init", "--megatron", ODD, "--git", repository)

    assert (done.code, done.err.splitlines()[-1:]) == (
        2,
        ["error: 'a\\udcffb' is not UTF-8, as names and texts in YAML must be"],
    )
    assert contents(tmp_path / "new") == {}


CHANGE = b"""\
--- a/megatron/core/buffer.py
+++ b/megatron/core/buffer.py
@@ -7,3 +7,3 @@
     def __init__(self, size):
-        self.size = size
+        self.size = int(size)
         self.kind = "buffer"
"""


@pytest.mark.parametrize(
    "command",
    [
        ("apply", "--megatron", "1.1", "--to", "new"),
        ("apply", "--megatron", "1.1", "--branch", "new"),
        ("history", "--range", "core_v1.0..main"),
        ("history", "--all"),
        ("explain", "grads", "--onto", "core_v1.1^{}", "--from", "1.0"),
        ("check-upstream", "--offline", "--onto", "core_v1.1^{}", "--from", "1.0"),
        ("rebase", "--onto", "core_v1.1^{}", "--from", "1.0"),
        ("import", "change.patch", "--base", "core_v1.1", "--name", "change"),
    ],
    ids=" ".join,
)
def test_a_text_in_the_place_of_another_one_is_told_by_every_command(
    made_up: Command, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    # What another test has carried is known there.
    cache = shutil.copytree(os.environ["PATCHKIT_CACHE"], tmp_path / "cache", ignore=shutil.ignore_patterns("history"))
    monkeypatch.setenv("PATCHKIT_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)
    Path("change.patch").write_bytes(CHANGE)
    path = texts.path_of("buffer")
    blob = git(repository, "rev-parse", f"core_v1.1:{path}")
    put(repository, b"blob", texts.UPSTREAM["1.1"][path].replace(b"size", b"evil"), blob)
    before = sorted(each.name for each in tmp_path.iterdir())
    done = made_up(*command, "--git", repository)

    told = " ".join(f"{done.out} {done.err}".split())
    # To check-upstream a target that cannot be read is one of several; here it is its only one, and tags have moved.
    assert done.code == (1 if command[0] == "check-upstream" else 4)
    assert re.search(rf"{path} \({blob}\) of {repository}\S*: its content is not the one that its id stands for", told)
    assert "this is a bug" not in told
    assert sorted(each.name for each in tmp_path.iterdir()) == before
