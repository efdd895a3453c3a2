from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.carry import Conflict
from patchkit.core.lines import split_lines
from patchkit.core.rebasing.spots import Spot, _only_place, joined, mapped, spots

letters = st.lists(st.sampled_from([b"a\n", b"b\n", b"ab\n"]), max_size=6).map(b"".join)


def test_a_conflict_stands_at_the_lines_of_its_sides() -> None:
    base, target = b"a\nb\nc\n", b"x\na\nB\nc\n"
    conflict = Conflict(b"b\n", b"bb\n", b"B\n")

    assert spots([b"x\na\n", conflict, b"c\n"], base, target) == (Spot(conflict, (1, 2), (2, 3)),)


def test_the_text_around_may_have_been_carried() -> None:
    base, target = b"a\nb\nc\nd\n", b"a\nB\nc\nd\n"
    conflict = Conflict(b"b\n", b"bb\n", b"B\n")

    assert spots([b"new\na\n", conflict, b"c\nD\n"], base, target) == (Spot(conflict, (1, 2), (1, 2)),)


def test_an_empty_side_stands_between_its_neighbours() -> None:
    base, target = b"a\nc\n", b"a\nB\nc\n"
    conflict = Conflict(b"", b"bb\n", b"B\n")

    assert spots([b"a\n", conflict, b"c\n"], base, target) == (Spot(conflict, (1, 1), (1, 2)),)


@given(letters, letters, letters, letters)
def test_the_lines_at_a_spot_are_those_of_the_conflict(head: bytes, old: bytes, new: bytes, tail: bytes) -> None:
    conflict = Conflict(old, b"z\n", new)
    (spot,) = spots([head, conflict, tail], head + old + tail, head + new + tail)
    base, target = split_lines(head + old + tail), split_lines(head + new + tail)

    assert b"".join(base[slice(*spot.base)]) == old
    assert b"".join(target[slice(*spot.target)]) == new


@given(st.lists(st.one_of(letters, st.tuples(letters, letters)), max_size=5), letters, letters, st.booleans())
def test_lines_that_stand_once_are_where_the_edits_lead(
    told: list[bytes | tuple[bytes, bytes]], base: bytes, target: bytes, ended: bool
) -> None:
    """Without the search for them the answer is the same, for texts that are not even versions of the parts."""
    parts = [part if isinstance(part, bytes) else Conflict(part[0], b"z\n", part[1]) for part in told]
    if told and not ended and isinstance(parts[-1], Conflict):
        parts[-1] = Conflict(parts[-1].base.removesuffix(b"\n"), b"z\n", parts[-1].target.removesuffix(b"\n"))
    found = spots(parts, base, target)
    with mock.patch("patchkit.core.rebasing.spots._only_place", return_value=None):
        by_edits = spots(parts, base, target)

    assert found == by_edits


@pytest.mark.parametrize(
    ("side", "text", "line"),
    [
        (b"b\n", b"a\nb\n", 1),
        (b"b\n", b"ab\n", None),
        (b"b\n", b"ab\nb\n", 1),
        (b"b\n", b"b\nb\n", None),
        (b"b\nb\n", b"b\nb\nb\n", None),
        (b"b", b"ab\nb", 1),
        (b"b", b"b\n", None),
        (b"", b"b\n", None),
    ],
)
def test_whole_lines_are_looked_for_and_have_to_stand_there_once(side: bytes, text: bytes, line: int | None) -> None:
    assert _only_place(side, text) == line


def test_a_line_behind_an_edit_is_shifted_and_one_inside_stays_inside() -> None:
    changed = [(1, 2, 1, 4)]

    assert [mapped(changed, line) for line in range(6)] == [0, 1, 1, 1, 2, 3]


def test_lines_that_the_carried_text_has_once_more_do_not_mislead() -> None:
    conflict = Conflict(b"b\n", b"bb\n", b"b\nB\n")

    assert spots([b"b\n", conflict], b"b\n", b"b\nB\n") == (Spot(conflict, (0, 1), (0, 2)),)


def test_conflicts_that_touch_and_are_of_the_same_hunks_are_one() -> None:
    one, two, three = (Conflict(name + b"\n", name + b"!\n", b"") for name in (b"a", b"b", b"c"))
    both = Conflict(b"a\nb\n", b"a!\nb!\n", b"")

    assert joined([b"x\n", one, two, b"y\n", three], [("h",)] * 3) == (b"x\n", both, b"y\n", three)
    assert joined([one, two, three], [("h",), ("h",), ("other",)]) == (both, three)
    assert joined([one, b"y\n", two], [("h",)] * 2) == (one, b"y\n", two)
    assert joined([], []) == ()
