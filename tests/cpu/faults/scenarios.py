"""The write paths of patchkit, each as a world and a command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from operations import made_up
from operations.carried_world import NOTES, NOTES_1, World
from trees.repositories import git
from trees.snapshots import contents, lay

from patchkit.cli.main import run
from patchkit.trees.archive import WheelTree, unpack


@dataclass(frozen=True)
class Scenario:
    """A command that writes."""

    build: Callable[[Path], None]
    """Makes the world below a folder."""
    command: tuple[str, ...]
    """``{root}`` is the world's folder."""
    code: int = 0
    again: tuple[int, ...] = ()
    """Other exit codes that the command may give once it has done its work."""
    then: tuple[tuple[str, ...], ...] = ()
    """What the command asks for when it is run once more after the fault, in this order; else it is all it takes."""
    git: bool = False
    """Whether git writes as well: it has temporary files of its own, and leaves objects that nothing names."""
    whole: bool = True
    """Whether a write that fails leaves everything old."""


def _series(root: Path) -> None:
    made_up.lay_series(root)
    made_up.fill_cache(root / "cache")


def _folder(root: Path) -> None:
    _series(root)
    lay(root / "tree", made_up.UPSTREAM["2.0"])


def _installed(root: Path) -> None:
    _series(root)
    unpack(WheelTree(made_up.wheel(root / "cache" / "made", "2.0")), root / "site-packages", {})
    lay(root / "site-packages", {"megatron/core/__pycache__/buffer.cpython-311.pyc": b"compiled"})


def _applied(root: Path) -> None:
    _folder(root)
    _run(root, "apply", "--patches", "{root}/patches/megatron", "--in", "{root}/tree")


def _repository(root: Path) -> None:
    _series(root)
    made_up.repository(root / "repository")


def _stale(root: Path) -> None:
    """A series whose generated files and lock do not follow from its sources."""
    _repository(root)
    for file in sorted((root / "patches" / "megatron" / "generated").iterdir())[:2]:
        file.write_bytes(b"stale\n")
    (root / "patches" / "megatron" / "lock.yaml").unlink()


def _carried(root: Path) -> None:
    World(root, {})


def _clash(root: Path) -> None:
    World(root, {NOTES: NOTES_1.replace(b"colour: red", b"colour: blue")})


def _decided(root: Path) -> None:
    """A rebase in which a person has settled the conflict."""
    _clash(root)
    _run(root, "rebase", "--patches", "{root}/patches/megatron", "--onto", "v2.0", code=1)
    file = root / "patches" / "megatron" / ".rebase" / "2.0" / "first" / NOTES
    file.write_bytes(NOTES_1.replace(b"red", b"green"))


def _foreign(root: Path) -> None:
    made_up.fill_cache(root / "cache")
    repository = root / "repository"
    made_up.repository(repository)
    git(repository, "checkout", "-q", "main~1")
    config = made_up.CONFIG.replace(b"size = 1\n", b"size = 1\n    keep_quiet = False\n")
    lay(repository, {made_up.path_of("config"): config})
    lay(repository, {made_up.path_of("mode"): made_up.MODE.replace(b'"torch"', b'keep_quiet or "torch"')})
    (root / "big.patch").write_text(git(repository, "diff") + "\n")
    git(repository, "checkout", "-q", "-f", "main")


def _edited(root: Path) -> None:
    """A tree with an edit of what the series puts there."""
    made_up.repository(root / "repository")
    _applied(root)
    file = root / "tree" / made_up.path_of("mode")
    file.write_bytes(file.read_bytes().replace(b"else None", b"else 0"))


def _pins(root: Path) -> None:
    _series(root)
    lay(root, {"requirements.txt": b"torch_memory_saver==0.0.9\nmegatron-core==0.16.1\n"})


def _reports(root: Path) -> None:
    _carried(root)
    lay(root, {"page.html": b"the page of yesterday\n"})


SERIES = ("--patches", "{root}/patches/megatron")

REBASE = ("rebase", *SERIES, "--onto", "v2.0")
CONTINUE = ("rebase", *SERIES, "--continue", "--reason", "Blue is gone.", "--author", "A <a@example.org>")
ABORT = ("rebase", *SERIES, "--abort")

SCENARIOS = {
    "apply to a folder": Scenario(_folder, ("apply", *SERIES, "--in", "{root}/tree")),
    "apply to site-packages": Scenario(_installed, ("apply", *SERIES, "--in", "{root}/site-packages")),
    "apply to a wheel": Scenario(_series, ("apply", *SERIES, "--megatron", "2.0", "--wheel", "{root}/wheels")),
    "apply to a new folder": Scenario(
        _series, ("apply", *SERIES, "--megatron", "2.0", "--to", "{root}/new"), again=(0,)
    ),
    "apply to a branch": Scenario(
        _repository,
        ("apply", *SERIES, "--git", "{root}/repository", "--megatron", "1.1", "--branch", "patched"),
        again=(4,),
        git=True,
    ),
    "revert": Scenario(_applied, ("revert", *SERIES, "--in", "{root}/tree")),
    "regenerate": Scenario(_stale, ("regenerate", *SERIES, "--git", "{root}/repository")),
    "rebase": Scenario(_carried, REBASE, again=(2,), then=(CONTINUE,)),
    "rebase that asks": Scenario(_clash, REBASE, code=1, again=(2,), then=(ABORT, REBASE)),
    "rebase --continue": Scenario(_decided, CONTINUE, again=(2,), then=(ABORT,)),
    "rebase --abort": Scenario(_decided, ABORT, again=(2,), whole=False),
    "import": Scenario(_foreign, ("import", "{root}/big.patch", "--git", "{root}/repository", *SERIES), again=(2,)),
    "capture": Scenario(
        _edited, ("capture", *SERIES, "--from", "{root}/tree", "--megatron", "2.0", "--git", "{root}/repository")
    ),
    "pins bump": Scenario(_pins, ("pins", "bump", "{root}/requirements.txt", "--fix", "double-release", "--write")),
    "check-upstream": Scenario(
        _reports,
        (
            "check-upstream",
            "--offline",
            *SERIES,
            "--new-only",
            "--report",
            "html={root}/page.html",
            "--report",
            "sarif={root}/found.sarif",
        ),
        whole=False,
    ),
}


def filled(root: Path, command: tuple[str, ...]) -> list[str]:
    """Return a command line for the world in ``root``."""
    return [word.replace("{root}", str(root)) for word in command]


def _run(root: Path, *command: str, code: int = 0) -> None:
    kept = os.environ.get("PATCHKIT_CACHE")
    os.environ["PATCHKIT_CACHE"] = str(root / "cache")
    try:
        assert run(filled(root, command)) == code, command
    finally:
        if kept is None:
            del os.environ["PATCHKIT_CACHE"]
        else:
            os.environ["PATCHKIT_CACHE"] = kept


__all__ = ["SCENARIOS", "Scenario", "contents", "filled"]
