from __future__ import annotations

import pytest

from patchkit.core.merging.logical import logical_lines
from patchkit.core.merging.original import original
from patchkit.core.merging.resolved import Span

LINES = logical_lines("first()\nsecond()\nthird()\n")
PERMUTED = [LINES[2], LINES[0], LINES[1]]


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        # Lines that were apart are spans of their own.
        (Span(0, 2, 7, 8, "restructured", "why"), [(2, 3, 7, 8), (0, 1, 7, 8)]),
        # Of a conflict the target's lines are permuted as well.
        (Span(1, 2, 1, 3, "conflict", "why"), [(0, 1, 0, 2)]),
        # What stands behind the last line has a number and no line: the text ends in a blank one.
        (Span(3, 4, 3, 4, "conflict", "why"), [(2, 2, 2, 2)]),
        (Span(2, 4, 2, 5, "conflict", "why"), [(1, 2, 1, 2)]),
    ],
)
def test_spans_name_lines_of_the_texts_as_they_were(span: Span, expected: list[tuple[int, int, int, int]]) -> None:
    found = list(original([span], PERMUTED, PERMUTED))

    assert [each[:4] for each in found] == expected
    assert {each[4:] for each in found} == {(span.verdict, span.reason)}
