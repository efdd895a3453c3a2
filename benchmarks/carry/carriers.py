"""The tools that are compared, each as a function from the three texts of a case to a status and a content.

Baselines are run as commands on files in a scratch folder; patchkit is called in the process. What a baseline takes for
granted (a diff, for ``patch`` and ``git apply``) is made before its clock starts.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import FrameType

import msgspec

from benchmarks.carry.cases import Texts
from benchmarks.carry.judge import Status

TIMEOUT = 60
"""Seconds after which a tool's answer is an error."""


class Answer(msgspec.Struct, frozen=True):
    """What a tool made of a case."""

    status: Status
    content: bytes | None = None
    """None on conflict and error."""
    milliseconds: float = 0.0
    """Wall time, the writing of inputs left out, the start of a command's process included."""
    cpu_milliseconds: float = 0.0
    """Processor time of this process; of use only for a tool that runs inside it."""
    error: str = ""


class Workplace:
    """A scratch folder that holds the texts of one case as the files ``base``, ``changed``, ``target``."""

    def __init__(self, folder: Path, path: str, texts: Texts) -> None:
        self.folder = folder
        self.path = path
        self.texts = texts
        (folder / "base").write_bytes(texts.base)
        (folder / "changed").write_bytes(texts.changed)
        (folder / "target").write_bytes(texts.target)

    @cached_property
    def environment(self) -> dict[str, str]:
        """The process's environment without any configuration of git's that is not its own."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        alone = {"GIT_CONFIG_NOSYSTEM": "1", "HOME": str(self.folder), "LC_ALL": "C"}
        # git apply inside somebody's repository takes the paths of a diff as relative to its root, and skips others.
        return kept | alone | {"GIT_CEILING_DIRECTORIES": str(self.folder.resolve().parent)}

    def run(self, *command: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command in the folder."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )

    def write_diff(self) -> None:
        """Write the change as ``diff``, a patch against the file ``target``."""
        found = self.run("git", "diff", "--no-index", "--no-color", "--no-ext-diff", "base", "changed")
        # Every tool here takes the name of the old side, and the file to patch has another one.
        content = found.stdout.replace(b"--- a/base\n+++ b/changed\n", b"--- a/target\n+++ b/target\n", 1)
        content = content.replace(b"diff --git a/base b/changed\n", b"diff --git a/target b/target\n", 1)
        (self.folder / "diff").write_bytes(content)


class Carrier(msgspec.Struct, frozen=True):
    """A tool."""

    name: str
    program: str
    """What must be there: a program's name, or ``patchkit``."""
    carry: Callable[[Workplace], tuple[Status, bytes | None]]
    needs_diff: bool = False

    def available(self) -> bool:
        """Whether the tool can run on this machine."""
        if self.program != "patchkit":
            return shutil.which(self.program) is not None
        try:
            from patchkit import carry_file
        except ImportError:
            return False
        return callable(carry_file)

    def answer(self, place: Workplace) -> Answer:
        """Run the tool on a case; nothing that it raises ends the run."""
        if self.needs_diff:
            place.write_diff()
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            with _time_limit(TIMEOUT):
                status, content = self.carry(place)
            error = ""
        except Exception as problem:
            # A tool's failure is a figure of that tool.
            status, content, error = Status.ERROR, None, f"{type(problem).__name__}: {problem}"[:300]
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return Answer(status, content, round(wall * 1000, 3), round(cpu * 1000, 3), error)


def _patchkit(place: Workplace) -> tuple[Status, bytes | None]:
    from patchkit import carry_file

    texts = place.texts
    result = carry_file(texts.base, texts.changed, texts.target, place.path)
    return Status(result.status.value), result.content


def _git_merge_file(place: Workplace) -> tuple[Status, bytes | None]:
    # git-merge-file(1): the exit code is the number of conflicts, and above 127 for an error.
    result = place.run("git", "merge-file", "-p", "--diff3", "target", "base", "changed")
    return _by_code(result, conflicts=range(1, 128), content=lambda: result.stdout)


def _wiggle(*options: str) -> Callable[[Workplace], tuple[Status, bytes | None]]:
    def carry(place: Workplace) -> tuple[Status, bytes | None]:
        result = place.run("wiggle", "--merge", *options, "target", "base", "changed")
        return _by_code(result, conflicts=range(1, 2), content=lambda: result.stdout)

    return carry


def _patch(fuzz: int) -> Callable[[Workplace], tuple[Status, bytes | None]]:
    options = ("--force", "--forward", "--silent", f"--fuzz={fuzz}", "--reject-file=-", "--output=result")

    def carry(place: Workplace) -> tuple[Status, bytes | None]:
        output = place.folder / "result"
        output.unlink(missing_ok=True)
        result = place.run("patch", *options, "target", "diff")
        return _by_code(result, conflicts=range(1, 2), content=output.read_bytes)

    return carry


def _git_apply(*options: str) -> Callable[[Workplace], tuple[Status, bytes | None]]:
    def carry(place: Workplace) -> tuple[Status, bytes | None]:
        target = place.folder / "target"
        result = place.run("git", "apply", *options, "diff")
        answer = _by_code(result, conflicts=range(1, 2), content=target.read_bytes)
        target.write_bytes(place.texts.target)
        return answer

    return carry


def _by_code(
    result: subprocess.CompletedProcess[bytes], *, conflicts: range, content: Callable[[], bytes]
) -> tuple[Status, bytes | None]:
    if result.returncode == 0:
        return Status.CLEAN, content()
    return (Status.CONFLICT if result.returncode in conflicts else Status.ERROR), None


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in code of this process that runs too long (main thread only, POSIX)."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"no answer after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds + 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


CARRIERS: Mapping[str, Carrier] = {
    carrier.name: carrier
    for carrier in (
        Carrier("git-apply", "git", _git_apply(), needs_diff=True),
        Carrier("git-apply-C1", "git", _git_apply("-C1"), needs_diff=True),
        Carrier("git-merge-file", "git", _git_merge_file),
        Carrier("patch-F2", "patch", _patch(2), needs_diff=True),
        Carrier("patch-F3", "patch", _patch(3), needs_diff=True),
        Carrier("wiggle", "wiggle", _wiggle()),
        Carrier("wiggle-lines", "wiggle", _wiggle("--lines")),
        Carrier("patchkit", "patchkit", _patchkit),
    )
}


def available(names: Sequence[str]) -> list[str]:
    """Return the names of those that can run here, and print which cannot. Raises SystemExit for an unknown name."""
    unknown = [name for name in names if name not in CARRIERS]
    if unknown:
        raise SystemExit(f"no such tool: {', '.join(unknown)}; there are {', '.join(CARRIERS)}")
    absent = [name for name in names if not CARRIERS[name].available()]
    for name in absent:
        print(f"{name} is left out: {CARRIERS[name].program} is not on this machine", file=sys.stderr)
    return [name for name in names if name not in absent]
