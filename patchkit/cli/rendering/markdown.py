"""The answer as GitHub flavoured Markdown, for the summary of a job or the text of an issue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from patchkit.cli.rendering.github_markdown import code, details, escaped, table
from patchkit.cli.rendering.telling import (
    STATES,
    Told,
    cell,
    counted,
    fine_with_next,
    flags,
    found_told,
    has_to_be_told,
    hunk_told,
    is_quiet,
    patch_names,
    patch_told,
    places_text,
    problem_told,
    size,
    target_facts,
    target_told,
    verdict_told,
    verdict_word,
)
from patchkit.core.upstream_report import PatchAnswer, TargetAnswer, UpstreamReport

LIMIT: Final = 1024 * 1024
"""Bytes of a step summary; GitHub refuses a longer one whole."""


@dataclass(frozen=True, slots=True)
class _Amount:
    """How much is told."""

    fine_hunks: bool
    characters: int
    """Of one sentence."""
    left_out: str
    """What is missing, as a sentence."""


_AMOUNTS: Final = (
    _Amount(fine_hunks=True, characters=2_000, left_out=""),
    _Amount(fine_hunks=False, characters=2_000, left_out="Hunks that are fine are left out, to stay below 1 MiB."),
    _Amount(
        fine_hunks=False,
        characters=300,
        left_out="Hunks that are fine and the ends of long texts are left out, to stay below 1 MiB.",
    ),
)


def render_markdown(report: UpstreamReport, *, limit: int = LIMIT) -> str:
    """Return the report as a page of at most ``limit`` bytes; empty when there is nothing to say.

    What does not fit is left out, what is fine first, and the page says so.
    """
    if is_quiet(report):
        return ""
    for amount in _AMOUNTS:
        page = _joined([_head(report), _beside(report, amount), amount.left_out, *_targets(report, amount)])
        if _bytes(page) <= limit:
            return page
    return _cut(report, _AMOUNTS[-1], limit)


def _cut(report: UpstreamReport, amount: _Amount, limit: int) -> str:
    """Return a page that begins with the worst targets and ends where there is no more room."""
    order = sorted(report.targets, key=lambda target: STATES.index(target.state))
    said = f"{amount.left_out} More is left out: `patchkit check-upstream --format json` has everything."
    parts = [f"{_title(report)}\n", said]
    wanted = [_matrix(report), _beside(report, amount)]
    wanted += [_target(target, amount) for target in order if has_to_be_told(target)]
    room = limit - _bytes(_joined(parts))
    for part in wanted:
        room -= _bytes(part) + 1
        if room < 0:
            break
        parts.append(part)
    return _joined(parts)


def _head(report: UpstreamReport) -> str:
    return f"{_title(report)}\n{_matrix(report)}"


def _title(report: UpstreamReport) -> str:
    told = verdict_told(report)
    summary = f"{size(report)}{': ' if told else ''}{escaped(told, _AMOUNTS[-1].characters)}"
    return f"## {escaped(report.command)}: {report.verdict}\n\n{summary}\n"


def _matrix(report: UpstreamReport) -> str:
    names = patch_names(report)
    if not names:
        return ""
    rows = []
    for target in report.targets:
        answers = {patch.name: patch for patch in target.patches}
        cells = [escaped(cell(target, answers.get(name))[1]) for name in names]
        title = " ".join([code(target.title), *(f"({flag})" for flag in flags(target))])
        rows.append([title, target.state, *cells])
    return table(["target", "state", *(code(name) for name in names)], rows)


def _beside(report: UpstreamReport, amount: _Amount) -> str:
    """Return what is about no target that has a part of its own: a list."""
    told = [Told(f"{target.title}: next", text) for target, text in fine_with_next(report)]
    told += found_told(report.found)
    for problem in report.problems:
        told += problem_told(problem)
    told += [Told("note", note) for note in report.notes]
    told += [Told("written", path) for path in report.written]
    return _list(told, amount)


def _targets(report: UpstreamReport, amount: _Amount) -> list[str]:
    return [_target(target, amount) for target in report.targets if has_to_be_told(target) or amount.fine_hunks]


def _target(target: TargetAnswer, amount: _Amount) -> str:
    parts = [f"{escaped('; '.join(target_facts(target)))}\n", _list(target_told(target), amount)]
    parts += [_patch(patch, amount) for patch in target.patches]
    return details(f"{target.title}: {target.state}", _joined(parts))


def _patch(patch: PatchAnswer, amount: _Amount) -> str:
    source = [f"from {patch.base}" if patch.base else "", f"variant {patch.variant}" if patch.variant else ""]
    told = ", ".join(escaped(part) for part in [verdict_word(patch), *source] if part)
    shown = [hunk for hunk in patch.hunks if hunk.state != "fine" or amount.fine_hunks]
    rows = [
        [
            code(hunk.id),
            escaped(hunk.group),
            f"{code(hunk.path)}<br>{code(places_text(hunk))}",
            f"{hunk.state}: {escaped(hunk.verdict)}",
            "<br>".join(_sentence(each, amount) for each in hunk_told(hunk)),
        ]
        for hunk in shown
    ]
    hunks = table(["hunk", "group", "place", "verdict", "what"], rows) if rows else ""
    hidden = len(patch.hunks) - len(shown)
    more = f"{counted(hidden, 'hunk')} fine\n" if hidden else ""
    return _joined([f"#### {escaped(patch.name)}: {told}\n", _list(patch_told(patch), amount), hunks, more])


def _list(told: Iterable[Told], amount: _Amount) -> str:
    return "".join(f"- {_sentence(each, amount)}\n" for each in told if each.text)


def _sentence(told: Told, amount: _Amount) -> str:
    return f"**{escaped(told.label)}:** {escaped(told.text, amount.characters)}"


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
