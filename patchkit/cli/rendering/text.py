"""The answer as text for a terminal or a log. Colour says nothing that the words do not."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING, Final

from patchkit.cli.rendering.printable import no_command, one_line
from patchkit.cli.rendering.telling import (
    Told,
    cell,
    counted,
    fine_told,
    fine_with_next,
    flags,
    found_told,
    has_to_be_told,
    hunk_told,
    is_all_fine,
    is_quiet,
    patch_names,
    patch_told,
    places_text,
    problem_told,
    size,
    target_facts,
    target_told,
    verdict_told,
)
from patchkit.core.upstream_report import HunkAnswer, PatchAnswer, State, TargetAnswer, UpstreamReport

if TYPE_CHECKING:
    from rich.table import Table

_SYMBOLS: Final[dict[State, str]] = {"fine": "+", "look": "!", "broken": "x", "unreachable": "?"}
_COLOURS: Final[dict[str, str]] = {"fine": "green", "look": "yellow", "broken": "red", "unreachable": "magenta"}
_LABELS: Final[dict[str, str]] = {
    **dict.fromkeys(("conflict", "problem", "check"), "red"),
    **dict.fromkeys(("drift", "alarm", "review", "yanked"), "yellow"),
    **dict.fromkeys(("next", "hint"), "cyan"),
}
_LIMIT: Final = 400
"""Characters of one sentence; --format json has the rest."""


def render_text(report: UpstreamReport, *, colour: bool, width: int) -> str:
    """Return the report as lines of ``width`` columns; empty when there is nothing to say.

    Paths and ids are never cut, and may be longer than a line. Escape sequences are there with ``colour`` only.
    """
    if is_quiet(report):
        return ""
    beside = (list(fine_with_next(report)), report.found, report.problems, report.notes, report.written)
    if is_all_fine(report) and not colour and not any(beside):
        # What a nightly run prints; it needs nothing that draws.
        return f"{no_command(one_line(fine_told(report)))}\n"
    page = _Page(colour=colour, width=width)
    if not is_all_fine(report):
        page.line(0, f"{report.series}: {size(report)}")
        page.matrix(report)
        for target in report.targets:
            if has_to_be_told(target):
                _target(page, target)
        page.gap()
    for target, text in fine_with_next(report):
        page.told(0, Told(f"{target.title}: next", text))
    page.tell(0, found_told(report.found))
    for problem in report.problems:
        page.tell(0, problem_told(problem))
    page.tell(0, [Told("note", note) for note in report.notes])
    page.tell(0, [Told("written", path) for path in report.written])
    if is_all_fine(report):
        page.line(0, fine_told(report), colour=_COLOURS["fine"])
    else:
        page.verdict(report.verdict, verdict_told(report))
    return page.text()


def _target(page: _Page, target: TargetAnswer) -> None:
    page.gap()
    page.state(0, target.state, target.title, "; ".join(target_facts(target)))
    told, last = _next_last(target_told(target))
    page.tell(2, told)
    for patch in target.patches:
        if patch.state != "fine":
            _patch(page, patch, {target.next})
        elif patch.next not in ("", target.next):
            page.told(2, Told(f"{patch.name}: next", patch.next))
    page.tell(2, last)


def _patch(page: _Page, patch: PatchAnswer, later: Set[str]) -> None:
    source = [f"from {patch.base}" if patch.base else "", f"variant {patch.variant}" if patch.variant else ""]
    page.state(2, patch.state, patch.name, "; ".join(part for part in [patch.verdict, *source] if part))
    told, last = _next_last(patch_told(patch), later)
    page.tell(4, told)
    for hunk in patch.hunks:
        if hunk.state != "fine":
            _hunk(page, hunk, {*later, patch.next})
    fine = sum(hunk.state == "fine" for hunk in patch.hunks)
    if fine:
        page.line(4, f"{_SYMBOLS['fine']} fine: {fine} of {counted(len(patch.hunks), 'hunk')}")
    page.tell(4, last)


def _hunk(page: _Page, hunk: HunkAnswer, later: Set[str]) -> None:
    page.state(4, hunk.state, hunk.id, f"{hunk.verdict}; group {hunk.group}")
    page.line(8, hunk.path)
    page.line(8, places_text(hunk))
    told, last = _next_last(hunk_told(hunk), later)
    page.tell(8, [*told, *last])


def _next_last(told: Iterable[Told], later: Set[str] = frozenset()) -> tuple[list[Told], list[Told]]:
    """Return sentences, and apart what to do next, unless that is said ``later`` for all of the target or the patch."""
    kept = list(told)
    last = [each for each in kept if each.label == "next" and each.text not in later]
    return [each for each in kept if each.label != "next"], last


class _Page:
    """Lines of a page, in colour or not."""

    def __init__(self, *, colour: bool, width: int) -> None:
        from rich.console import Console  # noqa: PLC0415 - rich takes 60 ms

        self._width = max(width, 40)
        self._file = io.StringIO()
        # An empty environment: what is printed follows from the arguments alone.
        self._console = Console(
            file=self._file,
            width=10_000,
            force_terminal=colour,
            color_system="standard" if colour else None,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
            _environ={},
        )

    def text(self) -> str:
        """Return the page, each line ended."""
        return "".join(f"{line.rstrip()}\n" for line in self._file.getvalue().splitlines())

    def gap(self) -> None:
        """End a part of the page."""
        self._print("")

    def line(self, indent: int, text: str, *, colour: str = "") -> None:
        """Print a line that is never cut."""
        self._print(" " * indent + no_command(one_line(text)), colour)

    def state(self, indent: int, state: State, name: str, rest: str) -> None:
        """Print a line that begins with a state."""
        mark = f"{_SYMBOLS[state]} {state}"
        self._wrapped(indent, mark, f"  {one_line(name)}  {one_line(rest)}", colour=_COLOURS[state])

    def verdict(self, state: State, told: str) -> None:
        """Print the last line."""
        self._wrapped(0, state, f": {one_line(told, _LIMIT)}" if told else "", colour=f"bold {_COLOURS[state]}")

    def tell(self, indent: int, told: Iterable[Told]) -> None:
        """Print sentences."""
        for each in told:
            self.told(indent, each)

    def told(self, indent: int, told: Told) -> None:
        """Print one sentence, with its label in front of it."""
        text = one_line(told.text, _LIMIT)
        self._wrapped(
            indent, f"{one_line(told.label)}:", f" {text}", colour=_LABELS.get(told.label.split(": ")[-1], "")
        )

    def matrix(self, report: UpstreamReport) -> None:
        """Print a table of targets and patches: by number when names are too long, by sign when words are."""
        names = patch_names(report)
        if not names:
            return
        table = _table(report, names)
        if self._console.measure(table).maximum > self._width:
            numbers = [str(number) for number in range(1, len(names) + 1)]
            for number, name in zip(numbers, names, strict=True):
                self.line(0, f"{number}  {name}")
            table = _table(report, numbers)
            if self._console.measure(table).maximum > self._width:
                table = _table(report, numbers, words=False)
        self._console.print(table)

    def _wrapped(self, indent: int, mark: str, rest: str, *, colour: str) -> None:
        lines = textwrap.wrap(
            no_command(f"{mark}{rest}"),
            self._width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + 4),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for number, line in enumerate(lines):
            self._print(line, colour if number == 0 else "", length=indent + len(mark))

    def _print(self, line: str, colour: str = "", *, length: int | None = None) -> None:
        """Print a line, ``length`` characters of it (all without) in colour."""
        from rich.text import Text  # noqa: PLC0415 - rich takes 60 ms

        text = Text(line)
        if colour:
            text.stylize(colour, 0, length)
        self._console.print(text, soft_wrap=True)


def _table(report: UpstreamReport, titles: list[str], *, words: bool = True) -> Table:
    from rich.table import Table  # noqa: PLC0415 - rich takes 60 ms
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table(box=None, pad_edge=False)
    for title in ("target", *titles):
        table.add_column(Text(one_line(title)), no_wrap=True)
    for target in report.targets:
        cells = {patch.name: patch for patch in target.patches}
        title = " ".join([_SYMBOLS[target.state], one_line(target.title), *(f"({flag})" for flag in flags(target))])
        row = [Text(title, style=_COLOURS[target.state])]
        for name in patch_names(report):
            state, told = cell(target, cells.get(name))
            shown = f"{_SYMBOLS[state]} {one_line(told)}" if words else _SYMBOLS[state]
            row.append(Text(shown, style=_COLOURS[state]) if told else Text("-"))
        table.add_row(*row)
    return table
