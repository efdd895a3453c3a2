"""Cases on a GPU: one process for each, or for each of its ranks, with the environment that an actor would have."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from patchkit.errors import TrainerError
from patchkit.tms.cycle.cases import Case
from patchkit.tms.cycle.gpus import Machine
from patchkit.tms.elf import read_library
from patchkit.tms.environment import ALLOCATOR_VARIABLES, actor_environment
from patchkit.tms.library import Cuda, HookMode, fitting_library
from patchkit.tms.package import Package, content_of

LIMIT = 240
"""Seconds that a process may take to import, and again to answer."""

IMPORTING = 6
"""Cases whose processes import while others use the device."""

MACHINE, CODES = "machine.json", "codes.json"
"""Files beside what the processes leave: what the machine has, and exit codes by rank."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a case."""

    codes: tuple[int, ...]
    """Exit codes of the ranks; minus the signal that ended one."""
    answers: tuple[Mapping[str, Any], ...]
    """See worker/gpu.py; empty for a rank that died."""
    said: tuple[str, ...]
    """What each rank wrote."""

    @property
    def failure(self) -> str | None:
        """How it failed, by the first rank that did; None when every rank ended well."""
        for code, answer, said in zip(self.codes, self.answers, self.said, strict=True):
            if code != 0 or not answer:
                lines = [line for line in said.strip().splitlines() if line.strip()] or ["it said nothing"]
                own = [line for line in lines if "[torch_memory_saver" in line]
                return f"ended with {code}: {(own or lines)[-1]}"
            if "raised" in answer:
                return f"raises {answer['raised']} in {answer['where']}: {answer['text']}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where cases run."""

    machine: Machine
    trees: Mapping[tuple[str, bool], Path]
    """The folder that holds megatron/, by release and whether it is patched."""
    savers: Mapping[str, Package]
    """torch_memory_saver by release."""
    folder: Path
    """For what processes leave."""
    python: str = sys.executable


