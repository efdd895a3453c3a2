"""The states of a hunk along a line of commits: runs of equal ones, and where it broke."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

ALARM = "alarm"
"""Shown in the place of the verdict where a gate fired."""
_BAD = frozenset({"conflict", "obsolete", ALARM})
"""Words of the engine's verdicts; importing these would load the engine, which a history that is known does without."""


class HunkState(msgspec.Struct, frozen=True):
    """What becomes of one hunk on one text."""

    verdict: str
    """A verdict of the carry engine."""
    reason: str
    rules: tuple[str, ...] = ()
    """Gates that fired."""
    drift: tuple[str, ...] = ()
    """Scopes that changed."""

    @property
    def shown(self) -> str:
        """The verdict, or ``alarm`` where there is a result and a gate fired."""
        return ALARM if self.rules and self.verdict not in _BAD else self.verdict

    @property
    def bad(self) -> bool:
        """Whether a person has to do something. Drift is none of this, nor that upstream has the hunk."""
        return self.shown in _BAD


class Span(msgspec.Struct, frozen=True):
    """A run of places on the line with one state."""

    first: int
    """Index of the first place."""
    end: int
    """Index behind the last one."""
    state: HunkState
    """At the first place."""


class BadSpan(msgspec.Struct, frozen=True):
    """A run of places at which a hunk is bad, in whatever way."""

    first: int
    end: int


def spans_of(states: Sequence[HunkState]) -> tuple[Span, ...]:
    """Return the runs of states that look the same: in what is shown, in the gates, and in whether there is drift."""
    spans: list[Span] = []
    for at, state in enumerate(states):
        last = spans[-1] if spans else None
        if last is not None and _look(last.state) == _look(state):
            spans[-1] = Span(last.first, at + 1, last.state)
        else:
            spans.append(Span(at, at + 1, state))
    return tuple(spans)


def bad_spans(states: Sequence[HunkState]) -> tuple[BadSpan, ...]:
    """Return the longest runs of places at which the hunk is bad, the earliest first."""
    runs: list[BadSpan] = []
    for at, state in enumerate(states):
        if not state.bad:
            continue
        if runs and runs[-1].end == at:
            runs[-1] = BadSpan(runs[-1].first, at + 1)
        else:
            runs.append(BadSpan(at, at + 1))
    return tuple(runs)


def _look(state: HunkState) -> tuple[str, tuple[str, ...], bool]:
    return state.shown, state.rules, bool(state.drift)
