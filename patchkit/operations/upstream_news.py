"""What of an answer has not been reported before."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping

import msgspec
from msgspec.structs import replace

from patchkit.core.report import Problem
from patchkit.core.upstream_report import State, TargetAnswer, UpstreamReport, worst

_ALL = "*"
"""Under this name stand the problems that are about no target; no revision of a repository can be called so."""


class News(msgspec.Struct, frozen=True):
    """An answer, cut down to what is new, and what will be known afterwards."""

    report: UpstreamReport
    known: Mapping[str, frozenset[str]]
    anything: bool
    """Whether there is anything new, good or bad."""
    lost: tuple[TargetAnswer, ...] = ()
    """Targets that could not be looked at, reported before or not; no news, and nothing to pass over either."""


def news(report: UpstreamReport, known: Mapping[str, Iterable[str]], faults: Collection[Problem] = ()) -> News:
    """Return the targets and problems of ``report`` that ``known`` (fingerprints by target) does not have.

    Of its problems ``faults`` are those of a clone that was given, no news of upstream: told until they are mended.

    Afterwards a target that was looked at is known as it is now, and as nothing else: when it goes back to an earlier
    state, that is news again. A target that could not be looked at stays known as it was, and is no news.
    """
    before = {name: frozenset(prints) for name, prints in known.items()}
    after = dict(before)
    fresh: list[TargetAnswer] = []
    lost: list[TargetAnswer] = []
    for answer in report.targets:
        if not answer.fingerprint:
            # Out of reach, or not what was recorded: the first is no answer, the second is told until it is mended.
            fresh += [answer] if answer.problems else []
            lost += [] if answer.problems else [answer]
            continue
        if answer.fingerprint not in before.get(answer.name, ()):
            fresh.append(answer)
        after[answer.name] = frozenset({answer.fingerprint})
    problems = [each for each in report.problems if each in faults or _print(each) not in before.get(_ALL, ())]
    after[_ALL] = frozenset(_print(each) for each in report.problems if each not in faults)
    if not after[_ALL]:
        del after[_ALL]
    states: list[State] = [answer.state for answer in fresh]
    verdict = "unreachable" if report.verdict == "unreachable" else worst([*states, "broken"] if problems else states)
    cut = replace(report, targets=tuple(fresh), problems=tuple(problems), verdict=verdict, ok=verdict == "fine")
    return News(cut, after, bool(fresh or problems), tuple(lost))


def marked(report: UpstreamReport, known: Mapping[str, Iterable[str]]) -> UpstreamReport:
    """Return the whole answer, each target marked with whether it is news."""
    fresh = {answer.name for answer in news(report, known).report.targets}
    return replace(report, targets=tuple(replace(answer, new=answer.name in fresh) for answer in report.targets))


def _print(problem: Problem) -> str:
    return hashlib.sha256(problem.told.encode("utf-8", "backslashreplace")).hexdigest()[:16]
