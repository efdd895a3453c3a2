"""A clone from a stranger: nothing that its settings, hooks, attributes or alternates name is ever run.

Each way by which git would start a program leaves a file, a canary, when it does.
"""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from operations import made_up as texts
from operations.carried_world import NOTES, NOTES_1, World
from trees.repositories import AUTHOR, git
from trees.snapshots import lay

from patchkit.trees.git_program import GitProgram

from .conftest import Command

HOOKS = (
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "pre-auto-gc",
    "pre-commit",
    "prepare-commit-msg",
    "reference-transaction",
)
"""Hooks that git runs in the repository itself."""


def program(canaries: Path, name: str) -> Path:
    """A program that leaves a canary, waits for nothing, and passes on what a filter is given."""
    file = canaries / "bin" / name
    then = "exec cat" if name.startswith("filter.evil.") else "exit 0"
    lay(canaries, {f"bin/{name}": f"#!/bin/sh\ntouch '{canaries}/{name}.ran'\n{then}\n".encode()}, mode=0o755)
    return file


def poison(repository: Path, canaries: Path) -> None:
    """Give a repository everything that can make git run something."""

    def run(name: str) -> Path:
        return program(canaries, name)

    folder = repository / ".git"
    for hook in HOOKS:
        lay(folder / "hooks", {hook: run(f"hook-{hook}").read_bytes()}, mode=0o755)
    settings = {
        "core.fsmonitor": run("core.fsmonitor"),
        "core.hooksPath": folder / "hooks",
        "core.pager": run("core.pager"),
        "core.editor": run("core.editor"),
        "core.sshCommand": run("core.sshCommand"),
        "core.askPass": run("core.askPass"),
        "core.gitProxy": run("core.gitProxy"),
        "core.alternateRefsCommand": run("core.alternateRefsCommand"),
        "core.attributesFile": canaries / "attributes",
        "credential.helper": f"!{run('credential.helper')}",
        "diff.external": run("diff.external"),
        "diff.evil.command": run("diff.evil.command"),
        "diff.evil.textconv": run("diff.evil.textconv"),
        "filter.evil.clean": run("filter.evil.clean"),
        "filter.evil.smudge": run("filter.evil.smudge"),
        "filter.evil.process": run("filter.evil.process"),
        "filter.evil.required": "true",
        "merge.evil.driver": run("merge.evil.driver"),
        "gpg.program": run("gpg.program"),
        "gpg.ssh.program": run("gpg.ssh.program"),
        "log.showSignature": "true",
        "gc.recentObjectsHook": run("gc.recentObjectsHook"),
        "hook.evil.command": run("hook.evil.command"),
        "hook.evil.event": "reference-transaction",
        "hook.index.command": run("hook.index.command"),
        "hook.index.event": "post-index-change",
        "commit.gpgSign": "true",
        "tag.gpgSign": "true",
        "sequence.editor": run("sequence.editor"),
        "interactive.diffFilter": run("interactive.diffFilter"),
        "pager.log": run("pager.log"),
        "pager.show": run("pager.show"),
        "pager.blame": run("pager.blame"),
        "uploadpack.packObjectsHook": run("uploadpack.packObjectsHook"),
        "trailer.x.command": run("trailer.x.command"),
        **{
            f"alias.{name}": f"!{run(f'alias.{name}')}"
            for name in ("log", "show", "rev-parse", "cat-file", "ls-tree", "blame", "rev-list")
        },
    }
    for name, value in settings.items():
        git(repository, "config", name, str(value))
    lay(canaries, {"attributes": b"* filter=evil diff=evil merge=evil\n", "more": b""})
    lay(folder, {"info/attributes": b"* filter=evil diff=evil merge=evil\n"})
    included = f"[core]\n\tpager = {run('include.path')}\n"
    lay(canaries, {"more": included.encode()})
    git(repository, "config", "include.path", str(canaries / "more"))


def ran(canaries: Path) -> list[str]:
    """Names of the programs that were run."""
    return sorted(path.name.removesuffix(".ran") for path in canaries.glob("*.ran"))


