"""What there is to say of a hunk, a patch or a target, as sentences with a label.

The sentences hold text of upstream and of the patches as it is: who prints them escapes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from patchkit.core.carry_report import AlarmReport, CommitReport, DriftReport, PlaceReport, drift_details
from patchkit.core.report import CheckReport, Problem
from patchkit.core.upstream_report import (
    ConflictReport,
    FoundRelease,
    GroupAnswer,
    HunkAnswer,
    PatchAnswer,
    State,
    TargetAnswer,
    UpstreamReport,
)

STATES: tuple[State, ...] = ("broken", "look", "unreachable", "fine")
"""The worst first."""


class Told(NamedTuple):
    """One sentence."""

    label: str
    """intent, reason, conflict, drift, alarm, review, check, problem, upstream, drop when, note, hint, next."""
    text: str


def is_quiet(report: UpstreamReport) -> bool:
    """Tell whether a report has nothing to say, as when only what is new was asked for and nothing is."""
    return not (report.targets or report.found or report.problems or report.notes or report.written)


def is_all_fine(report: UpstreamReport) -> bool:
    """Tell whether a report says of everything that it is fine, and nothing else."""
    quiet = not (report.found or report.problems or report.notes or report.written)
    return quiet and report.verdict == "fine" and not any(map(has_to_be_told, report.targets))


def has_to_be_told(target: TargetAnswer) -> bool:
    """Tell whether there is more to say of a target than that it is fine; a moved tag may spoil nothing as yet."""
    return target.state != "fine" or bool(target.problems)


def patch_names(report: UpstreamReport) -> list[str]:
    """Return the names of the patches, in the order of the series."""
    return list(dict.fromkeys(patch.name for target in report.targets for patch in target.patches))


def counted(count: int, what: str) -> str:
    """Say how many of something there are."""
    if count == 1:
        return f"1 {what}"
    return f"{count} {what}es" if what.endswith("h") else f"{count} {what}s"


def size(report: UpstreamReport) -> str:
    """Say how many targets and patches were looked at."""
    return f"{counted(len(report.targets), 'target')}, {counted(len(patch_names(report)), 'patch')}"


def fine_told(report: UpstreamReport) -> str:
    """Say that all is fine, and of what: targets by name where they are few, or where some of many are new."""
    titles = [target.title for target in report.targets if target.new]
    some = len(titles) < len(report.targets)
    shown = titles if len(titles) <= _TITLES else [*titles[:_TITLES], f"{len(titles) - _TITLES} more"] if some else []
    names = f" ({'new: ' if some else ''}{', '.join(shown)})" if shown else ""
    return f"{size(report)}: fine{names}"


_TITLES = 8
"""Targets that one line names."""


def state_counts(report: UpstreamReport) -> str:
    """Say how many targets are in each state, the worst first; empty without targets."""
    counts = Counter(target.state for target in report.targets)
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])


def verdict_told(report: UpstreamReport) -> str:
    """Say what a verdict comes of: what is wrong beside the patches, and targets by state; empty without either."""
    problems = [*report.problems]
    # What is broken is counted as that.
    problems += [problem for target in report.targets if target.state != "broken" for problem in target.problems]
    named = list(dict.fromkeys(_head(problem) for problem in problems))
    more = [f"and {counted(len(named) - _HEADS, 'problem')} more"] if len(named) > _HEADS else []
    return "; ".join(part for part in (", ".join([*named[:_HEADS], *more]), state_counts(report)) if part)


_HEADS = 3
"""Problems that a summary names."""


def _head(problem: Problem) -> str:
    """Return what a problem is, without how it shows: ``the tag core_v0.16.0 has moved``."""
    return problem.message.partition(": ")[0]


def verdict_word(patch: PatchAnswer) -> str:
    """Say in a word or two what a patch came to: the state, the verdict, or both where each says something."""
    if patch.verdict in ("recorded", patch.state):
        return patch.state
    return patch.verdict if patch.state == "fine" else f"{patch.state} ({patch.verdict})"


def patch_title(patch: PatchAnswer) -> str:
    """Return a patch's name, and whether its answer may change, for forms that speak of its parts one by one."""
    return f"{patch.name} (provisional)" if patch.provisional else patch.name


