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
        # Those of the result are told as they are.
        (Span(1, 2, 1, 3, "upstreamed", "why"), [(0, 1, 1, 3)]),
        # What stands behind the last line has a number and no line: the text ends in a blank one.
        (Span(3, 4, 3, 4, "restructured", "why"), [(2, 2, 3, 4)]),
        (Span(2, 4, 2, 5, "restructured", "why"), [(1, 2, 2, 5)]),
    ],
)
def test_spans_name_lines_of_the_base_as_it_was(span: Span, expected: list[tuple[int, int, int, int]]) -> None:
    found = list(original([span], PERMUTED))

    assert [each[:4] for each in found] == expected
    assert {each[4:] for each in found} == {(span.verdict, span.reason)}