def signed_head(repository: Path) -> None:
    """Give the branch a commit that says it is signed: with log.showSignature git asks gpg about it."""
    head = git(repository, "cat-file", "commit", "HEAD")
    about, _, message = head.partition("\n\n")
    parent = git(repository, "rev-parse", "HEAD")
    lines = [line for line in about.splitlines() if not line.startswith("parent ")]
    lines.insert(1, f"parent {parent}")
    lines.append("gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----")
    text = "\n".join(lines) + "\n\n" + message + "\n"
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],  # noqa: S607 - whichever git the machine has
        cwd=repository,
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    git(repository, "update-ref", "refs/heads/main", made.stdout.decode().strip())


@pytest.fixture
def canaries(tmp_path: Path) -> Path:
    (tmp_path / "canaries").mkdir()
    return tmp_path / "canaries"


@pytest.fixture
def poisoned(tmp_path: Path, canaries: Path) -> Path:
    """The made-up Megatron's repository, poisoned."""
    texts.repository(tmp_path / "repository")
    signed_head(tmp_path / "repository")
    poison(tmp_path / "repository", canaries)
    return tmp_path / "repository"


def test_the_canaries_sing(poisoned: Path, canaries: Path) -> None:
    """Else the tests below would prove nothing."""
    lay(poisoned, {texts.path_of("config"): b"changed = 1\n"})
    environment = {**os.environ, "GIT_PAGER": ""}
    environment |= {name: value for name, value in AUTHOR.items() if name.startswith("GIT_")}
    # The one that is required, and speaks no protocol, stops all that needs it.
    for name in ("filter.evil.process", "filter.evil.required"):
        git(poisoned, "config", "--unset", name)
    for command in (["log", "-1"], ["diff"], ["commit", "-a", "-m", "x", "--no-gpg-sign"]):
        subprocess.run(["git", *command], cwd=poisoned, env=environment, capture_output=True, check=False)  # noqa: S607

    assert {"core.fsmonitor", "diff.evil.command", "gpg.program", "hook-pre-commit"} <= set(ran(canaries))
    assert any(name.startswith("filter.evil.") for name in ran(canaries))


def test_no_command_that_reads_or_writes_a_clone_runs_anything_of_it(
    made_up: Command, poisoned: Path, canaries: Path, tmp_path: Path
) -> None:
    commands = {
        "apply --to": ("apply", "--git", poisoned, "--megatron", "1.1", "--to", tmp_path / "new"),
        "apply --branch": ("apply", "--git", poisoned, "--megatron", "1.1", "--branch", "patched"),
        "apply --in": ("apply", "--in", poisoned, "--megatron", "main"),
        "status": ("status", "--in", poisoned),
        "verify": ("verify", "--in", poisoned),
        "check-upstream": ("check-upstream", "--offline", "--git", poisoned),
        "history": ("history", "--git", poisoned, "--onto", "main"),
        "explain": ("explain", "grads/init", "--onto", "main", "--git", poisoned),
        "regenerate": ("regenerate", "--git", poisoned),
    }
    told: dict[str, list[str]] = {}
    for name, (command, *arguments) in commands.items():
        made_up(command, *arguments)
        told[name] = ran(canaries)
        for canary in canaries.glob("*.ran"):
            canary.unlink()

    assert told == {command: [] for command in commands}
    assert (tmp_path / "new" / "megatron" / "core" / "config.py").is_file()
    assert git(poisoned, "rev-parse", "refs/heads/patched") != ""


def test_rebase_and_explain_ask_git_about_lines_and_run_nothing(
    patchkit: Command, canaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "world", {NOTES: NOTES_1.replace(b"colour: red", b"colour: blue")})
    repository = world.repository()
    poison(repository, canaries)
    monkeypatch.setenv("PATCHKIT_CACHE", str(world.cache))
    asked = ("--patches", world.series, "--git", repository)
    rebased = patchkit("rebase", *asked, "--onto", "v2.0")
    explained = patchkit("explain", "first/notes-colour", *asked, "--onto", "v2.0", "--from", "v1.0")

    assert (rebased.code, "conflict" in rebased.out) == (1, True)
    assert "#27" in rebased.out + explained.out
    assert ran(canaries) == []


