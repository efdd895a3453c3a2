from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.carry import Conflict
from patchkit.core.lines import split_lines
from patchkit.core.rebasing.spots import Spot, mapped, spots

letters = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), max_size=6).map(b"".join)


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


def test_a_line_behind_an_edit_is_shifted_and_one_inside_stays_inside() -> None:
    changed = [(1, 2, 1, 4)]

    assert [mapped(changed, line) for line in range(6)] == [0, 1, 1, 1, 2, 3]


def test_lines_that_the_carried_text_has_once_more_do_not_mislead() -> None:
    conflict = Conflict(b"b\n", b"bb\n", b"b\nB\n")

    assert spots([b"b\n", conflict], b"b\n", b"b\nB\n") == (Spot(conflict, (0, 1), (0, 2)),)
