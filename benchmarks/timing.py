"""Wall time and memory of whole processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PATCHKIT = [str(Path(sys.executable).with_name("patchkit"))]


def as_installed(**variables: str) -> dict[str, str]:
    """Return the environment with some variables, and with the bytecode that an installation keeps.

    Where Python may not write it, every start would compile the package anew, and that would be measured.
    """
    return {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | variables


def run(
    command: list[str],
    folder: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    codes: frozenset[int] = frozenset({0}),
) -> float:
    """Run a command and return its wall time in milliseconds. Raises when its exit code is none of ``codes``."""
    begin = time.perf_counter()
    done = subprocess.run(command, check=False, cwd=folder, env=environment or as_installed(), capture_output=True)
    if done.returncode not in codes:
        raise RuntimeError(f"{command}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return (time.perf_counter() - begin) * 1000


def medians(rounds: int, jobs: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Run all jobs once a round, so that noise falls on all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            times[name].append(job())
    return {name: statistics.median(values) for name, values in times.items()}


def peak_mib(command: list[str]) -> float:
    """Return the peak resident memory of a command, in MiB (Linux counts in KiB)."""
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    result = subprocess.run([sys.executable, "-c", script, *command], check=True, capture_output=True, text=True)
    return int(result.stdout) / 1024
