"""Figures of a run as tables, one a family, one line a tool."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Sequence

from benchmarks.carry.cases import Family
from benchmarks.carry.judge import CORRECT, RIGHT, Letter, Status
from benchmarks.carry.records import Entry, Record

COLUMNS = ("clean", "correct", "imports", "right", "wrong", "unknown", "review", "conflict", "error")
GROUPS: tuple[tuple[str, frozenset[Family]], ...] = (
    *((family.value, frozenset({family})) for family in Family),
    ("backport + rebase", frozenset({Family.BACKPORT, Family.REBASE})),
)

Row = list[str]


def tables(records: Sequence[Record], *, markdown: bool) -> str:
    """Return a table for every family that has a case, in percent of its cases."""
    found = {record.family for record in records}
    texts = []
    for title, families in GROUPS:
        if not families <= found:
            continue
        chosen = [record for record in records if record.family in families]
        rows = [row(tool, chosen) for tool in chosen[0].entries]
        head = ["tool", *COLUMNS, "median ms", "p99 ms"]
        texts.append(f"{title} (n={len(chosen)}, percent)\n\n" + (_markdown if markdown else _aligned)([head, *rows]))
    return "\n\n".join(texts) + "\n"


def row(tool: str, records: Sequence[Record]) -> Row:
    """Return a tool's line. Where no human did the work there is nothing to be right about, and those cells are "-"."""
    entries = [record.entries[tool] for record in records]
    human = any(record.family is not Family.RELEASE_JUMP for record in records)

    def percent(holds: Callable[[Entry], bool]) -> str:
        return f"{100 * sum(map(holds, entries)) / len(entries):.1f}"

    def judged(status: Status, letters: Collection[Letter]) -> str:
        return percent(
            lambda entry: entry.status is status and entry.judgement is not None and entry.judgement.letter in letters
        )

    def of_human(cell: str) -> str:
        return cell if human else "-"

    review = (
        f"{percent(lambda entry: entry.status is Status.REVIEW)}"
        f" ({of_human(judged(Status.REVIEW, RIGHT))}/{judged(Status.REVIEW, {Letter.WRONG})})"
    )
    times = sorted(entry.milliseconds for entry in entries)
    return [
        tool,
        percent(lambda entry: entry.status is Status.CLEAN),
        of_human(judged(Status.CLEAN, CORRECT)),
        of_human(judged(Status.CLEAN, {Letter.IMPORTS})),
        of_human(judged(Status.CLEAN, RIGHT)),
        judged(Status.CLEAN, {Letter.WRONG}),
        judged(Status.CLEAN, {Letter.UNKNOWN, Letter.NO_ANSWER}),
        review,
        percent(lambda entry: entry.status is Status.CONFLICT),
        percent(lambda entry: entry.status is Status.ERROR),
        f"{statistics.median(times):.1f}",
        f"{percentile(times, 99):.1f}",
    ]


def percentile(ascending: Sequence[float], percent: int) -> float:
    """Return the nearest-rank percentile of at least one value."""
    return ascending[math.ceil(len(ascending) * percent / 100) - 1]


def _aligned(rows: Sequence[Row]) -> str:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def _markdown(rows: Sequence[Row]) -> str:
    head, *rest = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "| --- |" + " ---: |" * (len(rows[0]) - 1), *rest])
