"""Every write path, with a fault at a call of libc that reads or changes files.

The law: after a kill each file has its old or its new bytes; a command that ends with an error has changed no file of
the user's; one that ends well has done all its work; and the next command ends what was begun.

Of all calls a sample is tried. ``PATCHKIT_FAULTS=all`` tries every call of every path with every fault.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from operations.fixtures import ENVIRONMENT

from .scenarios import SCENARIOS
from .shim import Control, build, compiler
from .worker import FAULTS

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs Linux and a C compiler")

ALL = os.environ.get("PATCHKIT_FAULTS") == "all"
ROOT = Path(__file__).parents[3]

# How many calls there are from one that is tried to the next: a kill is what happens most and costs most.
KILLS, OTHERS = 29, 97


@dataclass(frozen=True)
class Tried:
    """What came of the faults of one kind in one path."""

    calls: set[str]
    """Names of the calls that had the fault."""
    killed: int
    count: int
    wrong: list[str]


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes calls fail."""
    return build(tmp_path_factory.mktemp("shim"))


def tried(shim: Path, folder: Path, scenario: str, fault: str, *, every: int, offset: int = 0) -> Tried:
    """Try a fault at every so many calls."""
    control, world, home = folder / "control", folder / "work", folder / "home"
    world.mkdir()
    home.mkdir()
    Control.make(control)
    kept = {name: value for name, value in ENVIRONMENT.items() if not name.startswith(("GIT_", "PIP_", "PATCHKIT_"))}
    environment = kept | {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests" / "cpu"))),
        "LD_PRELOAD": str(shim),
        "FAULTS_CONTROL": str(control),
    }
    command = [
        sys.executable,
        "-m",
        "faults.worker",
        scenario,
        str(control),
        str(world),
        fault,
        str(every),
        str(offset),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [
        f"{scenario}: {fault} at {trial['at']} ({trial['call']}): {each}" for trial in trials for each in trial["wrong"]
    ]
    return Tried(
        {trial["call"] for trial in trials}, sum(trial["code"] is None for trial in trials), len(trials), wrong
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_at_any_call_every_file_is_old_or_new_and_the_next_command_ends_it(
    shim: Path, tmp_path: Path, scenario: str
) -> None:
    found = tried(shim, tmp_path, scenario, "kill", every=1 if ALL else KILLS)

    assert found.wrong == []
    # Else nothing was tried: every path makes some calls, and none of these survives.
    assert found.killed == found.count > 0
    print(f"{scenario}: kill: {found.count} faults, 0 files lost")  # noqa: T201 - the figures of docs/reliability.md


SAMPLE = [
    ("apply to site-packages", "ENOSPC"),
    ("apply to a new folder", "EACCES"),
    ("apply to a wheel", "EXDEV"),
    ("apply to a branch", "kill one"),
    ("revert", "EROFS from then on"),
    ("import", "EIO"),
    ("capture", "ENOSPC from then on"),
    ("regenerate", "clock back"),
    ("revert", "EIO on reads"),
    ("rebase that asks", "ENOSPC"),
]


@pytest.mark.parametrize(
    ("scenario", "fault"),
    [(scenario, fault) for scenario in SCENARIOS for fault in FAULTS if fault != "kill"] if ALL else SAMPLE,
)
def test_a_command_that_fails_changes_nothing_and_the_next_one_succeeds(
    shim: Path, tmp_path: Path, scenario: str, fault: str
) -> None:
    found = tried(shim, tmp_path, scenario, fault, every=1 if ALL else (2 if fault == "EXDEV" else OTHERS), offset=1)

    assert found.wrong == []
    assert found.count > 0 or (ALL and fault == "EXDEV")
    print(f"{scenario}: {fault}: {found.count} faults, 0 files lost")  # noqa: T201 - as above


def test_the_shim_sees_the_calls_that_change_files(shim: Path, tmp_path: Path) -> None:
    found = tried(shim, tmp_path, "apply to a folder", "kill", every=1)

    assert found.wrong == []
    # A journal, files beside their targets, renames, and what is cleared away.
    assert {"mkdir", "write", "half a write", "fsync", "renameat", "rename", "unlink", "rmdir"} <= found.calls
    assert {"open64", "openat64"} & found.calls
    assert found.count > 100
