"""What the real library of torch_memory_saver does, tried out under the simulator."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.resources import as_file, files
from pathlib import Path

from patchkit.errors import SimulatorError, TmsNotFoundError
from patchkit.tms.elf import read_library
from patchkit.tms.library import Cuda, HookMode, fitting_library
from patchkit.tms.package import Package, content_of
from patchkit.tms.simulator.build import RUNTIMES, simulator

MODES: tuple[HookMode, ...] = ("preload", "torch")

_LIMIT = 30
"""Seconds for one scenario, which takes milliseconds."""


class Outcome(str, Enum):
    """What came of a scenario."""

    WORKS = "works"
    WRONG = "wrong"
    """It went on, with another result than it should have."""
    RAISES = "raises"
    """A Python exception."""
    DIES = "dies"
    """The library ended the process."""
    FAULTS = "faults"
    """Memory was touched that is not there."""
    MISSING = "missing"
    """The build has nothing of the kind."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something to try."""

    name: str
    title: str
    good: Outcome = Outcome.WORKS
    """What a library does that is as it should be."""
    settings: tuple[tuple[str, str], ...] = ()
    """Variables for the simulator."""
    modes: tuple[HookMode, ...] = MODES
    entries: bool = False
    """Whether another library is preloaded too."""
    python: bool = False
    """Whether it needs the Python files of the package."""
    defect: str | None = None
    """The defect that it shows, by its id in upstream_versions.yaml."""
    needed: bool = False
    """Whether training with the series relies on it, in hook mode preload."""


