"""Compare patchkit with git and GNU patch on generated cases: ``python -m tests.differential --cases 100000``.

Needs git, patch and diff, and a release of Megatron-LM as a wheel: ``--wheel FILE``, or the ones in the user's cache.
Exits 1 when there is a disagreement that no rule of docs/conformance.md covers.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from patchkit.store.cache import default_cache

from .campaign import BATCH, Report, compare
from .texts import python_files


def main() -> int:
    """Run the cases that are asked for and print what came of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="how many (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, help="with the number of a case it makes the case again (default: the time)"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default: %(default)s)")
    parser.add_argument("--report", type=Path, help="write each batch here, and leave out those that are here already")
    parser.add_argument("--wheel", type=Path, help="a release of Megatron-LM, whose files are edited")
    asked = parser.parse_args()
    wheels = [asked.wheel] if asked.wheel else sorted(default_cache().glob("wheels/*/*.whl"))
    if not wheels:
        parser.error("no wheel of Megatron-LM is in the cache: name one with --wheel")
    seed = int(time.time()) if asked.seed is None else asked.seed
    print(f"seed {seed}, texts of {wheels[-1].name}", flush=True)  # noqa: T201
    real, report = python_files(wheels[-1]), Report(asked.report, wheels[-1].name)
    for first in range(asked.first, asked.first + asked.cases, BATCH):
        count = min(BATCH, asked.first + asked.cases - first)
        if report.has(seed, first, count):
            continue
        outcomes = compare(seed, first, count, real)
        report.add(seed, first, count, outcomes)
        for one in outcomes:
            if one.disagreement:
                print(f"{one.family} {one.number}: {one.disagreement}", flush=True)  # noqa: T201
    for rule, times in sorted(report.rules(seed).items()):
        print(f"{times:8} {rule}")  # noqa: T201
    print("cases with " + ", ".join(f"{kind} {times}" for kind, times in sorted(report.kinds(seed).items())))  # noqa: T201
    found = report.disagreements(seed)
    print(f"{len(found)} disagreements that no rule covers")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
