"""A history as lines of text: a strip of letters for each hunk, and below it what broke it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import click

from patchkit.cli.rendering.verdicts import LOOKS, look
from patchkit.core.history_report import BreakReport, HistoryReport, HunkHistory, Place

_STRIP = 72
"""Letters in a strip at most; of several places that share one the worst is shown."""


def history_lines(report: HistoryReport) -> Iterator[str]:
    """Yield the lines of a report."""
    counts = report.counts
    of = f" ({', '.join(report.patches)})" if report.patches else ""
    yield f"{report.series}{of}: {report.span}, carried from {report.base} ({report.base_reason})"
    if report.source == "index":
        yield f"{counts.commits} builds, {len(report.line)} of them fetched; {counts.texts} texts, {_now(report)}"
    else:
        on_line = f", {counts.line} on the line" if report.source == "git" else ""
        touching = f"{counts.touching} touch {'their files' if report.patches else 'the files of the series'}"
        yield f"{counts.commits} commits{on_line}; {touching}; {counts.texts} texts, {_now(report)}"
    yield from (f"note: {note}" for note in report.notes)
    width = max((len(hunk.id) for hunk in report.hunks), default=0)
    if report.line:
        first, last = report.line[0], report.line[-1]
        yield f"      {'':{width}}  {_when(first)} {first.name} to {_when(last)} {last.name}"
    patch = path = ""
    for hunk in report.hunks:
        if hunk.patch != patch:
            yield f"  {hunk.patch}"
        if (hunk.patch, hunk.path) != (patch, path):
            yield f"    {hunk.path}"
        patch, path = hunk.patch, hunk.path
        yield from _hunk(hunk, width, len(report.line))
    yield "  ".join(f"{how.letter} {name}" for name, how in LOOKS.items())
    yield from _changes(report)
    bad = sum(hunk.first_bad is not None or _bad_texts(hunk) for hunk in report.hunks)
    told = "bad on some text" if report.source == "refs" else "bad at the end"
    yield click.style(f"{report.verdict}: {bad} of {len(report.hunks)} hunks {told}", bold=True)


def _changes(report: HistoryReport) -> Iterator[str]:
    """Yield the places of the line at which some hunk looks otherwise than before, and how."""
    names = Counter(hunk.id for hunk in report.hunks)
    changes: dict[int, dict[str, list[str]]] = {}
    for hunk in report.hunks:
        name = hunk.id if names[hunk.id] == 1 else f"{hunk.patch}/{hunk.id}"
        for before, span in pairwise(hunk.spans):
            if before.state.shown != span.state.shown:
                how = f"{look(before.state.shown).letter}>{look(span.state.shown).letter}"
                changes.setdefault(span.first, {}).setdefault(how, []).append(name)
    if changes:
        yield "what changed on the line:"
    for at in sorted(changes):
        yield f"  {told(report.line[at])}"
        yield from (f"    {how}  {', '.join(hunks)}" for how, hunks in changes[at].items())


def told(place: Place) -> str:
    """Return a commit or build in one line."""
    return " ".join(part for part in (_when(place), place.name, place.subject) if part)


def _when(place: Place) -> str:
    # That an index tells none of a build is nothing to be told.
    return place.date or ("" if place.id == place.name else "(no date)")


def broke(each: BreakReport) -> Iterator[str]:
    """Yield what there is to say about a break, the change that did it last."""
    if each.at is None:
        yield f"{each.state.shown} from the beginning"
    else:
        yield f"{each.state.shown} since {told(each.at)}"
    if each.after is not None:
        yield f"good in {told(each.after)}"
    for place in each.within:
        yield f"brought by {told(place)}"
    if each.itself:
        yield f"the merge itself did it: {each.why}"
    elif each.why:
        yield each.why
    if each.healed is not None:
        yield f"good again in {told(each.healed)}"


def _now(report: HistoryReport) -> str:
    return f"{report.counts.carried} carried now" if report.counts.carried else "all known"


def _bad_texts(hunk: HunkHistory) -> bool:
    return any(look(shown).bad for shown in hunk.counts)


def _hunk(hunk: HunkHistory, width: int, places: int) -> Iterator[str]:
    if hunk.counts:
        told = ", ".join(f"{count} {shown}" for shown, count in hunk.counts.items())
        yield f"      {hunk.id:{width}}  {told}"
        return
    state = hunk.state.shown if hunk.state else ""
    shown = click.style(state, fg="red" if look(state).bad else None)
    yield f"      {hunk.id:{width}}  {_strip(hunk, places)}  {shown}"
    indent = " " * (width + 8)
    for each in hunk.healed:
        yield from (f"{indent}{line}" for line in broke(each))
    if hunk.first_bad is not None:
        yield f"{indent}{click.style(hunk.first_bad.state.reason, fg='red')}"
        yield from (f"{indent}{line}" for line in broke(hunk.first_bad))


def _strip(hunk: HunkHistory, places: int) -> str:
    shown = [span.state.shown for span in hunk.spans for _ in range(span.first, span.end)]
    if places <= _STRIP:
        return "".join(look(each).letter for each in shown)
    edges = [number * places // _STRIP for number in range(_STRIP + 1)]
    return "".join(look(_worst(shown[one:two])).letter for one, two in pairwise(edges))


def _worst(shown: Sequence[str]) -> str:
    order = list(LOOKS)
    return max(shown, key=lambda each: order.index(each) if each in order else len(order))
