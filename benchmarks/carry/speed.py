"""How long ``carry_file`` takes and how much memory it needs, on the manifests' files and on made-up large ones.

    python -m benchmarks.carry.speed --git CLONE [--rounds 3] [--json FILE]

One process, one case after another; of each case the best of the rounds counts, since machines are noisy. With a clone
the series is carried from each release to the next one as well, all patches on all files, each pair for the first time:
nothing that an earlier round found is known to it. Peak memory
is that of a process of its own that carries one file, beside that of a process that only imports patchkit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.carry.cases import Texts, load_cases, with_texts
from benchmarks.carry.made_up import dense_case, large_case
from benchmarks.carry.tables import percentile

SIZES = (5_000, 50_000)
"""Lines of the made-up files."""
DENSE_SIZES = (2_500, 5_000)
"""Lines of those of which both sides change every second line."""


def best_ms(texts: Texts, path: str, rounds: int) -> float:
    """Return the shortest processor time of ``carry_file`` in milliseconds: what else the machine does counts less."""
    from patchkit import carry_file

    times = []
    for _ in range(rounds):
        begin = time.process_time()
        carry_file(texts.base, texts.changed, texts.target, path)
        times.append((time.process_time() - begin) * 1000)
    return min(times)


def peak_mib(lines: int, *, conflicting: bool) -> float:
    """Return the peak resident memory of a process that carries a made-up case; 0 lines: only the import."""
    script = (
        "import resource, sys\n"
        "from benchmarks.carry.made_up import large_case\n"
        "from patchkit import carry_file\n"
        f"texts = large_case({max(lines, 1)}, conflicting={conflicting})\n"
        f"carry_file(texts.base, texts.changed, texts.target, 'made_up.py') if {lines} else None\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    checkout = Path(__file__).resolve().parents[2]
    result = subprocess.run([sys.executable, "-c", script], cwd=checkout, check=True, capture_output=True, text=True)
    return int(result.stdout) / 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--git", type=Path, metavar="CLONE", help="without it only the made-up files are measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    figures: dict[str, float] = {}
    if options.git:
        figures |= _of_manifests(options.git, options.rounds)
        figures |= _of_series(options.git, options.rounds)
    figures["peak MiB, import only"] = peak_mib(0, conflicting=False)
    for size in SIZES:
        for kind, conflicting in (("line merge", False), ("both sides touch", True)):
            texts = large_case(size, conflicting=conflicting)
            figures[f"made-up {size} lines, {kind}, ms"] = best_ms(texts, "made_up.py", options.rounds)
            figures[f"made-up {size} lines, {kind}, peak MiB"] = peak_mib(size, conflicting=conflicting)
    for size in DENSE_SIZES:
        for kind, clean in (("other words", True), ("the same words", False)):
            name = f"made-up {size} lines, both sides change {kind} of every second, ms"
            figures[name] = best_ms(dense_case(size, clean=clean), "made_up.py", 1)
    for name, value in figures.items():
        print(f"{name:75} {value:10.1f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def _of_manifests(clone: Path, rounds: int) -> dict[str, float]:
    missing: list[str] = []
    measured = [
        (best_ms(texts, case.path, rounds), texts.target.count(b"\n"), case.id)
        for case, texts in with_texts(clone, load_cases(), missing)
    ]
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
