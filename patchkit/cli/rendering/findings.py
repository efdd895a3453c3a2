"""The answer as a flat list of what is wrong, for forms that have no tree: annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patchkit.cli.rendering.places import FilePlace, Places
from patchkit.cli.rendering.telling import (
    Told,
    check_text,
    fine_with_next,
    found_told,
    has_own_findings,
    hunk_told,
    patch_title,
    patch_told,
    places_text,
    problem_told,
    target_told,
)
from patchkit.core.upstream_report import HunkAnswer, PatchAnswer, TargetAnswer, UpstreamReport


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a person has to know."""

    level: str
    """error, warning, notice."""
    rank: int
    """Among those of a level, the lower the earlier."""
    title: str
    told: tuple[Told, ...]
    place: FilePlace


_LEVELS = {"broken": "error", "look": "warning", "unreachable": "notice"}
_UPSTREAM, _TARGET, _PATCH, _HUNK = range(4)


def findings(report: UpstreamReport, places: Places) -> list[Finding]:
    """Return what is wrong: errors, then warnings, then notices; upstream before targets, patches and hunks."""
    found = [*_upstream(report, places)]
    for target in report.targets:
        found += _target(target, places)
    for target, text in fine_with_next(report):
        found.append(Finding("notice", _TARGET, f"{target.title}: fine", (Told("next", text),), places.of_series()))
    return sorted(found, key=lambda each: (("error", "warning", "notice").index(each.level), each.rank))


def _upstream(report: UpstreamReport, places: Places) -> Iterator[Finding]:
    series = places.of_series()
    for problem in report.problems:
        yield Finding("error", _UPSTREAM, "upstream", tuple(problem_told(problem)), series)
    for told in found_told(report.found):
        yield Finding("notice", _UPSTREAM, told.label, (Told("", told.text),), series)
    for note in report.notes:
        yield Finding("notice", _UPSTREAM, "note", (Told("", note),), series)


def _target(target: TargetAnswer, places: Places) -> Iterator[Finding]:
    told = target_told(target)
    elsewhere = any(patch.state != "fine" for patch in target.patches)
    if target.problems or (target.state != "fine" and (has_own_findings(told) or not elsewhere)):
        title = f"{target.title}: {target.state}"
        yield Finding(_LEVELS.get(target.state, "warning"), _TARGET, title, tuple(told), places.of_series())
    for patch in target.patches:
        if patch.state != "fine":
            yield from _patch(target, patch, places)


def _patch(target: TargetAnswer, patch: PatchAnswer, places: Places) -> Iterator[Finding]:
    head = f"{target.title}: {patch_title(patch)}"
    told = [each for each in patch_told(patch) if each.label != "check"]
    failed = [check for check in patch.checks if not check.ok]
    hunks = [hunk for hunk in patch.hunks if hunk.state != "fine"]
    if has_own_findings(told) or not (failed or hunks):
        title = f"{head}: {patch.verdict}"
        yield Finding(_LEVELS[patch.state], _PATCH, title, tuple(told), places.of_patch(patch))
    for check in failed:
        title = f"{head}: check {check.id}"
        yield Finding("error", _PATCH, title, (Told("check", check_text(check)),), places.of_check(patch, check.id))
    for hunk in hunks:
        title = f"{head}/{hunk.id}: {hunk.verdict}"
        yield Finding(_LEVELS[hunk.state], _HUNK, title, _hunk(hunk), places.of_hunk(patch, hunk.id))


def _hunk(hunk: HunkAnswer) -> tuple[Told, ...]:
    return Told("place", f"{hunk.path} {places_text(hunk)}"), *hunk_told(hunk)


def counts(found: Sequence[Finding]) -> str:
    """Say how many findings of each level there are."""
    levels = [each.level for each in found]
    told = [(levels.count(level), level) for level in ("error", "warning", "notice")]
    return ", ".join(f"{count} {level}{'s' if count > 1 else ''}" for count, level in told if count)