class Runs:
    """The processes of cases. Several import and train at once; one whose memory is measured has the device alone."""

    def __init__(self, site: Site, cases: Sequence[Case], *, at_once: int) -> None:
        self._site = site
        self._turns = Turns(at_once)
        self._pool = ThreadPoolExecutor(max_workers=at_once + IMPORTING)
        # Those that compile come first, and those that have the device alone last, when nobody waits for them.
        order = sorted(dict.fromkeys(cases), key=lambda case: (case.alone, not case.user_buffers))
        site.folder.mkdir(parents=True, exist_ok=True)
        day = dt.datetime.now(dt.timezone.utc).date().isoformat()
        (site.folder / MACHINE).write_text(json.dumps({"date": day, **asdict(site.machine)}), encoding="utf-8")
        self._results: dict[Case, Future[Answered]] = {
            case: self._pool.submit(self._run, case, site.folder / case.id) for case in order
        }

    def answer(self, case: Case) -> Answered:
        """Wait for a case."""
        return self._results[case].result()

    def close(self) -> None:
        """Drop what nobody waits for."""
        self._pool.shutdown(cancel_futures=True)

    def _run(self, case: Case, folder: Path) -> Answered:
        folder.mkdir(parents=True)
        with as_file(files("patchkit.tms.cycle") / "worker") as worker:
            children = [self._start(case, rank, folder, worker) for rank in range(case.ranks)]
            try:
                ready = [_ready(child) for child in children]
                with self._turns.take(alone=case.alone):
                    if all(ready):
                        for child in children:
                            _tell(child)
                    codes = [_wait(child) for child in children]
            finally:
                for child in children:
                    if child.poll() is None:
                        child.kill()
                        child.wait()
        (folder / CODES).write_text(json.dumps(codes), encoding="utf-8")
        return _answered(folder)

    def _start(self, case: Case, rank: int, folder: Path, worker: Path) -> subprocess.Popen[str]:
        job = {
            **case.job(),
            "rank": rank,
            "tree": str(self._site.trees[case.megatron, case.patched]),
            "store": str(folder / "store"),
            "folder": str(folder / "checkpoint"),
            "out": str(folder / f"{rank}.json"),
        }
        file = folder / f"{rank}.job"
        file.write_text(json.dumps(job), encoding="utf-8")
        with (folder / f"{rank}.said").open("wb") as said:
            return subprocess.Popen(
                [self._site.python, "-B", str(worker / "gpu.py"), str(file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                env=environment(self._site, case),
                cwd=folder,
                # An interrupt is for whoever asked, not for a case that could still end well.
                start_new_session=True,
            )


class Replay:
    """Cases that ran before, by what their processes left in a folder: they can be judged again without a GPU."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def machine(self) -> tuple[Machine, str]:
        """Where they ran, and on which UTC day. Raises TrainerError when nothing did."""
        try:
            found = json.loads((self._folder / MACHINE).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise TrainerError(f"{self._folder} holds no answers of GPU tests: {error}") from error
        day = found.pop("date")
        return Machine(**{**found, "runtime": tuple(found["runtime"]), "nccl": tuple(found["nccl"])}), day

    def has(self, case: Case) -> bool:
        """Whether a case ran to its end."""
        return (self._folder / case.id / CODES).is_file()

    def answer(self, case: Case) -> Answered:
        """What came of a case that ran."""
        return _answered(self._folder / case.id)

    def close(self) -> None:
        """Nothing is running."""


def _answered(folder: Path) -> Answered:
    codes = json.loads(_read(folder / CODES))
    return Answered(
        tuple(codes),
        tuple(json.loads(_read(folder / f"{rank}.json") or "{}") for rank in range(len(codes))),
        tuple(_read(folder / f"{rank}.said") for rank in range(len(codes))),
    )


def environment(site: Site, case: Case) -> dict[str, str]:
    """The variables of the processes of a case."""
    dropped = {"LD_PRELOAD", *ALLOCATOR_VARIABLES}
    before = {name: value for name, value in os.environ.items() if name not in dropped and not name.startswith("TMS_")}
    paths = [str(Path(__file__).resolve().parents[3]), *filter(None, [before.get("PYTHONPATH")])]
    before |= {
        # The same sums in the same order in every process.
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "OMP_NUM_THREADS": "2",
        # Compiled and plain functions are the same in all trees; loading the compiler takes seconds.
        "TORCHDYNAMO_DISABLE": "1",
        # Each process would keep as many workers of the compiler as there are processors.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        # All ranks are on this machine.
        "NCCL_SOCKET_IFNAME": "lo",
    }
    if case.user_buffers:
        before |= _compiler_paths(site)
    else:
        # As in frameworks that pause: NCCL keeps no mapping of what is paused.
        before["NCCL_CUMEM_ENABLE"] = "0"
    if case.saver is not None:
        paths.insert(0, str(site.savers[case.saver].root))
    before["PYTHONPATH"] = os.pathsep.join(paths)
    library = given_library(site, case)
    if library is None or case.hook != "preload":
        return before
    # The CUDA runtime of a torch from the package index is not where the loader looks.
    found = actor_environment(
        library,
        read_library(content_of(library), str(library)),
        before,
        library_folders=[Path(folder) for folder in site.machine.runtime],
    )
    return {**before, **found.variables, "TMS_INIT_CPU_BACKUP_BACKEND": case.backend}


def given_library(site: Site, case: Case) -> Path | None:
    """Return the library of torch_memory_saver that the processes of a case load, if they do."""
    if case.saver is None:
        return None
    mode: HookMode = "torch" if case.hook == "torch" else "preload"
    return fitting_library(site.savers[case.saver], Cuda(site.machine.cuda), mode)


def _compiler_paths(site: Site) -> dict[str, str]:
    """Megatron compiles its allocator of NCCL's memory when it is asked for, and wants nccl.h and libnccl.so."""
    folder = site.folder / "nccl"
    folder.mkdir(exist_ok=True)
    found: dict[str, str] = {"TORCH_EXTENSIONS_DIR": str(site.folder / "extensions")}
    for library in site.machine.nccl[:1]:
        link = folder / "libnccl.so"
        if not link.exists():
            link.symlink_to(library)
        includes = Path(library).parent.parent / "include"
        for name, path in (("CPATH", includes), ("LIBRARY_PATH", folder)):
            found[name] = os.pathsep.join([str(path), *filter(None, [os.environ.get(name)])])
    return found


class Turns:
    """Who may use the device: several at once, or one alone."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._free = threading.Semaphore(at_once)
        self._alone = threading.Lock()

    @contextmanager
    def take(self, *, alone: bool) -> Iterator[None]:
        """Wait for a turn, and have it for the time of a with statement."""
        wanted = self._at_once if alone else 1
        # One after the other, so that two that want all do not each get half.
        with self._alone:
            for _ in range(wanted):
                self._free.acquire()
        try:
            yield
        finally:
            self._free.release(wanted)


def _ready(child: subprocess.Popen[str]) -> bool:
    """Wait until a process has imported everything; False when it ended before."""
    timer = threading.Timer(LIMIT, child.kill)
    timer.start()
    try:
        return any(line == "ready\n" for line in iter(child.stdout.readline, "")) if child.stdout else False
    finally:
        timer.cancel()


def _tell(child: subprocess.Popen[str]) -> None:
    if child.stdin is not None:
        child.stdin.write("go\n")
        child.stdin.flush()


def _wait(child: subprocess.Popen[str]) -> int:
    try:
        child.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
    return child.returncode


def _read(path: Path) -> str:
    """Return the text of a file; empty when there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
