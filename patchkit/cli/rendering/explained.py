"""The answer of explain as text: three panes a hunk, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from patchkit.cli.rendering.printable import one_line
from patchkit.core.carry_report import drift_details, short_signatures
from patchkit.core.explained import Explained, HunkExplained, Proposal
from patchkit.core.panes import LEFT_OUT, PaneLine, PaneRow
from patchkit.core.printing import printable

_NUMBER = 6
"""Columns of a line's number and of the mark behind it."""
_NARROWEST = 24
"""Columns of text below which three panes beside each other cannot be read."""
_GAP = f"  {'...':>{_NUMBER}}"
_STATES = {"fine": "green", "look": "yellow", "broken": "red"}


def explained_lines(answer: Explained, width: int) -> Iterator[str]:
    """Yield the lines of an answer, at most ``width`` columns wide; styled, as click strips styles where none are."""
    ends = f"from {one_line(answer.base)} to {one_line(answer.target)}"
    yield f"{click.style(answer.patch, bold=True)}: {ends}: {answer.verdict}"
    if answer.reason:
        yield f"  {one_line(answer.reason)}"
    for line in answer.review:
        yield f"  look: {one_line(line)}"
    for each in answer.hunks:
        yield ""
        yield from _hunk(each, answer, width)


def _hunk(each: HunkExplained, answer: Explained, width: int) -> Iterator[str]:
    hunk = each.hunk
    verdict = click.style(hunk.verdict, fg=_STATES[hunk.state])
    yield f"{click.style(hunk.id, bold=True)}  {verdict}  {printable(hunk.path)}"
    for title, text in (("for", hunk.intent), ("because", hunk.reason)):
        if text:
            yield f"  {title}: {one_line(text)}"
    yield f"  scope: {each.scope}"
    if each.old_signature != each.new_signature:
        was, now = short_signatures(each.old_signature, each.new_signature)
        yield f"    was: {printable(was)}"
        yield f"    is:  {printable(now) or '(gone)'}"
    for drift in hunk.drift:
        details = one_line(drift_details(drift), 300)
        yield f"  drift: {drift.scope} changed ({', '.join(drift.kinds)}) {details}".rstrip()
    for alarm in hunk.alarms:
        yield f"  {alarm.rule}: line {alarm.line}: {one_line(alarm.message)}"
    for commit in hunk.commits:
        yield f"  upstream: {commit.commit} {one_line(commit.subject)}"
    if hunk.drop_when:
        yield f"  drop when: {one_line(hunk.drop_when)}"
    yield ""
    yield from _panes(each.rows, (answer.base, f"with {answer.patch}", answer.target), width)
    for proposal in each.proposals:
        yield ""
        yield from _proposal(proposal)
    yield ""
    yield from _result(each, answer)


def _result(each: HunkExplained, answer: Explained) -> Iterator[str]:
    """Yield the hunk's text for the target, or say that there is none: what ``diff`` has of the base is no proposal."""
    hunk = each.hunk
    title = f"proposed for {one_line(answer.target)}"
    if hunk.diff_of in ("variant", "proposed"):
        is_named = hunk.diff_of == "variant" or answer.verdict == "carries"
        yield f"  {printable(answer.variant or title) if is_named else title}:"
        yield from (f"  {printable(line)}" for line in hunk.diff.splitlines()[2:])
    elif not hunk.next:
        yield f"  {title}: the patch without this hunk"
    elif each.proposals:
        yield f"  {title}: nothing but what solved it before"
    else:
        yield f"  {title}: nothing, the engine has no text for it"
    if hunk.next:
        yield f"  next: {one_line(hunk.next)}"


def _proposal(proposal: Proposal) -> Iterator[str]:
    yield f"  solved before as {proposal.key} by {one_line(proposal.author)}: {one_line(proposal.reason)}"
    yield from (f"  {printable(line)}" for line in proposal.text.splitlines())


def _panes(rows: Sequence[PaneRow], titles: Sequence[str], width: int) -> Iterator[str]:
    """Yield the versions beside each other; ``*`` marks the lines that are not the base's."""
    if not rows:
        return  # a note says why
    column = (width - 2 - 3 * _NUMBER - 2 * 3) // 3
    if column < _NARROWEST:
        yield from _stacked(rows, titles)
        return
    yield "  " + " | ".join(one_line(title).ljust(column + _NUMBER)[: column + _NUMBER] for title in titles).rstrip()
    for row in rows:
        if row == LEFT_OUT:
            yield _GAP
            continue
        cells = [_wrapped(line, column) for line in (row.base, row.patch, row.target)]
        for at in range(max(map(len, cells))):
            texts = [cell[at] if at < len(cell) else " " * (column + _NUMBER) for cell in cells]
            texts[-1] = texts[-1].rstrip()
            lines = (row.base, row.patch, row.target)
            styled = [_styled(text, line) for text, line in zip(texts, lines, strict=True)]
            yield "  " + " | ".join(styled).rstrip()


def _stacked(rows: Sequence[PaneRow], titles: Sequence[str]) -> Iterator[str]:
    for title, lines in zip(
        titles, zip(*((row.base, row.patch, row.target) for row in rows), strict=True), strict=True
    ):
        yield f"  {one_line(title)}"
        for row, line in zip(rows, lines, strict=True):
            if row == LEFT_OUT:
                yield _GAP
            elif line is not None:
                yield f"  {_styled(f'{_number(line)}{printable(line.text.expandtabs(8))}', line)}"


def _wrapped(line: PaneLine | None, column: int) -> list[str]:
    if line is None:
        return []
    text = printable(line.text.expandtabs(8))
    pieces = [text[at : at + column] for at in range(0, len(text), column)] or [""]
    heads = [_number(line), *[" " * _NUMBER] * (len(pieces) - 1)]
    return [f"{head}{piece.ljust(column)}" for head, piece in zip(heads, pieces, strict=True)]


def _number(line: PaneLine) -> str:
    return f"{line.number:{_NUMBER - 2}}{' ' if line.same else '*'} "


def _styled(text: str, line: PaneLine | None) -> str:
    return text if line is None or line.same else click.style(text, fg="cyan")
