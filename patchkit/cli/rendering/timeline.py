"""The history of hunks as a picture: an SVG for a browser, hunks from top to bottom, time from left to right.

One file that needs nothing else: styles inside, no script, light or dark as the reader has it. Every cell has a letter
and, when it is bad, a hatching beside its colour, and tells in a tooltip where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from html import escape
from itertools import pairwise
from typing import NamedTuple

from patchkit.cli.rendering.history_text import broke, told
from patchkit.cli.rendering.printable import inert_markup
from patchkit.cli.rendering.verdicts import LOOKS, look
from patchkit.core.history_report import HistoryReport, HunkHistory, Place, SpanReport

_WIDTH = 1100
"""Pixels for the time, when there are few commits."""
_LEAST = 5.0
"""Pixels that a commit has at least, however short after the one before it; less where there are very many."""
_WIDEST = 4000
"""Pixels that the least widths may come to together."""
_DOT = 4
"""Pixels between the marks of two commits."""
_ROW = 18
_BAR = 14
_LETTER = 7.0
"""Width of a letter of the labels, in pixels."""
_TOP = 104
"""Pixels above the first row: title, tags, dates, commits."""
_APART = 52
"""Pixels between dates."""

_STYLE = """\
:root{color-scheme:light dark;--back:#fff;--ink:#1b1b1b;--faint:#6a6a6a;--grid:#d9d9d9;--hatch:#0007}
@media (prefers-color-scheme:dark){:root{--back:#16181c;--ink:#ececec;--faint:#a3a3a3;--grid:#3a3d44;--hatch:#000a}}
svg{background:var(--back)}
text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:var(--ink);paint-order:stroke;
stroke:var(--back);stroke-width:3px}
.faint{fill:var(--faint)}.head{font-weight:bold}.big{font-size:14px;font-weight:bold}
.grid{stroke:var(--grid)}.tag{stroke:var(--faint);stroke-dasharray:3 3}.on{stroke-dasharray:none}
.dot{fill:var(--faint)}.drift{stroke:var(--ink);stroke-width:2}.broke{fill:var(--ink)}
.cell{stroke:var(--back)}.hatch{stroke:var(--hatch);stroke-width:1.5}.letter{text-anchor:middle;stroke:none}
"""


def timeline(report: HistoryReport) -> str:
    """Return the picture of a history along a line of commits, or between builds."""
    return inert_markup("\n".join(_Picture(report).lines())) + "\n"


class _Picture:
    def __init__(self, report: HistoryReport) -> None:
        self._report = report
        self._left = 24 + _LETTER * max((len(hunk.id) for hunk in report.hunks), default=10)
        self._edges = _edges(report.line, report.tip, self._left)
        # On days of no calendar no tag has a place by its date.
        self._marks = report.marks if _is_dated(report.line) else ()
        self._rows = list(_rows(report.hunks))
        self._bottom = _TOP + _ROW * len(self._rows)

    def lines(self) -> Iterator[str]:
        report = self._report
        # The name of a release that is tagged at the end of the line stands behind it.
        width = (
            max([self._edges[-1] + 12, *(self._at(mark.time) + _LETTER * len(mark.tag) for mark in self._marks)]) + 12
        )
        height = self._bottom + 64
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
            f'height="{height}" role="img">'
        )
        yield f"<title>{_plain(f'patchkit history {report.span}')}</title>"
        yield f"<style>{_STYLE}{''.join(_colours())}</style>"
        yield f"<defs>{''.join(_patterns())}</defs>"
        yield _text(12, 20, f"{report.span}, carried from {report.base}", "big")
        counts = report.counts
        looked = f"{counts.commits} commits, {counts.touching} touch the files; {counts.texts} texts"
        if report.source == "index":
            looked = f"{counts.commits} builds, {counts.line} of them fetched"
        yield _text(12, 36, looked, "faint")
        yield from self._axis()
        for number, row in enumerate(self._rows):
            top = _TOP + _ROW * number
            if isinstance(row, _Heading):
                yield _text(12, top + 13, row.text, row.kind)
            else:
                yield from self._hunk(row, top)
        yield from self._legend(self._bottom + 26)
        yield "</svg>"

    def _axis(self) -> Iterator[str]:
        labels: list[str] = []
        last = -1e9
        for time, month in _days(self._report.line, self._report.tip):
            x = self._at(time)
            if x - last >= _APART:
                last = x
                yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 16}" y2="{self._bottom}"/>'
                labels.append(_text(x + 2, _TOP - 18, month, "faint"))
        last = -1e9
        for mark in self._marks:
            x = self._at(mark.time)
            kind = "tag on" if mark.on_line else "tag"
            where = "a commit of the line" if mark.on_line else "by its date; not on the line"
            yield (
                f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 44}" y2="{self._bottom}">'
                f"<title>{_plain(f'{mark.tag} {mark.date}: {where}')}</title></line>"
            )
            if x - last >= 4 + _LETTER * len(mark.tag):
                last = x
                labels.append(_text(x + 2, _TOP - 36, mark.tag, "faint"))
        # Labels stand before the lines.
        yield from labels
        last = -1e9
        for place, x in zip(self._report.line, self._edges, strict=False):
            if x - last >= _DOT:
                last = x
                yield _dot(place, x + 2)

    def _hunk(self, hunk: HunkHistory, top: int) -> Iterator[str]:
        yield _text(18, top + 13, hunk.id)
        for span in hunk.spans:
            yield from self._span(hunk, span, top)
        for each in (*hunk.healed, *([hunk.first_bad] if hunk.first_bad else [])):
            if each.at is not None:
                x = self._edges[self._report.line.index(each.at)]
                note = _plain("\n".join(broke(each)))
                yield f'<path class="broke" d="M{x - 3:.1f} {top}h6l-3 5z"><title>{note}</title></path>'

    def _span(self, hunk: HunkHistory, span: SpanReport, top: int) -> Iterator[str]:
        x, end = self._edges[span.first], self._edges[span.end]
        state = span.state
        first, last = self._report.line[span.first], self._report.line[span.end - 1]
        lines = [f"{hunk.patch}: {hunk.id}", f"{state.shown}: {state.reason}"]
        lines += [f"gates: {', '.join(state.rules)}"] if state.rules else []
        lines += [f"drift: {', '.join(state.drift)}"] if state.drift else []
        lines += [f"from {told(first)}"] + ([f"to {told(last)}"] if last is not first else [])
        yield (
            f'<rect class="cell {state.shown}" x="{x:.1f}" y="{top + 2}" width="{end - x:.1f}" height="{_BAR}">'
            f"<title>{_plain(chr(10).join(lines))}</title></rect>"
        )
        if state.drift:
            yield f'<line class="drift" x1="{x:.1f}" x2="{end - 1:.1f}" y1="{top + _BAR + 1}" y2="{top + _BAR + 1}"/>'
        if end - x >= 9:
            how = look(state.shown)
            yield (
                f'<text class="letter" x="{(x + end) / 2:.1f}" y="{top + 13}" style="fill:{how.ink}" '
                f'pointer-events="none">{how.letter}</text>'
            )

    def _legend(self, top: int) -> Iterator[str]:
        x = 12.0
        for name, how in LOOKS.items():
            yield f'<rect class="cell {name}" x="{x:.0f}" y="{top}" width="16" height="{_BAR}"/>'
            yield f'<text class="letter" x="{x + 8:.0f}" y="{top + 11}" style="fill:{how.ink}">{how.letter}</text>'
            yield _text(x + 20, top + 11, name)
            x += 36 + _LETTER * len(name)
        yield f'<line class="drift" x1="{x:.0f}" x2="{x + 16:.0f}" y1="{top + 11}" y2="{top + 11}"/>'
        yield _text(x + 20, top + 11, "drift")
        told_bad = "hatched: bad. A mark above a cell: a break; its tooltip names the change. Diamonds are merges."
        yield _text(12, top + 30, told_bad, "faint")

    def _at(self, time: int) -> float:
        """Return the pixel of a time: within a column, as far as the time lies between its commit and the next."""
        times = _times(self._report.line, self._report.tip)
        for number in range(len(times) - 1):
            begin, end = times[number], times[number + 1]
            if time <= end or number == len(times) - 2:
                share = min(1.0, max(0.0, (time - begin) / (end - begin))) if end > begin else 0.0
                return self._edges[number] + share * (self._edges[number + 1] - self._edges[number])
        return self._edges[0]


def _dot(place: Place, x: float) -> str:
    """Return the mark of a commit on the time axis: a disc, for a merge a diamond."""
    title = f"<title>{_plain(told(place))}</title>"
    if place.merge:
        return f'<path class="dot" d="M{x:.1f} {_TOP - 12}l4 4l-4 4l-4 -4z">{title}</path>'
    return f'<circle class="dot" cx="{x:.1f}" cy="{_TOP - 8}" r="2">{title}</circle>'


class _Heading(NamedTuple):
    """A row of the picture that is no hunk."""

    text: str
    kind: str


def _rows(hunks: Sequence[HunkHistory]) -> Iterator[_Heading | HunkHistory]:
    """Yield headings and hunks in the order of the picture."""
    patch = path = ""
    for hunk in hunks:
        if hunk.patch != patch:
            yield _Heading(hunk.patch, "head")
        if (hunk.patch, hunk.path) != (patch, path):
            yield _Heading(hunk.path, "faint")
        patch, path = hunk.patch, hunk.path
        yield hunk


def _times(line: Sequence[Place], tip: Place | None) -> list[int]:
    """Return a time for each edge of a column, never going back, as committers' clocks do at times.

    Where not every time is known, as of builds on some indexes and of commits that tell none, the columns are days of
    no calendar.
    """
    places = (*line, *([tip] if tip else line[-1:]))
    if not _is_dated(line):
        return list(range(len(places)))
    times: list[int] = []
    for place in places:
        times.append(max(place.time, times[-1] if times else place.time))
    return times


def _is_dated(line: Sequence[Place]) -> bool:
    return all(place.time for place in line)


def _edges(line: Sequence[Place], tip: Place | None, left: float) -> list[float]:
    """Return the edges of the columns in pixels: one for each place of the line, and the end of the last."""
    times = _times(line, tip)
    whole = max(1, times[-1] - times[0])
    least = min(_LEAST, _WIDEST / len(line))
    spread = max(_WIDTH - least * len(line), _WIDTH / 2)
    edges = [left]
    for begin, end in pairwise(times):
        edges.append(edges[-1] + least + spread * (end - begin) / whole)
    return edges


def _days(line: Sequence[Place], tip: Place | None) -> Iterator[tuple[int, str]]:
    """Yield the beginning and name of each month."""
    if not _is_dated(line):
        return
    times = _times(line, tip)
    at = datetime.fromtimestamp(times[0], tz=timezone.utc).replace(day=1, hour=0, minute=0, second=0)
    while at.timestamp() <= times[-1]:
        if at.timestamp() >= times[0]:
            yield int(at.timestamp()), at.strftime("%Y-%m")
        at = at.replace(year=at.year + at.month // 12, month=at.month % 12 + 1)


def _colours() -> Iterator[str]:
    for name, how in LOOKS.items():
        yield f".{name}{{fill:{f'url(#{name})' if how.bad else how.colour}}}\n"


def _patterns() -> Iterator[str]:
    """Yield the hatchings of what is bad, each slanting otherwise."""
    slants = iter((45, -45, 90))
    for name, how in LOOKS.items():
        if how.bad:
            yield (
                f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse" '
                f'patternTransform="rotate({next(slants)})"><rect width="6" height="6" fill="{how.colour}"/>'
                '<line class="hatch" x1="0" x2="0" y1="0" y2="6"/></pattern>'
            )


def _plain(text: str) -> str:
    """Return text for XML, which has no place for control characters."""
    return escape("".join(each if each.isprintable() or each == "\n" else "?" for each in text))


def _text(x: float, y: float, content: str, kind: str = "") -> str:
    shown = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.0f}"{shown}>{_plain(content)}</text>'
