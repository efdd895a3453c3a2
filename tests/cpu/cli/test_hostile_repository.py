"""A clone from a stranger: nothing that its settings, hooks, attributes or alternates name is ever run.

Each way by which git would start a program leaves a file, a canary, when it does.
"""

from __future__ import annotations

import functools
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from operations import made_up as texts
from operations.carried_world import NOTES, NOTES_1, World
from operations.history_world import BLUE, HEADED, There, text
from trees.repositories import AUTHOR, git
from trees.snapshots import lay, nested

from patchkit.folders import TOO_DEEP
from patchkit.trees import git_program
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


@pytest.mark.parametrize("setting", ["extensions.partialClone", "remote.{name}.promisor"])
@pytest.mark.parametrize("option", ["--upload-pack={program};git-upload-pack", "-u"])
def test_the_name_of_a_remote_is_no_option_of_a_download(
    made_up: Command, canaries: Path, tmp_path: Path, setting: str, option: str
) -> None:
    repository = partial(tmp_path)
    name = option.format(program=program(canaries, "fetched"))
    git(repository, "config", "--unset", "remote.origin.promisor")
    git(repository, "config", "remote.origin.url", str(tmp_path / "other"))
    for allowed in ("allowFilter", "allowAnySHA1InWant"):
        git(tmp_path / "other", "config", f"uploadpack.{allowed}", "true")
    # The extension alone says that it is a partial clone.
    git(repository, "config", "extensions.partialClone", name if "{name}" not in setting else "origin")
    if "{name}" in setting:
        git(repository, "config", setting.format(name=name), "true")
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new")

    assert ran(canaries) == []
    assert (done.code, (tmp_path / "new").exists()) == (4, False)


