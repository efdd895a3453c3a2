"""The write paths of patchkit, each as a world and a command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from patchkit.cli import live
from patchkit.cli.main import run
from patchkit.errors import SimulatorError
from patchkit.store.cache import default_cache
from patchkit.tms.simulator.build import simulator

from . import worlds


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
    partly: tuple[str, ...] = ()
    """What it says when it goes on without a text that cannot be read, and answers for the others."""
    without: tuple[str, ...] = ()
    """Faults that are not tried."""
    cache: bool = False
    """Whether what it writes is in the cache, where nothing has to be written."""
    folder: str = ""
    """The current folder, below the world's."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """``{root}`` as in the command."""


READS = ("EIO on reads", "EACCES on reads")
SERIES = ("--patches", "{root}/patches/megatron")

REBASE = ("rebase", *SERIES, "--onto", "v2.0")
BY = ("--reason", "Blue is gone.", "--author", "A <a@example.org>")
CONTINUE = ("rebase", *SERIES, "--continue", *BY)
ABORT = ("rebase", *SERIES, "--abort")

SCENARIOS = {
    "apply to a folder": Scenario(worlds.folder, ("apply", *SERIES, "--in", "{root}/tree")),
    "apply to site-packages": Scenario(worlds.installed, ("apply", *SERIES, "--in", "{root}/site-packages")),
    "apply to a wheel": Scenario(worlds.series, ("apply", *SERIES, "--megatron", "2.0", "--wheel", "{root}/wheels")),
    "apply to a wheel that needs nothing": Scenario(
        worlds.series,
        ("apply", *SERIES, "--megatron", "1.0", "--patch", "mode", "--wheel", "{root}/wheels"),
    ),
    "apply to a new folder": Scenario(
        worlds.series, ("apply", *SERIES, "--megatron", "2.0", "--to", "{root}/new"), again=(0,)
    ),
    "apply to a branch": Scenario(
        worlds.repository,
        ("apply", *SERIES, "--git", "{root}/repository", "--megatron", "1.1", "--branch", "patched"),
        again=(4,),
        git=True,
    ),
    "apply to a new folder from a clone": Scenario(
        worlds.linked,
        ("apply", *SERIES, "--git", "{root}/repository", "--megatron", "main", "--to", "{root}/new"),
        again=(0,),
        git=True,
        # A branch that git passes over is read at the commit that is listed.
        without=READS,
    ),
    "revert after a kill": Scenario(worlds.cut_short, ("revert", *SERIES, "--in", "{root}/tree")),
    "revert": Scenario(worlds.applied, ("revert", *SERIES, "--in", "{root}/tree")),
    "regenerate": Scenario(worlds.stale, ("regenerate", *SERIES, "--git", "{root}/repository")),
    "rebase": Scenario(worlds.carried, REBASE, again=(2,), then=(CONTINUE,)),
    "rebase that asks": Scenario(worlds.clash, REBASE, code=1, again=(2,), then=(ABORT, REBASE)),
    "rebase --continue": Scenario(worlds.decided, CONTINUE, again=(2,), then=(ABORT,)),
    "rebase --abort": Scenario(worlds.decided, ABORT, again=(2,), whole=False),
    "rebase --abort elsewhere": Scenario(worlds.asking_elsewhere, ABORT, again=(2,), whole=False),
    "import": Scenario(
        worlds.foreign,
        ("import", "{root}/big.patch", "--git", "{root}/repository", *SERIES),
        again=(2,),
        # The base has no tag where git passes over it.
        without=READS,
    ),
    "capture": Scenario(
        worlds.edited,
        ("capture", *SERIES, "--from", "{root}/tree", "--megatron", "2.0", "--git", "{root}/repository"),
        partly=("; not for ",),
    ),
    "pins bump": Scenario(
        worlds.pins, ("pins", "bump", "{root}/requirements.txt", "--fix", "double-release", "--write")
    ),
    "check-upstream": Scenario(
        worlds.reports,
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
        partly=("could not be looked at: ", ", out of reach\n"),
    ),
    "apply from an index": Scenario(
        worlds.listed,
        ("apply", *SERIES, "--megatron", "2.0", "--to", "{root}/new"),
        again=(0,),
        cache=True,
        environment={"PIP_FIND_LINKS": "{root}/links"},
    ),
    "check-upstream --update": Scenario(
        worlds.newer,
        ("check-upstream", *SERIES, "--update", "--git", "{root}/repository", "--onto", "v2.1"),
        code=1,
        environment={"PIP_FIND_LINKS": "{root}/links"},
    ),
    "history": Scenario(
        worlds.past,
        (
            *("history", "--patches", "{root}/world/patches/megatron", "--git", "{root}/clone"),
            *("--range", "core_v1.0..main", "--svg", "{root}/line.svg"),
        ),
        # git passes over names that it cannot read, without a word: the picture lacks the tag then.
        without=READS,
    ),
    "import into a series": Scenario(
        worlds.imported_into,
        ("import", "{root}/big.patch", "--megatron", "2.0", "--git", "{root}/repository", *SERIES),
        again=(2,),
    ),
    "capture --new": Scenario(
        worlds.renewed,
        (
            "capture",
            *SERIES,
            "--from",
            "{root}/tree",
            "--megatron",
            "2.0",
            "--git",
            "{root}/repository",
            "--new",
            "more",
        ),
        again=(2,),
        partly=("; not for ",),
    ),
    "rebase --skip": Scenario(worlds.asking, ("rebase", *SERIES, "--skip", *BY), again=(2,), then=(ABORT,)),
    "init": Scenario(
        worlds.project,
        ("init", "--megatron", "1.0", "--megatron", "1.1", "--git", "{root}/repository"),
        again=(2,),
        # Where nothing can be written any more nothing can be taken back either; the next init goes on from there.
        whole=False,
        folder="project",
        environment={"PIP_FIND_LINKS": "{root}/links"},
    ),
    "init --from": Scenario(
        worlds.project,
        (
            *("init", "--megatron", "1.1", "--git", "{root}/repository", "--from", "{root}/big.patch"),
            *("--base", "core_v1.1", "--author", "A Team", "--forwarded", "no"),
        ),
        again=(2,),
        whole=False,
        folder="project",
        environment={"PIP_FIND_LINKS": "{root}/links"},
    ),
    "patching at import": Scenario(
        worlds.importable, ("live", *SERIES, "--dry-run"), cache=True, folder="site-packages"
    ),
    "tms estimate": Scenario(
        worlds.arguments, ("tms", "estimate", "{root}/arguments.json", "--svg", "{root}/bars.svg"), whole=False
    ),
    "tms identify": Scenario(
        worlds.saver,
        ("tms", "identify", "--no-probe", "{root}/torch_memory_saver-0.0.9-cp39-abi3-manylinux2014_x86_64.whl"),
        code=1,
        cache=True,
    ),
    "the simulator of tms": Scenario(
        worlds.empty,
        ("simulator",),
        cache=True,
        # A compiler looks in many folders and passes over what it cannot read; it sets the mode of what it wrote.
        without=(*READS, "EACCES", "EIO", "ENOSPC", "EROFS"),
    ),
}


def perform(words: Sequence[str]) -> int:
    """Do what a command line says, in this process; return its exit code."""
    if words[0] == "live":
        # What Python imports here is what is in the current folder.
        sys.path.insert(0, str(Path.cwd()))
        return run(list(words[1:]), live.command, "python -m patchkit.live")
    if words[0] == "simulator":
        # The commands that build it need a torch_memory_saver that works.
        try:
            simulator(default_cache())
        except SimulatorError:
            return 4
        return 0
    return run(list(words))
