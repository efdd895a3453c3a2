"""Histories as values, made up."""

from __future__ import annotations

from patchkit.cli.rendering.verdicts import LOOKS
from patchkit.core.history_report import (
    BreakReport,
    Counts,
    HistoryReport,
    HunkHistory,
    Mark,
    Place,
    SpanReport,
    StateReport,
)

DAY = 86_400
BEGIN = 1_767_312_000
"""2026-01-02 in UTC."""


def place(day: int, subject: str = "", *, merge: bool = False) -> Place:
    return Place(
        id=f"{day:040x}", name=f"{day:010x}", date=f"day {day}", time=BEGIN + day * DAY, subject=subject, merge=merge
    )


def state(shown: str, *, drift: tuple[str, ...] = ()) -> StateReport:
    return StateReport(shown=shown, verdict=shown, bad=LOOKS[shown].bad, reason=f"why {shown}", drift=drift)


def report(
    line: list[Place], hunks: list[HunkHistory], *, tip: Place | None = None, marks: tuple[Mark, ...] = ()
) -> HistoryReport:
    return HistoryReport(
        tool="1",
        verdict="broken",
        source="git",
        series="patches",
        base="1.0",
        base_reason="asked for",
        span="a..b",
        counts=Counts(commits=9),
        line=tuple(line),
        tip=tip,
        hunks=tuple(hunks),
        marks=marks,
    )


def hunk(
    name: str,
    *spans: tuple[int, int, str],
    path: str = "a/b.py",
    first_bad: BreakReport | None = None,
    patch: str = "one",
) -> HunkHistory:
    made = tuple(SpanReport(first=first, end=end, state=state(shown)) for first, end, shown in spans)
    return HunkHistory(id=name, patch=patch, group="", path=path, state=made[-1].state, spans=made, first_bad=first_bad)
