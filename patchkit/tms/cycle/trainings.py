"""Trainings under the simulator, each rank in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from patchkit.errors import SimulatorError, TmsNotFoundError, TrainerError, UsageError
from patchkit.tms.cycle.interpreter import TESTED, Interpreter
from patchkit.tms.elf import read_library
from patchkit.tms.environment import ALLOCATOR_VARIABLES, actor_environment
from patchkit.tms.library import Cuda, fitting_library
from patchkit.tms.package import Package, content_of
from patchkit.tms.simulator.build import RUNTIMES, simulator

GRANULARITY = 4096
"""Of the simulated device; worker/device.py makes segments of it."""

_LIMIT = 120
"""Seconds for one training, which takes one or two."""


@dataclass(frozen=True, slots=True)
class Training:
    """One way to train."""

    flags: bool = True
    """Whether the fields of the series are on."""
    params: bool = True
    """Whether that of the parameters is among them; without the distributed optimizer it never is."""
    sharded: bool = True
    """Whether the optimizer is the distributed one."""
    gradients: str = "fp32"
    """Or bf16: what they are added up and reduced in."""
    overlap: bool = False
    """Whether gradients are reduced and parameters gathered while it computes."""
    cycles: int = 3
    """Pauses, one after each of the first steps."""
    free: bool = True
    """Whether memory is freed while everything is paused."""
    touch: bool = False
    """Whether a buffer is read while it is paused."""
    restore: str = "copy"
    """How parameters get their values back after a pause: ``copy``, as frameworks do, ``main``, from the main
    parameters of the optimizer, or ``none``."""
    guard: bool = False
    """Whether patchkit's guard pauses."""
    open_step: bool = False
    """Whether a pause is tried while gradients are accumulated."""
    checkpoint: bool = False
    """Whether a checkpoint is written after two cycles, read by a new model, and gone on from."""
    retain: bool = False
    """Whether backups stay on the host after a resume."""
    world: int = 1
    """Ranks."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of the ranks of one training."""

    codes: tuple[int, ...]
    """Exit codes; minus the signal that ended a rank."""
    answers: tuple[Mapping[str, Any], ...]
    """Of each rank, see worker/cycle.py; empty for one that died."""
    said: tuple[str, ...]
    """Standard error of each rank."""
    reports: tuple[tuple[str, ...], ...]
    """What the simulator saw in each rank."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What trainings run on."""

    tree: Path
    """The folder that holds megatron/, patched."""
    saver: Package
    major: int
    """Of the simulated CUDA."""
    interpreter: Interpreter
    cache: Path
    """Where the simulator is kept."""

    def train(self, trainings: Sequence[Training], *, at_once: int | None = None) -> dict[Training, Trained]:
        """Run trainings, ``at_once`` ranks at a time (by default as many as there are processors).

        Raises SimulatorError, TrainerError, TmsNotFoundError, TmsFileError.
        """
        simulator(self.cache)  # Where there can be none, nothing else is tried.
        named = {f"training-{at}": training for at, training in enumerate(dict.fromkeys(trainings))}
        with (
            as_file(files("patchkit.tms.cycle") / "worker") as worker,
            tempfile.TemporaryDirectory(prefix="patchkit-cycle-") as folder,
        ):
            job = {
                "tree": str(self.tree.absolute()),
                "saver": str(self.saver.root),
                "patchkit": str(Path(__file__).resolve().parents[2]),
                "folder": folder,
                "major": self.major,
                "at_once": at_once or len(os.sched_getaffinity(0)),
                "trainings": [{"name": name, **asdict(training)} for name, training in named.items()],
            }
            self._run(
                [self.interpreter.path, "-B", str(worker / "child.py"), json.dumps(job)], Path(folder), len(named)
            )
            self._refuse_unprepared(Path(folder))
            ended = json.loads(_read(Path(folder, "ended.json")))
            return {training: _trained(ended[name], Path(folder, name)) for name, training in named.items()}

    def _run(self, command: Sequence[str], folder: Path, trainings: int) -> None:
        said = folder / "said"
        limit = _LIMIT * (trainings + 1)
        with said.open("wb") as file:
            # A session of its own, so that nothing that it forked outlives it.
            child = subprocess.Popen(
                command,
                env=self._environment(),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )
            try:
                code = child.wait(timeout=limit)
            except subprocess.TimeoutExpired as error:
                raise SimulatorError(f"{trainings} trainings did not end in {limit} seconds") from error
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
        if code != 0:
            last = _read(said).strip().splitlines()[-1:] or ["it said nothing"]
            raise SimulatorError(f"{self.interpreter.path} with {self.saver.label} ended with {code}: {last[0]}")

    def _environment(self) -> dict[str, str]:
        """What `patchkit tms env` sets, with the simulator in the place of a driver."""
        library = fitting_library(self.saver, Cuda(self.major), "preload")
        dropped = {"LD_PRELOAD", *ALLOCATOR_VARIABLES}
        before = {name: value for name, value in os.environ.items() if name not in dropped}
        found = actor_environment(
            library,
            read_library(content_of(library), str(library)),
            before,
            library_folders=(simulator(self.cache),),
        )
        return {
            **before,
            **found.variables,
            "PATCHKIT_SIMULATOR_GRANULARITY": str(GRANULARITY),
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": "1",
        }

    def _refuse_unprepared(self, folder: Path) -> None:
        failed = json.loads(_read(folder / "prepared.json") or "null")
        if failed is None:
            return
        what = f"{self.interpreter.path} cannot import the Megatron of {self.tree}: {failed['raised']}"
        hint = f"it needs {failed['missing']}" if failed["missing"] else f"it was tried out with torch {TESTED}"
        raise TrainerError(f"{what} in {failed['where']}: {failed['text']}", hint=hint)


def choose_major(saver: Package, asked: int | None) -> int:
    """Return the CUDA to simulate: the one asked for, or the newest that there is a library for.

    Raises SimulatorError, TmsNotFoundError, UsageError.
    """
    if saver.only:
        raise UsageError(
            f"{saver.only} is a library alone, and training needs the Python files of torch_memory_saver too",
            hint="name the wheel, or the folder that it is installed in",
        )
    if asked is not None and asked not in RUNTIMES:
        known = ", ".join(map(str, RUNTIMES))
        raise SimulatorError(f"there is no simulated runtime for CUDA {asked}, only for {known}")
    if asked is not None:
        return asked
    for major in sorted(RUNTIMES, reverse=True):
        try:
            fitting_library(saver, Cuda(major), "preload")
        except TmsNotFoundError:
            continue
        return major
    fitting_library(saver, Cuda(max(RUNTIMES)), "preload")  # Raises, and says what was looked for.
    return max(RUNTIMES)


def _trained(codes: Sequence[int], stem: Path) -> Trained:
    ranks = range(len(codes))
    return Trained(
        tuple(codes),
        tuple(json.loads(_read(Path(f"{stem}.{rank}.json")) or "{}") for rank in ranks),
        tuple(_read(Path(f"{stem}.{rank}.said")) for rank in ranks),
        tuple(tuple(_read(Path(f"{stem}.{rank}.report")).splitlines()) for rank in ranks),
    )


def _read(path: Path) -> str:
    """Return the text of a file; empty when there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
