"""Starting the worker, and what came of its faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .shim import Control

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Tried:
    """What came of the faults of one kind in one path."""

    count: int
    worlds: int
    """How many different ones the faults left, in each of which the next command was run."""
    killed: int
    calls: frozenset[str]
    """Names of the calls that had the fault."""
    wrong: tuple[str, ...]


def try_faults(
    shim: Path,
    folder: Path,
    scenario: str,
    faults: Sequence[str],
    *,
    every: int = 1,
    offset: int = 0,
    environment: Mapping[str, str] = os.environ,
) -> dict[str, Tried]:
    """Try each fault at every so many calls, from the one behind ``offset`` on; what came of each, by its name."""
    words = [str(every), str(offset), *faults]
    trials = list(_work(shim, folder, "worker", scenario, words, environment))
    found = {}
    for fault in faults:
        own = [trial for trial in trials if trial["fault"] == fault]
        found[fault] = Tried(
            len(own),
            sum(not trial["seen"] for trial in own),
            sum(trial["code"] is None for trial in own),
            frozenset(trial["call"] for trial in own),
            tuple(
                f"{scenario}: {fault} at {trial['at']} ({trial['call']}): {each}"
                for trial in own
                for each in trial["wrong"]
            ),
        )
    return found


def try_random_kills(
    shim: Path, folder: Path, scenario: str, seed: int, count: int, *, environment: Mapping[str, str] = os.environ
) -> Tried:
    """Kill the command ``count`` times at random moments."""
    kills = list(_work(shim, folder, "random_kills", scenario, [str(seed), str(count)], environment))
    wrong = tuple(
        f"{scenario}: seed {seed}, number {kill['number']}: {each}" for kill in kills for each in kill["wrong"]
    )
    return Tried(len(kills), len(kills), sum(kill["killed"] for kill in kills), frozenset(), wrong)


def _work(  # noqa: PLR0917 - where, what, and how
    shim: Path, folder: Path, module: str, scenario: str, words: list[str], environment: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Run a module of this package on a scenario; what it prints."""
    control, world, home = folder / "control", folder / "work", folder / "home"
    world.mkdir(parents=True)
    home.mkdir()
    Control.make(control)
    own = {"LD_PRELOAD": str(shim), "FAULTS_CONTROL": str(control)}
    command = [sys.executable, "-m", f"faults.{module}", scenario, str(control), str(world), *words]
    done = subprocess.run(command, env=settled(environment, home) | own, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{scenario}: {done.stderr[-2000:]}")
    return map(json.loads, done.stdout.splitlines())


def settled(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the environment of a process that imports this package; no settings of the user's have a say in it."""
    kept = {name: value for name, value in environment.items() if not name.startswith(("GIT_", "PIP_", "PATCHKIT_"))}
    return kept | {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests" / "cpu"))),
    }