@pytest.mark.parametrize("how", ["{}", "file://{}", "../other", "file://localhost{}", "{}/.git"])
@pytest.mark.parametrize("name", ["config", "packed-refs", "refs/heads/pipe", "objects/info/alternates"])
def test_what_a_partial_clone_downloads_from_is_looked_at_before(
    made_up: Command, tmp_path: Path, how: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who waits all the same is stopped soon.
    monkeypatch.setattr(git_program, "_LONGEST", 20)
    repository = partial(tmp_path)
    git(repository, "config", "remote.origin.url", how.format(tmp_path / "other"))
    pipe = tmp_path / "other" / ".git" / name
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new")

    assert (done.code, done.err.splitlines()[-1]) == (
        4,
        f"error: git cannot read {repository}: {pipe} is no regular file but a named pipe",
    )


def test_a_lender_is_the_one_that_git_makes_of_the_settings(made_up: Command, tmp_path: Path) -> None:
    repository = partial(tmp_path)
    (tmp_path / "other").rename(tmp_path / "moved.git")
    git(repository, "config", "remote.origin.url", "somewhere:other")
    git(repository, "config", f"url.{tmp_path}/moved.insteadOf", "somewhere:other")
    os.mkfifo(tmp_path / "moved.git" / ".git" / "packed-refs")
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new")

    assert (done.code, "moved.git/.git/packed-refs is no regular file but a named pipe" in done.err) == (4, True)


def _hidden_by_a_nul(repository: Path) -> None:
    """git reads the name in ``commondir`` up to the NUL, and no file has the whole of it."""
    folder = repository / ".git"
    (folder / "x").mkdir()
    for name in ("objects", "refs"):
        shutil.copytree(folder / name, folder / "x" / name)
    (folder / "config").rename(folder / "x" / "config")
    lay(folder, {"commondir": b"x\0", "config": b"[core]\n\trepositoryformatversion = 0\n"})


def _beside_a_bare_one(repository: Path, *, without: str) -> None:
    """A bare repository around ``.git``, to which git goes on, or not, when something of ``.git`` is no folder."""
    git(repository, "pack-refs", "--all")
    for name in ("HEAD", "packed-refs"):
        shutil.copy(repository / ".git" / name, repository / name)
    for name in ("objects", "refs"):
        shutil.copytree(repository / ".git" / name, repository / name)
    lay(repository, {"config": b"[core]\n\trepositoryformatversion = 0\n"})
    # git asks whether it may be entered, which is true of a program too.
    shutil.rmtree(repository / ".git" / without)
    lay(repository / ".git", {without: b""}, mode=0o755)


def _around_a_broken_one(repository: Path) -> None:
    """git passes over a ``.git`` whose HEAD names nothing, and takes the bare repository around it."""
    shutil.copy(repository / ".git" / "HEAD", repository / "HEAD")
    for name in ("objects", "refs"):
        shutil.copytree(repository / ".git" / name, repository / name)
    (repository / ".git" / "config").rename(repository / "config")
    lay(repository / ".git", {"HEAD": b"garbage\n", "config": b"[core]\n\trepositoryformatversion = 0\n"})


DISGUISES: dict[str, Callable[[Path], None]] = {
    "none": lambda _repository: None,
    "a NUL in commondir": _hidden_by_a_nul,
    "refs is a program": functools.partial(_beside_a_bare_one, without="refs"),
    "objects is a program": functools.partial(_beside_a_bare_one, without="objects"),
    "HEAD is garbage": _around_a_broken_one,
}
"""Ways to have git look at another repository than whoever only looks for one."""


@pytest.mark.parametrize("disguise", DISGUISES)
def test_the_settings_that_are_looked_at_are_those_that_git_reads(
    made_up: Command, canaries: Path, tmp_path: Path, disguise: str
) -> None:
    repository = partial(tmp_path)
    head = git(repository, "rev-parse", "main")
    (repository / ".git" / "objects" / head[:2] / head[2:]).unlink()
    evil = program(canaries, "fetched")
    for name, value in {"core.sshCommand": evil, "remote.origin.url": "ssh://nowhere.invalid/x"}.items():
        git(repository, "config", name, str(value))
    DISGUISES[disguise](repository)
    subprocess.run(["git", "cat-file", "-p", head], cwd=repository, capture_output=True, check=False)  # noqa: S607
    sung = ran(canaries)
    for canary in canaries.glob("*.ran"):
        canary.unlink()
    target = ("--git", repository, "--megatron", "main")
    codes = [
        made_up("apply", *target, "--to", tmp_path / "new").code,
        made_up("apply", *target, "--branch", "patched").code,
        made_up("rebase", "--onto", "main", "--git", repository).code,
        made_up("check-upstream", "--offline", "--git", repository).code,
        made_up("regenerate", "--git", repository).code,
    ]

    assert (sung, ran(canaries)) == (["fetched"], [])
    assert (codes[:2], (tmp_path / "new").exists()) == ([4, 4], False)


ODD = (
    *("HEAD", "config", "commondir", "packed-refs", "shallow", "index", "refs/heads/odd", "info/exclude"),
    *("info/attributes", "info/grafts", "objects/info/alternates", "objects/info/commit-graph"),
    *("objects/pack/multi-pack-index", "objects/pack/pack-1.idx"),
)
"""Files that git reads whatever it is asked."""


@pytest.mark.parametrize("name", ODD)
def test_no_command_waits_for_a_pipe_in_the_place_of_a_file_of_git(made_up: Command, tmp_path: Path, name: str) -> None:
    repository = tmp_path / "repository"
    texts.repository(repository)
    file = repository / ".git" / name
    file.unlink(missing_ok=True)
    file.parent.mkdir(exist_ok=True)
    os.mkfifo(file)
    done = made_up("check-upstream", "--offline", "--git", repository)

    assert (done.code, done.err.splitlines()[-1]) == (
        4,
        f"error: git cannot read {repository}: {file} is no regular file but a named pipe",
    )


@pytest.mark.parametrize("name", ["packed-refs", "refs/tags/v9", "objects/info/alternates", "info/grafts"])
def test_no_command_reads_a_device_or_gigabytes_for_a_file_of_git(made_up: Command, tmp_path: Path, name: str) -> None:
    repository = tmp_path / "repository"
    texts.repository(repository)
    file = repository / ".git" / name
    file.unlink(missing_ok=True)
    file.symlink_to("/dev/zero")
    device = made_up("check-upstream", "--offline", "--git", repository)
    file.unlink()
    file.touch()
    os.truncate(file, 4 << 30)
    large = made_up("check-upstream", "--offline", "--git", repository)

    assert [(done.code, done.err.splitlines()[-1]) for done in (device, large)] == [
        (4, f"error: git cannot read {repository}: {file} is no regular file but a device"),
        (4, f"error: git cannot read {repository}: {file} is larger than 256 MiB"),
    ]


def test_objects_that_are_borrowed_are_looked_at_as_well(made_up: Command, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    texts.repository(repository)
    lender, other = tmp_path / "lender" / "objects", tmp_path / "other" / "objects"
    lay(repository, {".git/objects/info/alternates": b"# mine\n../../../lender/objects\n"})
    lay(lender, {"info/alternates": f"{other}\n".encode()})
    (other / "pack").mkdir(parents=True)
    os.mkfifo(other / "pack" / "pack-1.idx")
    done = made_up("check-upstream", "--offline", "--git", repository)

    assert (done.code, f"{other / 'pack' / 'pack-1.idx'} is no regular file but a named pipe" in done.err) == (4, True)


def test_git_that_waits_is_stopped(made_up: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "repository"
    texts.repository(repository)
    os.mkfifo(tmp_path / "more")
    git(repository, "config", "include.path", str(tmp_path / "more"))
    monkeypatch.setattr(git_program, "_SOON", 0.5)
    done = made_up("check-upstream", "--offline", "--git", repository)

    assert (done.code, done.err.splitlines()[-2:]) == (
        4,
        [
            f"error: git cannot read {repository}: git rev-parse took longer than 0.5 seconds",
            "  hint: is there a named pipe among its files, or does the disk not answer?",
        ],
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"i18n.logOutputEncoding": "UTF-16"},
        {"format.pretty": "evil"},
        {"diff.orderFile": "/dev/zero"},
        {"color.ui": "always", "core.abbrev": "5", "log.date": "relative", "log.decorate": "full"},
        {"log.diffMerges": "combined", "diff.noprefix": "true", "log.showRoot": "false", "diff.renames": "false"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_the_history_of_a_clone_is_the_same_whatever_its_settings(
    patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
) -> None:
    made = There(tmp_path)
    blue = made.clone.commit("Paint it blue (#12)", text(notes=BLUE), made.base)
    made.clone.name("heads/main", made.clone.commit("A title (#13)", text(notes=HEADED), blue))
    monkeypatch.setenv("PATCHKIT_CACHE", str(made.world.cache))
    asked = ("history", "--git", made.clone.folder, "--range", "core_v1.0..main", "--patches", made.world.series)
    patchkit(*asked)  # What it carries is known from then on.
    before = patchkit(*asked, "--format", "json")
    for name, value in settings.items():
        git(made.clone.folder, "config", name, value)

    assert (before.code, '"commits": 2,' in before.out) == (0, True)
    assert patchkit(*asked, "--format", "json").out == before.out


def test_a_graft_is_no_parent(patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = There(tmp_path)
    blue = made.clone.commit("Paint it blue (#12)", text(notes=BLUE), made.base)
    made.clone.name("heads/main", blue)
    monkeypatch.setenv("PATCHKIT_CACHE", str(made.world.cache))
    asked = ("history", "--git", made.clone.folder, "--range", "core_v1.0..main", "--patches", made.world.series)
    patchkit(*asked)  # What it carries is known from then on.
    before = patchkit(*asked, "--format", "json")
    where = git(made.clone.folder, "rev-parse", "--absolute-git-dir")
    lay(Path(where), {"info/grafts": f"{blue}\n".encode()})

    assert (before.code, patchkit(*asked, "--format", "json").out) == (0, before.out)


def test_a_file_of_blame_without_an_end_is_not_read(
    patchkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "world", {NOTES: NOTES_1.replace(b"colour: red", b"colour: blue")})
    repository = world.repository()
    monkeypatch.setenv("PATCHKIT_CACHE", str(world.cache))
    asked = ("explain", "first/notes-colour", "--patches", world.series, "--git", repository)
    whole = patchkit(*asked, "--onto", "v2.0", "--from", "v1.0")
    git(repository, "config", "blame.ignoreRevsFile", "/dev/zero")
    without = patchkit(*asked, "--onto", "v2.0", "--from", "v1.0")

    assert ("#27" in whole.out, "#27" in without.out) == (True, False)
    assert "git gave no answer" in without.out + without.err


def test_references_in_folders_without_an_end_are_refused(made_up: Command, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    texts.repository(repository)
    with nested(repository / ".git" / "refs", 1200):
        done = made_up("check-upstream", "--offline", "--git", repository)

        said = f"git cannot read {repository}/.git/refs{'/a' * 20}...: it is nested more than 256 folders deep"
        assert (done.code, done.err.splitlines()[-2:]) == (4, [f"error: {said}", f"  hint: {TOO_DEEP}"])


def test_gitignore_files_without_an_end_are_refused(made_up: Command, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    lay(tree, texts.PATCHED["2.0"])
    repository = tmp_path / "repository"
    texts.repository(repository)
    os.mkfifo(tree / "megatron" / ".gitignore")
    done = made_up("capture", "--from", tree, "--megatron", "2.0", "--git", repository)

    assert (done.code, done.err.splitlines()[-1]) == (
        4,
        f"error: git cannot read {tree}: {tree / 'megatron' / '.gitignore'} is no regular file but a named pipe",
    )


@pytest.mark.parametrize("name", ["refs/heads", "logs/refs/heads", "logs/refs/heads/patched"])
def test_a_branch_is_not_written_where_a_link_of_the_clone_leads(made_up: Command, tmp_path: Path, name: str) -> None:
    repository = tmp_path / "repository"
    texts.repository(repository)
    git(repository, "pack-refs", "--all")
    link = repository / ".git" / name
    shutil.rmtree(link, ignore_errors=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "victim").mkdir()
    lay(tmp_path, {"victim.txt": b"mine\n"})
    link.symlink_to(tmp_path / ("victim.txt" if name.endswith("patched") else "victim"))
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--branch", "patched")

    assert (done.code, "is a link" in done.err) == (4, True)
    assert ((tmp_path / "victim.txt").read_bytes(), [*(tmp_path / "victim").iterdir()]) == (b"mine\n", [])


@pytest.mark.parametrize("name", ["objects/pack/more", "refs/tags/more"])
def test_links_to_folders_are_refused_where_git_reads_whatever_there_is(
    made_up: Command, tmp_path: Path, name: str
) -> None:
    repository = tmp_path / "repository"
    texts.repository(repository)
    (tmp_path / "elsewhere").mkdir()
    link = repository / ".git" / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "elsewhere")
    done = made_up("check-upstream", "--offline", "--git", repository)

    assert (done.code, done.err.splitlines()[-1]) == (
        4,
        f"error: git cannot read {repository}: {link} is a link to a folder",
    )


def test_an_object_is_no_pipe(made_up: Command, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    texts.repository(repository)
    tree = git(repository, "rev-parse", "core_v1.1^{tree}")
    file = repository / ".git" / "objects" / tree[:2] / tree[2:]
    file.unlink()
    os.mkfifo(file)
    done = made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new")

    assert (done.code, f"{file} is no regular file but a named pipe" in done.err) == (4, True)


def test_what_a_hook_of_another_repository_is_told_does_not_matter(
    made_up: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    texts.repository(repository)
    (tmp_path / "empty").mkdir()
    for variable in ("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_QUARANTINE_PATH", "GIT_WORK_TREE"):
        monkeypatch.setenv(variable, str(tmp_path / "empty"))
    codes = [
        made_up("apply", "--git", repository, "--megatron", "1.1", "--to", tmp_path / "new").code,
        made_up("apply", "--git", repository, "--megatron", "1.1", "--branch", "patched").code,
    ]

    assert codes == [0, 0]
