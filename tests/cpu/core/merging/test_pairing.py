from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.logical import cut_lines, logical_lines
from patchkit.core.merging.pairing import likeness, pair

from ..programs import changed_programs


@given(changed_programs())
def test_a_pairing_is_a_whole_account_of_the_change(sides: tuple[bytes, bytes]) -> None:
    cuts = [cut_lines(side.decode()) for side in sides]
    old, new = (cut.lines for cut in cuts)

    found = pair(*cuts)

    made: list[str] = []
    at = 0
    for edit in found.edits:
        made += [line.key for line in old[at : edit.old]]
        assert len(made) == edit.new
        made += [line.key for line in new[edit.new : edit.new_end]]
        at = edit.old_end
    assert [line.key for line in new] == made + [line.key for line in old[at:]]
    assert found.modified <= {edit.old for edit in found.edits if edit.old_end == edit.old + 1}
    assert all(edit.new_end == edit.new + 1 for edit in found.edits if found.is_modified(edit))


def test_whether_a_line_moved_is_seen_in_each_text_by_itself() -> None:
    """The same lines are paired in the one, and in the other the old one has gone elsewhere."""
    base = "def f():\n    x = g(a, b)\n\n\ndef h():\n    y = 1\n"
    reworded = base.replace("(a, b)", "(a, c)")
    moved = reworded + "    x = g(a, b)\n"

    assert pair(cut_lines(base), cut_lines(reworded)).modified == {1}
    assert pair(cut_lines(base), cut_lines(moved)).modified == set()
    assert pair(cut_lines(base), cut_lines(reworded)).modified == {1}


@pytest.mark.parametrize(
    ("one", "two", "alike"),
    [
        ("x = f(a, b)\n", "x = f(a, c)\n", True),
        ("x = f(a, b)\n", "raise ValueError\n", False),
        # A definition is another version of the one with its name, however its parameters changed.
        ("def f():\n", "def f(a, b, c, d, e, g, h):\n", True),
        ("def f(a, b):\n", "def g():\n", False),
        # A renamed definition has most words in common, and half of the parts of its name.
        ("def load_state(self, a, b):\n", "def load_state_dict(self, a, b):\n", True),
        ("def first(self, a, b, c):\n", "def second(self, a, b, c):\n", False),
        ("def load_state(self, a, b):\n", "def load_state_dict(other):\n", False),
        ("class TwoParts(A, B):\n", "class MyTwoParts(A, B):\n", True),
        ("def f(a):\n", "class f(a):\n", False),
        # A statement does not turn into another kind of statement.
        ("if a.b.c(d):\n", "while a.b.c(d):\n", False),
        ("return a.b.c(d)\n", "a.b.c(d)\n", False),
        ("# a word of truth\n", "# a word of doubt\n", True),
        ("# a = b\n", "a = b\n", False),
    ],
)
def test_which_lines_can_be_versions_of_one(one: str, two: str, alike: bool) -> None:
    assert alike == (likeness(logical_lines(one)[0], logical_lines(two)[0]) > 0)


def test_changed_lines_are_paired_with_the_most_alike() -> None:
    old = cut_lines("a = f(x, 1)\nb = g(y, 2)\nend\n")
    new = cut_lines("new()\na = f(x, 3)\nb = g(y, 4)\nend\n")

    found = pair(old, new)

    assert ([Edit(0, 0, 0, 1), Edit(0, 1, 1, 2), Edit(1, 2, 2, 3)], {0, 1}) == (found.edits, found.modified)


@given(st.integers(0, 3))
def test_lines_that_say_the_same_are_no_change(blanks: int) -> None:
    old = cut_lines("f(a,\n  b)\n'x'\n")
    new = cut_lines("\n" * blanks + 'f(a, b)\n"x"\n')

    assert pair(old, new).edits == []