SCENARIOS = (
    Scenario("pause_frees", "a pause frees device memory", needed=True),
    Scenario("address_kept", "a resume maps the same address", needed=True),
    Scenario("tags_apart", "a tag is paused alone", needed=True),
    Scenario("free_while_paused", "free while paused", defect="double-release", needed=True),
    Scenario("free_outside_region", "free outside a region"),
    Scenario("nested_regions", "nested regions", python=True, needed=True),
    Scenario("unaligned_size", "size that is no multiple of the granularity", defect="unaligned-size"),
    Scenario("backup_restored", "contents come back with backup", needed=True),
    Scenario("no_backup_no_host_memory", "no host memory without backup", needed=True),
    Scenario("backup_released_on_resume", "host copy released on resume", defect="backup-kept-after-resume"),
    Scenario("backup_retained_on_request", "host copy retained on request"),
    Scenario("zero_copy_pointer", "pointer to the host copy", defect="no-backup-pointer"),
    Scenario("pause_twice", "pause of what is paused", defect="wrong-state-exits"),
    Scenario("resume_of_active", "resume of what is active", defect="wrong-state-exits"),
    Scenario("touch_while_paused", "touching paused memory", good=Outcome.FAULTS),
    Scenario(
        "device_memory_runs_out",
        "device memory runs out",
        settings=(("PATCHKIT_SIMULATOR_DEVICE_BYTES", str(16 << 20)),),
        # In hook mode torch the library ends the process by design: torch's pluggable allocator knows no refusal.
        modes=("preload",),
        defect="out-of-memory-exits",
    ),
    Scenario(
        "host_memory_runs_out",
        "pinned host memory runs out",
        good=Outcome.DIES,
        settings=(("PATCHKIT_SIMULATOR_HOST_BYTES", str(2 << 20)),),
    ),
    Scenario(
        "several_preload_entries",
        "several entries in LD_PRELOAD",
        modes=("preload",),
        entries=True,
        python=True,
        defect="preload-multiple-entries",
    ),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A scenario, and what came of it."""

    name: str
    title: str
    mode: HookMode
    outcome: Outcome
    ok: bool
    text: str
    """What the library or the simulator said, when it did not work."""
    report: tuple[str, ...]
    """Misuses, leaks and faults that the simulator saw."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What was tried out, and with what."""

    label: str
    version: str | None
    major: int
    libraries: Mapping[str, str]
    """Path by hook mode; a mode is missing when there is no library for it."""
    trials: tuple[Trial, ...]

    @property
    def good_enough(self) -> bool:
        """Whether everything works that training with the series relies on, as far as it was tried."""
        needed = {scenario.name for scenario in SCENARIOS if scenario.needed}
        tried = [trial for trial in self.trials if trial.name in needed and trial.mode == "preload"]
        return bool(tried) and all(trial.ok for trial in tried)

    def outcome(self, name: str, mode: HookMode = "preload") -> Outcome | None:
        """Return what came of a scenario; None when it was not tried."""
        return next((trial.outcome for trial in self.trials if (trial.name, trial.mode) == (name, mode)), None)


def probe(package: Package, *, cache: Path, major: int | None = None, names: tuple[str, ...] = ()) -> Probed:
    """Try the libraries of ``package`` out; ``major`` is the CUDA to take, by default the newest that there is.

    ``names`` are the scenarios to run (none: all). Raises SimulatorError, TmsNotFoundError, TmsFileError.
    """
    major, libraries = _libraries(package, major)
    if major not in RUNTIMES:
        raise SimulatorError(
            f"there is no simulated runtime for CUDA {major}, only for {', '.join(map(str, RUNTIMES))}"
        )
    built = simulator(cache)
    wanted = [item for item in SCENARIOS if (not names or item.name in names) and not (item.python and package.only)]
    with as_file(files("patchkit.tms.simulator")) as sources:
        bench = _Bench(package, major, libraries, built, sources)
        trials = {
            (trial.name, mode): trial
            for mode in libraries
            for entries in (False, True)
            for trial in bench.run([item for item in wanted if mode in item.modes and item.entries == entries], mode)
        }
    ordered = tuple(trials[item.name, mode] for item in wanted for mode in MODES if (item.name, mode) in trials)
    return Probed(package.label, package.version, major, {mode: str(path) for mode, path in libraries.items()}, ordered)


def can_free_while_paused(package: Package, *, cache: Path) -> bool | None:
    """Tell whether the library survives the free of a paused allocation; None when the scenario told neither."""
    name = "free_while_paused"
    found = probe(package, cache=cache, names=(name,))
    outcome = found.outcome(name, "preload") or found.outcome(name, "torch")
    return {Outcome.WORKS: True, Outcome.DIES: False}.get(outcome) if outcome else None


def _libraries(package: Package, major: int | None) -> tuple[int, dict[HookMode, Path]]:
    """Return the CUDA major and the library for each hook mode."""
    if package.only:
        return _only_library(package.only, major)
    # The library of 0.0.8 is linked against no runtime, so fits any; CUDA 12 is what it was made for.
    linked = {read_library(content_of(path), str(path)).cuda_major for path in package.libraries}
    majors = sorted((each for each in linked if each), reverse=True)
    wanted = major or (majors[0] if majors else RUNTIMES[0])
    preload = _fitting(package, wanted, "preload")
    torch = _fitting(package, wanted, "torch")
    if isinstance(preload, TmsNotFoundError) and isinstance(torch, TmsNotFoundError):
        raise preload
    both: dict[HookMode, Path | TmsNotFoundError] = {"preload": preload, "torch": torch}
    return wanted, {mode: path for mode, path in both.items() if isinstance(path, Path)}


def _fitting(package: Package, major: int, mode: HookMode) -> Path | TmsNotFoundError:
    try:
        return fitting_library(package, Cuda(major), mode)
    except TmsNotFoundError as error:
        return error


def _only_library(path: Path, major: int | None) -> tuple[int, dict[HookMode, Path]]:
    """A library with another name than usual shows its hook mode by what it exports."""
    linked = read_library(content_of(path), str(path))
    if not any(name.startswith("tms_") for name in linked.exports):
        raise TmsNotFoundError(f"{path} exports no function of torch_memory_saver")
    return linked.cuda_major or major or RUNTIMES[0], {
        "torch" if "tms_torch_malloc" in linked.exports else "preload": path
    }


@dataclass(frozen=True, slots=True)
class _Bench:
    """Where the scenarios run."""

    package: Package
    major: int
    libraries: Mapping[HookMode, Path]
    simulator: Path
    sources: Path

    def run(self, scenarios: Sequence[Scenario], mode: HookMode) -> tuple[Trial, ...]:
        """Run scenarios of one hook mode that want the same LD_PRELOAD."""
        if not scenarios:
            return ()
        job = {
            "mode": mode,
            "library": str(self.libraries[mode]),
            "major": self.major,
            "root": str(self.package.root),
            "stand_ins": str(self.sources / "stand_ins"),
            "limit": _LIMIT,
            "scenarios": [{"name": item.name, "settings": dict(item.settings)} for item in scenarios],
        }
        with tempfile.TemporaryDirectory(prefix="patchkit-probe-") as folder:
            done = subprocess.run(
                # -I and -S: nothing of whoever probes has a say.
                [sys.executable, "-I", "-S", "-B", str(self.sources / "child.py"), json.dumps(job)],
                env=self._environment(mode, Path(folder), entries=scenarios[0].entries),
                cwd=folder,
                check=False,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LIMIT * len(scenarios) + 10,
            )
            if done.returncode != 0:
                last = done.stderr.strip().splitlines()[-1:] or [f"it ended with {done.returncode}"]
                raise SimulatorError(f"{self.libraries[mode]} cannot be loaded: {last[0]}", hint=_UNEXPECTED)
            statuses = json.loads(done.stdout)
            return tuple(_trial(item, mode, statuses[item.name], Path(folder)) for item in scenarios)

    def _environment(self, mode: HookMode, folder: Path, *, entries: bool) -> dict[str, str]:
        preload = [str(_preloadable(self.libraries[mode], folder))] if mode == "preload" else []
        if entries:
            preload.append(str(self.simulator / f"libcudart.so.{self.major}"))
        path = [str(self.simulator), *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LD_LIBRARY_PATH": ":".join(part for part in path if part),
            "LD_PRELOAD": ":".join(preload),
            "PATCHKIT_SIMULATOR_CUDA": str(self.major),
        }


def _preloadable(library: Path, folder: Path) -> Path:
    """Return a path that LD_PRELOAD can name: the library's own, or that of a link to it."""
    if not re.search(r"[:\s]", str(library)):
        return library
    link = folder / "torch_memory_saver_hook_mode_preload.so"
    link.symlink_to(library)
    return link


def _trial(scenario: Scenario, mode: HookMode, status: int, folder: Path) -> Trial:
    report = tuple(_lines(folder / f"{scenario.name}.report"))
    outcome, text = _came_of(scenario, mode, status, folder, report)
    return Trial(
        name=scenario.name,
        title=scenario.title,
        mode=mode,
        outcome=outcome,
        ok=outcome is scenario.good,
        text=text,
        report=report,
    )


def _came_of(
    scenario: Scenario, mode: HookMode, status: int, folder: Path, report: Sequence[str]
) -> tuple[Outcome, str]:
    result = folder / f"{scenario.name}.result"
    said = _lines(folder / f"{scenario.name}.said")
    by_library = [line[line.index(_MARK) :] for line in said if _MARK in line]
    fault = [line for line in report if line.startswith("fault ")]
    if result.exists() and status == 0:
        answer = json.loads(result.read_text())
        return Outcome(answer["outcome"]), answer["text"]
    if status == -signal.SIGSEGV and fault:
        return Outcome.FAULTS, fault[0]
    if by_library:
        return Outcome.DIES, by_library[-1]
    last = said[-1] if said else "it said nothing"
    raise SimulatorError(f"{scenario.name}, hook mode {mode}, ended with {status}: {last}", hint=_UNEXPECTED)


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


_MARK = "[torch_memory_saver.cpp]"
_UNEXPECTED = "the library needs something that the simulator does not have, or is no torch_memory_saver"
