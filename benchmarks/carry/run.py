"""Carry every change of the manifests with every tool, judge the results, print a table a family.

    python -m benchmarks.carry --git CLONE [--tools patchkit,git-merge-file] [--families merge,backport] [--markdown]

CLONE is any clone of NVIDIA/Megatron-LM that has all branches, tags and pull requests' refs (``git fetch origin
'+refs/pull/*/head:refs/pull/*'``); cases that it lacks are counted and left out. The judge parses with the running
Python, so figures are comparable between runs of one Python only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.carry.carriers import CARRIERS, Carrier, Workplace, available
from benchmarks.carry.cases import MANIFESTS, Case, Family, Texts, load_cases, with_texts
from benchmarks.carry.judge import Judge
from benchmarks.carry.records import Record, changed_marks, entry_of, read_records, write_records
from benchmarks.carry.tables import tables


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 unless there was nothing to run."""
    options = _parser().parse_args(arguments)
    tools = available(options.tools)
    cases = load_cases(options.families, options.ids, options.manifests)
    if not tools or not cases:
        print("no tool or no case is left", file=sys.stderr)
        return 1
    begin = time.monotonic()
    missing: list[str] = []
    records: list[Record] = []
    with (
        tempfile.TemporaryDirectory(prefix="carry-") as scratch,
        multiprocessing.Pool(options.jobs, _start_worker, (tools, scratch)) as pool,
    ):
        # imap asks for the next texts only when a worker can take them, so few are in memory at a time.
        for record in pool.imap_unordered(_run, with_texts(options.git, cases, missing)):
            records.append(record)
            if sys.stderr.isatty():
                print(f"\r{len(records)}/{len(cases)}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if missing:
        print(f"the clone lacks {len(missing)} cases, first {missing[0]}", file=sys.stderr)
    if not records:
        return 1
    records.sort(key=lambda record: record.id)
    if options.out:
        write_records(options.out, records)
    print(tables(records, markdown=options.markdown))
    _print_errors(records)
    if options.compare:
        changes = changed_marks(read_records(options.compare), records)
        print("\n".join([f"{len(changes)} marks differ from {options.compare}", *changes]))
    print(f"{len(records)} cases in {time.monotonic() - begin:.0f} s")
    return 0


def _parser() -> argparse.ArgumentParser:
    def words(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.carry", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--git", type=Path, required=True, metavar="CLONE")
    parser.add_argument("--tools", type=words, default=list(CARRIERS), help=f"of {', '.join(CARRIERS)}")
    parser.add_argument("--families", type=words, default=[], help=f"of {', '.join(family.value for family in Family)}")
    parser.add_argument("--manifests", type=Path, default=MANIFESTS, metavar="DIR", help="other cases than our own")
    parser.add_argument("--ids", type=words, default=[], help="only these cases")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (times suffer above the number of cores)")
    parser.add_argument("--out", type=Path, help="write one JSON record a case")
    parser.add_argument("--compare", type=Path, help="tell what changed since a file written with --out")
    parser.add_argument("--markdown", action="store_true")
    return parser


class _Worker:
    """What a worker process keeps between cases."""

    tools: list[Carrier]
    folder: Path


def _start_worker(tools: list[str], scratch: str) -> None:
    _Worker.tools = [CARRIERS[name] for name in tools]
    _Worker.folder = Path(tempfile.mkdtemp(dir=scratch))


def _run(job: tuple[Case, Texts]) -> Record:
    case, texts = job
    place = Workplace(_Worker.folder, case.path, texts)
    judge = Judge(case, texts)
    entries = {tool.name: entry_of(tool.answer(place), judge) for tool in _Worker.tools}
    return Record(case.id, case.family, entries)


def _print_errors(records: Sequence[Record]) -> None:
    errors = [
        f"{record.id} {tool}: {entry.error or 'error'}"
        for record in records
        for tool, entry in record.entries.items()
        if entry.mark == "X"
    ]
    if errors:
        print("\n".join([f"{len(errors)} errors, the first of them:", *errors[:10], ""]))
