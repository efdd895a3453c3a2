from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.carried import Conflict, Verdict
from patchkit.core.merging.merge import Kind, Region
from patchkit.core.merging.pieces import Piece, Spans, joined, put_together
from patchkit.core.merging.resolved import Span

CONFLICT = Conflict(b"a\n", b"b\n", b"c\n")


def region(begin: int, end: int) -> Region:
    return Region(Kind.APPLIED, begin, end, 0, 0, 0, 0)


def span(begin: int, end: int, verdict: str = "merged", first: int = 0) -> Span:
    return Span(begin, end, first, first, verdict, "")


@pytest.mark.parametrize(
    ("spans", "place", "expected"),
    [
        # Sharing lines, not standing beside them.
        ([span(0, 3), span(3, 5)], (3, 4), span(3, 5)),
        ([span(0, 3), span(5, 6)], (3, 5), None),
        # A place without lines belongs to what it stands beside.
        ([span(0, 3)], (3, 3), span(0, 3)),
        ([span(3, 3)], (3, 5), span(3, 3)),
        # The worst verdict; of equals the first that was told.
        ([span(0, 9, "moved"), span(2, 3, "conflict"), span(2, 4)], (2, 4), span(2, 3, "conflict")),
        ([span(2, 4, first=7), span(0, 9, first=8)], (2, 4), span(2, 4, first=7)),
        # What the target has is told only where it has all of it.
        ([span(2, 4, "upstreamed"), span(2, 4, "exact")], (2, 4), span(2, 4, "exact")),
        ([span(2, 4, "upstreamed")], (2, 4), span(2, 4, "upstreamed")),
        # A long one far above reaches down here.
        ([span(0, 9), span(1, 2), span(2, 3)], (8, 9), span(0, 9)),
    ],
)
def test_the_worst_span_of_a_region_is_told(
    spans: Sequence[Span], place: tuple[int, int], expected: Span | None
) -> None:
    assert Spans(spans).worst(region(*place)) == expected


_ranges = st.tuples(st.integers(0, 9), st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1]))
_spans = st.tuples(_ranges, st.sampled_from(Verdict), st.integers(0, 99)).map(
    lambda each: Span(*each[0], each[2], each[2], each[1].value, "")
)


@given(st.lists(_spans, max_size=8), _ranges)
def test_no_span_is_overlooked(spans: list[Span], place: tuple[int, int]) -> None:
    begin, end = place
    touching = [
        each
        for each in spans
        if (each.base < end and begin < each.base_end)
        or ((each.base == each.base_end or begin == end) and each.base <= end and begin <= each.base_end)
    ]
    kept = [each for each in touching if each.verdict != "upstreamed"] or touching
    order = [verdict.value for verdict in Verdict]

    expected = max(kept, key=lambda each: order.index(each.verdict), default=None)
    assert Spans(spans).worst(region(begin, end)) == expected


def test_spans_are_told_in_lines_of_the_whole_but_for_conflicts() -> None:
    one = Piece((0, 1), (0, 1), (0, 1), [b"x\ny\n"], [span(0, 1)])
    two = Piece((1, 2), (1, 2), (1, 2), [b"z\n", CONFLICT], [span(1, 2), span(1, 2, "conflict", 1)])

    parts, spans = put_together([one, two])

    assert parts == [b"x\ny\n", b"z\n", CONFLICT]
    assert spans == [span(0, 1), span(1, 2, first=2), span(1, 2, "conflict", 1)]
    assert joined(parts) == (b"x\ny\nz\n", CONFLICT)
    assert joined([CONFLICT, b"", b"end"]) == (CONFLICT, b"end")