def cell(target: TargetAnswer, patch: PatchAnswer | None) -> tuple[State, str]:
    """Return state and words for a patch on a target; no words when nothing was asked about it there."""
    if patch is not None:
        return patch.state, verdict_word(patch)
    return target.state, target.state if target.state == "unreachable" else ""


def target_facts(target: TargetAnswer) -> list[str]:
    """Return what a target is, in a few words each."""
    facts = [target.date, f"tag {target.tag}" if target.tag else ""]
    facts.append(f"commit {target.commit[:10]}" if target.commit else "")
    facts.append(f"as of {target.as_of}" if target.kind != "release" else "")
    facts += flags(target)
    facts.append("" if target.new else "reported before")
    return [fact for fact in facts if fact]


def flags(target: TargetAnswer) -> list[str]:
    """Return what is unusual about a target, in a word or two each."""
    told = {"yanked": target.yanked is not None, "moved": target.moved, "not listed": not target.listed}
    return [word for word, holds in told.items() if holds]


def target_told(target: TargetAnswer) -> list[Told]:
    """Return what there is to say of a target as a whole."""
    told = [Told("reason", target.reason), Told("yanked", target.yanked or "")]
    for problem in target.problems:
        told += problem_told(problem)
    told.append(Told("next", target.next))
    return _with_text(told)


def patch_told(patch: PatchAnswer) -> list[Told]:
    """Return what there is to say of a patch that is about no single hunk."""
    told = [Told("reason", patch.reason)]
    told += [Told("group", group_text(group)) for group in patch.groups if group.state != "fine"]
    told += [Told("alarm", alarm_text(alarm)) for alarm in patch.alarms]
    known = {f"{alarm.rule}: {alarm.message}" for alarm in patch.alarms}
    told += [Told("review", line) for line in patch.review if line not in known]
    told += [Told("check", check_text(check)) for check in patch.checks if not check.ok]
    if patch.provisional:
        told.append(Told("note", "provisional: a patch below it is undecided"))
    told.append(Told("next", patch.next))
    return _with_text(told)


def has_own_findings(told: Iterable[Told]) -> bool:
    """Tell whether sentences about a target or a patch are more than what its hunks and checks say for themselves."""
    return any(each.label in ("reason", "problem", "alarm", "review") for each in told)


def hunk_told(hunk: HunkAnswer) -> list[Told]:
    """Return what there is to say of a hunk, each thing once."""
    told = [Told("intent", hunk.intent if hunk.state != "fine" else ""), Told("reason", hunk.reason)]
    told += [Told("conflict", conflict_text(conflict)) for conflict in hunk.conflicts]
    told += [Told("drift", drift_text(drift)) for drift in hunk.drift]
    told += [Told("alarm", alarm_text(alarm)) for alarm in hunk.alarms]
    told += [Told("review", line) for line in review_of_its_own(hunk)]
    told += [Told("upstream", commit_text(commit)) for commit in hunk.commits]
    told.append(Told("drop when", hunk.drop_when))
    told.append(Told("next", hunk.next))
    return _with_text(told)


def review_of_its_own(hunk: HunkAnswer) -> list[str]:
    """Return the reasons for a review of a hunk that neither an alarm nor a drift tells."""
    known = {f"{alarm.rule}: line {alarm.line}: {alarm.message}" for alarm in hunk.alarms}
    known |= {f"drift: {_drift_head(drift)}" for drift in hunk.drift}
    return [line for line in hunk.review if line not in known]


def problem_told(problem: Problem) -> list[Told]:
    """Return a problem, with where it is, and its hint."""
    where = [part for part in (problem.patch, problem.path) if part]
    where += [f"hunk {problem.hunk}"] if problem.hunk else []
    where += [f"line {problem.line}"] if problem.line else []
    return _with_text([Told("problem", ": ".join([*where, problem.message])), Told("hint", problem.hint or "")])


def places_text(hunk: HunkAnswer) -> str:
    """Say where a hunk stands in the base and in the result."""
    if hunk.new is None or hunk.new == hunk.old:
        return place_text(hunk.old or hunk.new)
    return f"{place_text(hunk.old)} -> {place_text(hunk.new)}"


