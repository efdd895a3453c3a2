from __future__ import annotations

import pytest

from patchkit.core.merging.between import puts_between

A = "def a():\n    pass\n\n\n"
B = "def b():\n    return 1\n\n\n"
C = "def c():\n    return 2\n\n\n"


@pytest.mark.parametrize(
    ("side", "mover", "told"),
    [
        (A + "x = 1\n" + B + C, B + A + C, True),
        (A + "import x\n\n\n" + B + C, B + A + C, False),
        (A + "# x\n\n" + B + C, B + A + C, False),
        (A + "def d():\n    pass\n\n\n" + B + C, B + A + C, False),
        (A + "def d():\n    pass\n\n\nx = 1\n" + B + C, B + A + C, True),
        # It is in its place there.
        (A + "x = 1\n" + B + C, B + "x = 1\n" + A + C, False),
        # Between two that are in one order on both sides.
        (A + B + "x = 1\n" + C, B + A + C, False),
        ("x = 1\n" + A + B + C, B + A + C, False),
        (A + "x = 1\n" + B + C, A + C + B, False),
        # One of the two is gone, or moved alike.
        (A + "x = 1\n" + B + C, B + C, False),
        (B + "x = 1\n" + A + C, B + A + C, False),
    ],
)
def test_a_statement_is_between_where_the_definitions_around_it_changed_places(
    side: str, mover: str, told: bool
) -> None:
    base = A + B + C

    assert puts_between(base, side, mover) is told
    assert puts_between(*(_in_a_class(text) for text in (base, side, mover))) is told


def _in_a_class(text: str) -> str:
    return "class K:\n" + "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))
