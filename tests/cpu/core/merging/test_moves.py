from __future__ import annotations

import pytest

from patchkit.core.lines import split_lines
from patchkit.core.merging.alignment import line_edits
from patchkit.core.merging.moves import Crossing, Crossings, crossings

BASE = b"import os\nfirst = load(1)\nsecond = load(2)\nthird = load(3)\nfourth = load(4)\n"


def without(text: bytes, line: bytes) -> bytes:
    assert text.count(line) == 1
    return text.replace(line, b"")


def test_a_line_that_both_texts_have_once_is_known_where_it_went() -> None:
    side = without(BASE, b"first = load(1)\n") + b"    first = load(1)\n# a comment that is new\n"

    assert crossings(line_edits(BASE, side), split_lines(BASE), split_lines(side)) == [Crossing(1, 4)]


@pytest.mark.parametrize(
    ("base", "side"),
    [
        # Which of two is it?
        (BASE, without(BASE, b"first = load(1)\n") + b"first = load(1)\nfirst = load(1)\n"),
        (BASE + b"first = load(1)\n", without(BASE, b"first = load(1)\n") + b"x\nfirst = load(1)\n"),
        # A short line stands in many places, and comments do too.
        (b"return\n" + BASE, BASE + b"return\n"),
        (b"# a comment\n" + BASE, BASE + b"# a comment\n"),
    ],
)
def test_a_line_that_is_not_known_for_sure_has_not_moved(base: bytes, side: bytes) -> None:
    assert crossings(line_edits(base, side), split_lines(base), split_lines(side)) == []


MOVED = without(BASE, b"first = load(1)\n") + b"first = load(1)\n"
BESIDE = BASE.replace(b"second", b"fresh()\nsecond")
FAR = BASE.replace(b"fourth", b"fresh()\nfourth")
OF_BOTH = MOVED.replace(b"import os\n", b"import sys\n")


@pytest.mark.parametrize(
    ("changed", "target", "places", "misled"),
    [
        # The line above fresh() goes, and the part [0, 3) does not see where.
        (BESIDE, MOVED, ((0, 3), (0, 4), (0, 2)), True),
        (MOVED, BESIDE, ((0, 3), (0, 2), (0, 4)), True),
        # The line that goes is the one that the other side changes.
        (BASE.replace(b"load(1)", b"load(1, 2)"), MOVED, ((0, 3), (0, 3), (0, 2)), True),
        # Another line stands between them.
        (FAR, MOVED, ((0, 4), (0, 5), (0, 3)), False),
        # The part has both places.
        (BESIDE, MOVED, ((0, 5), (0, 6), (0, 5)), False),
        # Both moved it into the part: what one side took out of it is not seen there.
        (MOVED, OF_BOTH, ((3, 5), (2, 5), (2, 5)), True),
        # Only one side did, and to the other one it is new.
        (FAR, MOVED, ((4, 5), (4, 6), (3, 5)), False),
    ],
)
def test_a_part_misleads_where_the_other_side_depends_on_what_left_it(
    changed: bytes, target: bytes, places: tuple[tuple[int, int], tuple[int, int], tuple[int, int]], misled: bool
) -> None:
    edits = line_edits(BASE, changed), line_edits(BASE, target)

    found = Crossings(*edits, *(split_lines(text) for text in (BASE, changed, target)))

    assert found.mislead(*places) is misled
