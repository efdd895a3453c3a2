"""Asking for faults, and what came of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

from .shim import Control
from .worker import Sample

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Tried:
    """What came of the faults of one kind in one path."""

    count: int
    worlds: int
    """How many different ones the faults left, in each of which the next command was run."""
    killed: int
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What came of the faults in one path."""

    calls: list[str]
    """Names of the calls by which it changes files, in their order."""
    at_work: frozenset[tuple[str, int]]
    """File, below the package, and first line of the functions that did."""
    tried: Mapping[str, Tried]
    """By the name of the fault."""


class Server:
    """A process that tries faults, with all that they need imported and built; to be used in a ``with``."""

    def __init__(self, shim: Path, folder: Path, environment: Mapping[str, str] = os.environ) -> None:
        """Start it; worlds are laid in ``folder``, which is made."""
        self.folder = folder
        self._worlds = count()
        control, home = folder / "control", folder / "home"
        home.mkdir(parents=True)
        Control.make(control)
        own = {"LD_PRELOAD": str(shim), "FAULTS_CONTROL": str(control)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.server", str(control)],
            env=settled(environment, home) | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def try_faults(self, scenario: str, samples: Mapping[str, Sample]) -> Found:
        """Try faults in a path, each at a sample of its calls."""
        faults = {fault: asdict(sample) for fault, sample in samples.items()}
        first, *trials = self._ask({"scenario": scenario, "faults": faults})
        found = {}
        for fault in samples:
            own = [trial for trial in trials if trial["fault"] == fault]
            found[fault] = Tried(
                len(own),
                sum(not trial["seen"] for trial in own),
                sum(trial["code"] is None for trial in own),
                tuple(
                    f"{scenario}: {fault} at {trial['at']} ({trial['call']}): {each}"
                    for trial in own
                    for each in trial["wrong"]
                ),
            )
        return Found(first["calls"], frozenset((file, line) for file, line in first["at_work"]), found)

    def try_pair(self, scenario: str, other: Sequence[str], sample: Sample) -> list[dict[str, Any]]:
        """Hold the command of a path at a sample of its calls while another is run; each ``Meeting`` of theirs."""
        _, *meetings = self._ask({"scenario": scenario, "other": list(other), "sample": asdict(sample)})
        return meetings

    def try_random_kills(self, scenario: str, seed: int, number: int) -> Tried:
        """Kill the command at random moments, in so many rows."""
        _, *kills = self._ask({"scenario": scenario, "seed": seed, "count": number})
        wrong = tuple(
            f"{scenario}: seed {seed}, number {kill['number']}: {each}" for kill in kills for each in kill["wrong"]
        )
        return Tried(len(kills), len(kills), sum(kill["killed"] for kill in kills), wrong)

    def _ask(self, request: dict[str, object]) -> list[dict[str, Any]]:
        """Ask for something; what is printed about it."""
        folder = self.folder / str(next(self._worlds))
        folder.mkdir()
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        print(json.dumps({**request, "folder": str(folder)}), file=asked, flush=True)
        found: list[dict[str, Any]] = []
        for line in answers:
            found.append(json.loads(line))
            if "ended" in found[-1]:
                break
        ended = found.pop()["ended"] if found else "the server died"
        if ended:
            raise AssertionError(f"{request['scenario']}: {ended[-2000:]}")
        return found


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