@pytest.mark.parametrize("alone", [False, True], ids=["with its settings", "without settings"])
def test_the_repository_of_another_user_is_refused_by_every_command(
    made_up: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, alone: bool
) -> None:
    repository = tmp_path / "repository"
    texts.repository(repository)
    if alone:
        (repository / ".git" / "config").unlink()
    lay(tmp_path / "tree", texts.PATCHED["2.0"])
    # For the tests of git (t0033-safe-directory).
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    done = [
        made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new"),
        made_up("apply", "--git", repository, "--megatron", "1.1", "--branch", "patched"),
        made_up("capture", "--from", tmp_path / "tree", "--megatron", "2.0", "--git", repository),
        made_up("check-upstream", "--offline", "--git", repository),
        made_up("regenerate", "--git", repository),
    ]

    assert [(one.code, "dubious ownership" in one.err) for one in done] == [(4, True)] * 5
    assert not (tmp_path / "new").exists()


def partial(folder: Path) -> Path:
    """A partial clone of the repository ``other``, without a file of 1.1."""
    repository = folder / "repository"
    texts.repository(repository)
    texts.repository(folder / "other")
    git(repository, "config", "core.repositoryFormatVersion", "1")
    git(repository, "config", "extensions.partialClone", "origin")
    git(repository, "config", "remote.origin.promisor", "true")
    blob = git(repository, "rev-parse", f"core_v1.1:{texts.path_of('buffer')}")
    missing = repository / ".git" / "objects" / blob[:2] / blob[2:]
    missing.chmod(stat.S_IRUSR | stat.S_IWUSR)
    missing.unlink()
    return repository


def test_a_download_starts_no_maintenance_of_the_clone(
    made_up: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = partial(tmp_path)
    git(repository, "config", "remote.origin.url", str(tmp_path / "other"))
    git(repository, "config", "gc.auto", "1")
    git(tmp_path / "other", "config", "uploadpack.allowFilter", "true")
    git(tmp_path / "other", "config", "uploadpack.allowAnySHA1InWant", "true")
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(tmp_path / "told"))
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new")
    started = {name for name in ("fetch", "maintenance", "gc") if f'"{name}"' in (tmp_path / "told").read_text()}

    assert (done.code, started) == (0, {"fetch"})


def test_hooks_that_stand_in_the_settings_of_a_clone_are_off(poisoned: Path) -> None:
    # git knows them from 2.54 on: an empty event takes back all that were named before.
    told = GitProgram(poisoned).environment
    keys = {told[f"GIT_CONFIG_KEY_{number}"]: number for number in range(int(told["GIT_CONFIG_COUNT"]))}
    settings = {key: told[f"GIT_CONFIG_VALUE_{number}"] for key, number in keys.items() if key.startswith("hook.")}

    assert settings == {
        "hook.post-index-change.enabled": "false",
        "hook.reference-transaction.enabled": "false",
        **{f"hook.{name}.enabled": "false" for name in ("evil", "index")},
        **{f"hook.{name}.event": "" for name in ("evil", "index")},
    }


@pytest.mark.parametrize(
    "settings",
    [
        {"protocol.ext.allow": "always", "remote.origin.url": "ext::{program}"},
        {"core.sshCommand": "{program}", "remote.origin.url": "ssh://nowhere.invalid/x"},
        {"remote.origin.uploadpack": "{program}", "remote.origin.url": "{repository}"},
        {"core.gitProxy": "{program}", "remote.origin.url": "git://nowhere.invalid/x"},
        {"remote.origin.vcs": "evil", "remote.origin.url": "x"},
        {"http.cookieFile": "{program}", "remote.origin.url": "https://nowhere.invalid/x"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_what_a_partial_clone_lacks_is_not_fetched_by_a_program_that_it_names(
    made_up: Command, canaries: Path, tmp_path: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = partial(tmp_path)
    evil = program(canaries, "fetched")
    # A remote helper is looked up by its name.
    (canaries / "bin" / "git-remote-evil").symlink_to(evil)
    monkeypatch.setenv("PATH", f"{canaries / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for name, value in settings.items():
        git(repository, "config", name, value.format(program=evil, repository=tmp_path / "other"))
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new")

    assert ran(canaries) == []
    assert (done.code, (tmp_path / "new").exists()) == (4, False)