def place_text(place: PlaceReport | None) -> str:
    """Say where something stands: scope and lines."""
    if place is None:
        return "nowhere"
    lines = str(place.first) if place.last <= place.first else f"{place.first}-{place.last}"
    return f"{place.scope}:{lines}"


def group_text(group: GroupAnswer) -> str:
    """Say what came of a group."""
    has = f"; the target has: {group.upstream}" if group.upstream else ""
    return f"{group.name}: {group.verdict} ({counted(len(group.hunks), 'hunk')}){has}"


def alarm_text(alarm: AlarmReport) -> str:
    """Say what a gate found."""
    return f"{alarm.rule}, line {alarm.line}: {alarm.message}"


def drift_text(drift: DriftReport) -> str:
    """Say how a scope changed."""
    details = drift_details(drift)
    return f"{_drift_head(drift)}: {details}" if details else _drift_head(drift)


def _drift_head(drift: DriftReport) -> str:
    return f"{drift.scope} changed ({', '.join(drift.kinds)})"


def check_text(check: CheckReport) -> str:
    """Say how often a rule matches, and how often it should."""
    at = f"; at {', '.join(check.at)}" if check.at else ""
    intent = f" ({check.intent})" if check.intent else ""
    return f"{check.id}: expected {check.expected}, found {check.found}{at}{intent}"


def commit_text(commit: CommitReport) -> str:
    """Name an upstream commit, with its pull request where the subject does not have it."""
    known = commit.pull_request is None or f"#{commit.pull_request}" in commit.subject
    return f"{commit.commit} {commit.subject}" + ("" if known else f" (pull request {commit.pull_request})")


def conflict_text(conflict: ConflictReport) -> str:
    """Say where the two changes meet, and how much of each there is."""
    sides = {"base": conflict.base, "patch": conflict.changed, "target": conflict.target}
    told = ", ".join(f"{counted(_lines(text), 'line')} in the {side}" for side, text in sides.items())
    return f"line {conflict.line} of the target: {told}"


def found_text(found: FoundRelease) -> str:
    """Say what a release is that upstream_versions.yaml does not list."""
    what = [found.date, f"tag {found.tag}" if found.tag else ""]
    what.append(f"commit {found.commit[:10]}" if found.commit else "")
    what.append("pre-release" if found.pre_release else "")
    what.append(f"yanked: {found.yanked}" if found.yanked is not None else "")
    told = ", ".join(part for part in what if part)
    return f"{found.version} ({' and '.join(found.where)}{', ' if told else ''}{told})"


def worth_telling(found: Sequence[FoundRelease]) -> tuple[list[FoundRelease], str]:
    """Return the found releases that are told one by one, and what to say of the others; empty when there are none.

    There are hundreds of pre-releases and dev builds, and an index can claim any number of releases: the latest are
    enough to read, JSON has them all.
    """
    pre = sorted((each for each in found if each.pre_release), key=lambda each: each.date)
    final = [each for each in found if not each.pre_release]
    counts = {"releases": (final, _RELEASES), "pre-releases": (pre, _PRE_RELEASES)}
    told = {each.version for each in (*final[-_RELEASES:], *pre[-_PRE_RELEASES:])}
    others = [f"{len(all_) - most} older {kind}" for kind, (all_, most) in counts.items() if len(all_) > most]
    return [each for each in found if each.version in told], ", ".join(others)


_RELEASES = 20
_PRE_RELEASES = 5


def found_told(found: Sequence[FoundRelease]) -> list[Told]:
    """Return what is to be told of the releases that upstream_versions.yaml does not list."""
    shown, others = worth_telling(found)
    told = [Told("new release", found_text(each)) for each in shown]
    return [*told, Told("new release", others)] if others else told


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") if text else 0)


def _with_text(told: Iterable[Told]) -> list[Told]:
    return [each for each in told if each.text]


def fine_with_next(report: UpstreamReport) -> Iterator[tuple[TargetAnswer, str]]:
    """Yield the fine targets for which there is something to do all the same, and what; each thing once a target."""
    for target in report.targets:
        if target.state == "fine":
            nexts = [target.next, *(patch.next for patch in target.patches)]
            for text in dict.fromkeys(text for text in nexts if text):
                yield target, text
