from __future__ import annotations

import pytest

from patchkit.core.history.spans import BadSpan, HunkState, Span, bad_spans, spans_of

EXACT, MOVED = HunkState("exact", "same place"), HunkState("moved", "2 lines away")
DRIFTED = HunkState("moved", "2 lines away", drift=("f (body)",))
ALARM = HunkState("merged", "a name is not bound", ("unbound",))
CONFLICT, GONE, THERE = (HunkState(verdict, "why") for verdict in ("conflict", "obsolete", "upstreamed"))


@pytest.mark.parametrize(
    ("state", "shown", "bad"),
    [
        (EXACT, "exact", False),
        (DRIFTED, "moved", False),
        (THERE, "upstreamed", False),
        (ALARM, "alarm", True),
        (CONFLICT, "conflict", True),
        (GONE, "obsolete", True),
        (HunkState("conflict", "why", ("unchecked",)), "conflict", True),
        (HunkState("upstreamed", "why", ("duplicate",)), "alarm", True),
    ],
)
def test_bad_is_a_conflict_an_obsolete_hunk_and_an_alarm(state: HunkState, shown: str, bad: bool) -> None:
    assert (state.shown, state.bad) == (shown, bad)


def test_states_that_look_alike_are_one_span_whatever_their_reasons() -> None:
    farther = HunkState("moved", "9 lines away")
    other = HunkState("merged", "another name", ("duplicate",))
    states = [EXACT, MOVED, farther, DRIFTED, ALARM, other, other]

    assert spans_of(states) == (
        Span(0, 1, EXACT),
        Span(1, 3, MOVED),
        Span(3, 4, DRIFTED),
        Span(4, 5, ALARM),
        Span(5, 7, other),
    )
    assert spans_of([]) == ()


def test_bad_spans_are_runs_of_anything_bad() -> None:
    states = [CONFLICT, EXACT, CONFLICT, GONE, ALARM, MOVED, THERE, ALARM]

    assert bad_spans(states) == (BadSpan(0, 1), BadSpan(2, 5), BadSpan(7, 8))
    assert bad_spans([EXACT, THERE]) == ()
