"""How long ``carry_file`` takes and how much memory it needs, on the manifests' files and on made-up large ones.

    python -m benchmarks.carry.speed --git CLONE [--rounds 3] [--json FILE]

One process, one case after another; of each case the best of the rounds counts, since machines are noisy. Each is
carried for the first time: a round goes through all of the cases, in no order of their files, and what the engine
remembers of one is gone before the next round comes to it. With a clone the series is carried from each release to the
next one as well, all patches on all files, in a process of its own for each round. Peak memory is that of a process
that carries one file, beside that of a process that only imports patchkit.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.carry.cases import Texts, load_cases, with_texts
from benchmarks.carry.tables import percentile

SIZES = (5_000, 50_000)
"""Lines of the made-up files."""
DENSE_SIZES = (2_500, 5_000)
"""Lines of those of which both sides change every second line."""


def carry_ms(texts: Texts, path: str) -> float:
    """Return the processor time of ``carry_file`` in milliseconds: what else the machine does counts less."""
    from patchkit import carry_file

    begin = time.process_time()
    carry_file(texts.base, texts.changed, texts.target, path)
    return (time.process_time() - begin) * 1000


def alone(made_up: str, rounds: int = 1) -> tuple[float, float]:
    """Return the shortest time and the peak resident memory (MiB) of processes that carry a made-up case each.

    ``made_up`` is the call that makes it; empty for processes that only import patchkit.
    """
    work = f"print(carry_ms({made_up}, 'made_up.py'))" if made_up else "print(0.0)"
    script = (
        "import resource\n"
        "from benchmarks.carry.made_up import dense_case, large_case\n"
        "from benchmarks.carry.speed import carry_ms\n"
        "from patchkit import carry_file\n"
        f"{work}\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    checkout = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", script]
    rows = []
    for _ in range(rounds):
        result = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True)
        rows.append([float(word) for word in result.stdout.split()])
    times, memory = zip(*rows, strict=True)
    return min(times), max(memory) / 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--git", type=Path, metavar="CLONE", help="without it only the made-up files are measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    figures: dict[str, float] = {}
    # First, since a process begins with the peak of the one that starts it.
    figures["peak MiB, import only"] = alone("")[1]
    for size in SIZES:
        for kind, conflicting in (("line merge", False), ("both sides touch", True)):
            name = f"made-up {size} lines, {kind}"
            case = f"large_case({size}, conflicting={conflicting})"
            figures[f"{name}, ms"], figures[f"{name}, peak MiB"] = alone(case, options.rounds)
    for size in DENSE_SIZES:
        for kind, clean in (("other words", True), ("the same words", False)):
            name = f"made-up {size} lines, both sides change {kind} of every second, ms"
            figures[name] = alone(f"dense_case({size}, clean={clean})")[0]
    if options.git:
        figures |= _of_manifests(options.git, options.rounds)
        figures |= _of_series(options.git, options.rounds)
    for name, value in figures.items():
        print(f"{name:75} {value:10.1f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def _of_manifests(clone: Path, rounds: int) -> dict[str, float]:
    missing: list[str] = []
    best: dict[str, float] = {}
    lines: dict[str, int] = {}
    # By id, as good as by chance: two cases of one file in a row would share what is read.
    cases = sorted(load_cases(), key=lambda case: case.id)
    for _ in range(rounds):
        missing.clear()
        for case, texts in with_texts(clone, cases, missing):
            lines[case.id] = texts.target.count(b"\n")
            best[case.id] = min(best.get(case.id, math.inf), carry_ms(texts, case.path))
    measured = [(milliseconds, lines[name], name) for name, milliseconds in best.items()]
    times = sorted(milliseconds for milliseconds, _, _ in measured)
    slowest, lines_of_slowest, slowest_id = max(measured)
    most_lines = max(lines for _, lines, _ in measured)
    of_largest = max(milliseconds for milliseconds, lines, _ in measured if lines == most_lines)
    return {
        "files": len(times),
        "cases that the clone lacks": len(missing),
        "median ms": statistics.median(times),
        "p99 ms": percentile(times, 99),
        f"slowest ms ({slowest_id}, {lines_of_slowest} lines)": slowest,
        f"largest file ms ({most_lines} lines)": of_largest,
    }


def _of_series(clone: Path, rounds: int) -> dict[str, float]:
    """Carry the series from each release to the next, in a process of its own for each round."""
    script = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from benchmarks.carry.speed import series_ms\n"
        "print(json.dumps(series_ms(Path(sys.argv[1]))))\n"
    )
    checkout = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", script, str(clone)]
    rows = [
        json.loads(subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True).stdout)
        for _ in range(rounds)
    ]
    best = [min(times) for times in zip(*rows, strict=True)]
    return {
        "pairs of releases": len(best),
        "the series from a release to the next, median ms": statistics.median(best),
        "the series from a release to the next, slowest ms": max(best),
    }


def series_ms(clone: Path) -> list[float]:
    """Return the processor time of carrying the whole series to each release that has a tag, from the one before it."""
    from patchkit.operations.history_carry import Carrier
    from patchkit.operations.layers import layers
    from patchkit.operations.sources import load_workspace
    from patchkit.trees.git import GitTree

    workspace = load_workspace()
    series = workspace.sources.series
    releases = [target for target in workspace.targets if target.tag is not None]
    times = []
    for base, target in pairwise(releases):
        from_tree, onto = (GitTree(clone, str(each.tag)) for each in (base, target))
        carrier = Carrier(layers(series, base, from_tree.read), base)
        texts = [(path, onto.read(path)) for path in carrier.hunks]
        begin = time.process_time()
        for path, text in texts:
            carrier.on(path, text)
        times.append((time.process_time() - begin) * 1000)
    return times


if __name__ == "__main__":
    sys.exit(main())
