"""Try faults in the write paths of patchkit, and print what came of them.

    PYTHONPATH=tests/cpu python -m faults all            # every fault at every call
    PYTHONPATH=tests/cpu python -m faults random         # SIGKILL at random moments
    PYTHONPATH=tests/cpu python -m faults all revert     # of one path

Worlds are laid in a temporary folder: with TMPDIR on a disk of memory, they take a fraction of the time. Exits 1 when
something was lost, or when the next command did not end what was begun.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .scenarios import SCENARIOS
from .shim import build
from .trying import Server, Tried
from .worker import FAULTS, Sample

RANDOM = "killed at random"


def main() -> int:
    """Run what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("which", choices=("all", "random"))
    parser.add_argument("paths", nargs="*", help="names of paths (default: all)")
    parser.add_argument("--fault", action="append", choices=tuple(FAULTS), help="one of the faults (repeatable)")
    parser.add_argument("--every", type=int, default=1, help="calls from one fault to the next (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the random moments (default: the time)")
    parser.add_argument("--count", type=int, default=20, help="random kills of each path (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="paths at a time (default: %(default)s)")
    asked = parser.parse_args()
    if unknown := set(asked.paths) - SCENARIOS.keys():
        parser.error(f"no such path: {', '.join(sorted(unknown))}; there are: {', '.join(SCENARIOS)}")
    seed = int(time.time()) if asked.seed is None else asked.seed

    def tried(shim: Path, folder: Path, path: str) -> dict[str, Tried]:
        with Server(shim, folder) as server:
            if asked.which == "random":
                return {RANDOM: server.try_random_kills(path, seed, asked.count)}
            sample = Sample(every=asked.every)
            return dict(server.try_faults(path, dict.fromkeys(asked.fault or FAULTS, sample)).tried)

    if asked.which == "random":
        print(f"seed {seed}", flush=True)  # noqa: T201
    return _report(_all(tried, asked.paths or list(SCENARIOS), asked.processes))


Try = Callable[[Path, Path, str], dict[str, Tried]]


def _all(tried: Try, paths: list[str], processes: int) -> Iterator[tuple[str, dict[str, Tried]]]:
    with tempfile.TemporaryDirectory(prefix="faults-") as root, ThreadPoolExecutor(processes) as pool:
        (Path(root) / "shim").mkdir()
        shim = build(Path(root) / "shim")
        folders = [Path(root) / str(number) for number in range(len(paths))]
        for path, future in [
            (path, pool.submit(tried, shim, folder, path)) for path, folder in zip(paths, folders, strict=True)
        ]:
            try:
                yield path, future.result()
            except AssertionError as error:  # noqa: PERF203 - a path of hundreds of faults each
                yield path, {"": Tried(0, 0, 0, (str(error),))}


def _report(found: Iterator[tuple[str, dict[str, Tried]]]) -> int:
    faults: Counter[str] = Counter()
    worlds: Counter[str] = Counter()
    wrong = 0
    for path, by_fault in found:
        counts = ", ".join(f"{fault} {tried.count}/{tried.worlds}" for fault, tried in by_fault.items() if tried.count)
        print(f"{path}: {counts}", flush=True)  # noqa: T201
        for fault, tried in by_fault.items():
            faults[fault] += tried.count
            worlds[fault] += tried.worlds
            wrong += len(tried.wrong)
            print(*(f"  WRONG {each}" for each in tried.wrong), sep="\n", end="\n" if tried.wrong else "", flush=True)  # noqa: T201
    print("\n| fault | tried | worlds left |\n| --- | ---: | ---: |")  # noqa: T201
    for fault, count in faults.items():
        print(f"| {fault} | {count:,} | {worlds[fault]:,} |")  # noqa: T201
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{sum(faults.values()):,} faults, {wrong} wrong, {used.ru_utime + used.ru_stime:.0f} s of processor time")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
