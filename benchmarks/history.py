"""Time and memory of ``patchkit history``, cold and warm, against `git log --raw` in the same run.

    python -m benchmarks.history --git CLONE [--range A..B]... [--all] [--rounds 5] [--json FILE]

Every figure is of whole processes. Cold is one run with an empty cache; warm, git and a bare Python are the best of the
rounds, interleaved, since machines are noisy: ratios are what counts. Memory is the proportional set size (PSS) of the
whole process tree, looked at every 20 ms, so that what forked processes share counts once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.timing import as_installed

RANGES = ("core_v0.14.0..core_v0.16.0", "core_v0.14.0..main", "3714d81d..dev")
FILES = ("distributed_data_parallel.py", "distributed_data_parallel_config.py", "param_and_grad_buffer.py")
PATHS = [f"megatron/core/distributed/{name}" for name in FILES]
NO_BACKUP = ("no-backup-grad-buffers", "no-backup-param-buffers")
_PSS_EVERY = 0.02


@dataclass(frozen=True)
class Ran:
    """One process tree."""

    seconds: float
    cpu: float
    """Processor seconds of all its processes."""
    mib: float
    out: str


def run(command: list[str], cache: Path | None = None, *, memory: bool = False) -> Ran:
    """Run a command to its end."""
    environment = as_installed(**({"PATCHKIT_CACHE": str(cache)} if cache else {}))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        peak = [0.0]
        if memory:
            threading.Thread(target=_watch, args=(process, peak), daemon=True).start()
        out, _ = process.communicate()
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, command
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(seconds, cpu, peak[0], out.decode("utf-8", "replace"))


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(map(_pss, _tree(process.pid))))
        time.sleep(_PSS_EVERY)


def _tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(other for child in children for other in _tree(int(child)))]


def _pss(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


@dataclass(frozen=True)
class Measured:
    """One history."""

    name: str
    commits: int
    texts: int
    cold: float
    cold_cpu: float
    warm: float
    git: float
    """`git log --raw` over the same commits and the three DDP files."""
    cold_mib: float
    warm_mib: float


def measure(git: Path, asked: list[str], revisions: list[str], name: str, rounds: int) -> Measured:
    """Measure one history."""
    own = [sys.executable, "-m", "patchkit", "history", "--git", str(git), "--format", "json", *asked]
    log = ["git", "-C", str(git), "log", "--raw", "--no-abbrev", "--full-history", "--no-renames", *revisions]
    cache = Path(tempfile.mkdtemp(prefix="history-"))
    try:
        cold = run(own, cache, memory=True)
        counts = json.loads(cold.out)["counts"]
        assert counts["texts"] == counts["carried"]
        warm_memory = run(own, cache, memory=True)
        warm, plain = [], []
        for _ in range(rounds):
            warm.append(run(own, cache).seconds)
            plain.append(run([*log, "--", *PATHS]).seconds)
    finally:
        shutil.rmtree(cache)
    return Measured(
        name,
        counts["commits"],
        counts["texts"],
        cold.seconds,
        cold.cpu,
        min(warm),
        min(plain),
        cold.mib,
        warm_memory.mib,
    )


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--git", type=Path, required=True)
    parser.add_argument("--range", dest="ranges", action="append")
    parser.add_argument("--all", dest="everything", action="store_true", help="every branch and tag as well")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    python = min(run([sys.executable, "-c", "import patchkit.cli.main"]).seconds for _ in range(options.rounds))
    found = [measure(options.git, ["--range", span], [span], span, options.rounds) for span in options.ranges or RANGES]
    if options.everything:
        refs = ["--branches", "--remotes", "--tags"]
        found.append(measure(options.git, ["--all", "--from", "0.14.0"], refs, "--all, from 0.14.0", options.rounds))
        # From the newest release the third patch is to two files more, which change every week.
        found.append(measure(options.git, [*NO_BACKUP, "--all"], refs, "--all, no-backup patches", options.rounds))
    head = f"{'history':28} {'commits':>8} {'texts':>6} {'cold s':>8} {'cpu s':>7} {'ms/text':>8} {'ms/commit':>10}"
    print(f"{head} {'warm s':>7} {'git s':>6} {'warm/git':>8} {'MiB':>5} {'warm':>5}")
    for one in found:
        print(
            f"{one.name:28} {one.commits:8} {one.texts:6} {one.cold:8.2f} {one.cold_cpu:7.2f} "
            f"{one.cold / one.texts * 1000:8.0f} {one.cold / one.commits * 1000:10.2f} "
            f"{one.warm:7.2f} {one.git:6.2f} {one.warm / one.git:8.1f} {one.cold_mib:5.0f} {one.warm_mib:5.0f}"
        )
    print(f"a Python that imports patchkit.cli.main: {python:.2f} s; processors: {os.cpu_count()}")
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=2))


if __name__ == "__main__":
    main()
