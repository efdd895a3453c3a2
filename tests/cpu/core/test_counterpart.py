"""Which lines of a target stand beside those of a hunk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.counterpart import counterpart
from patchkit.core.merging.alignment import Edit, edits
from patchkit.core.panes import pane_rows

TEXTS = st.lists(st.sampled_from(["alpha", " alpha", "beta", "gamma", " gamma", ")", ""]), max_size=10)
BASE = ["first", "    alpha(", "    beta", "    gamma", "last"]


def test_lines_that_the_whole_texts_match_stay_where_they_are() -> None:
    target = ["first", "    alpha(", "    beta", "    delta", "last", *["-----"] * 20, "alpha(", "beta", "gamma"]
    theirs = edits(BASE, target)
    assert counterpart(BASE, target, theirs, (1, 4)) is theirs


def test_no_part_is_taken_that_has_no_more_of_the_lines_than_are_matched() -> None:
    target = ["first", "    alpha(", "last", *["-----"] * 20, "beta"]
    theirs = edits(BASE, target)
    assert counterpart(BASE, target, theirs, (1, 4)) is theirs


def test_lines_that_were_moved_and_indented_otherwise_are_found() -> None:
    target = ["first", "last", "other", "alpha(", "beta", "new", "gamma"]
    found = counterpart(BASE, target, edits(BASE, target), (1, 4))
    assert found == [Edit(0, 1, 0, 3), Edit(3, 3, 5, 6), Edit(4, 5, 7, 7)]


def test_of_equally_good_parts_the_one_near_the_conflict_is_taken() -> None:
    part = ["alpha(", "beta", "gamma"]
    target = [*part, *["-----"] * 20, *part, *["-----"] * 20, *part]
    begins = [
        counterpart(BASE, target, edits(BASE, target), (1, 4), near)[0].new_end for near in (None, 0, 20, 24, 45, 60)
    ]
    assert begins == [0, 0, 23, 23, 46, 46]


def test_lines_that_stand_nowhere_are_left_as_the_whole_texts_have_them() -> None:
    theirs = edits(BASE, ["other"])
    assert counterpart(BASE, ["other"], theirs, (1, 4)) is theirs


@given(TEXTS, TEXTS, st.integers(0, 10), st.integers(0, 10), st.none() | st.integers(0, 10))
def test_whatever_is_put_beside_them_all_of_the_lines_are_shown(
    base: list[str], target: list[str], one: int, two: int, near: int | None
) -> None:
    first, end = sorted(min(at, len(base)) for at in (one, two))
    beside = counterpart(base, target, edits(base, target), (first, end), near)
    rows = pane_rows(base, base, target, first + 1, end, theirs=beside)
    assert [row.base.text for row in rows if row.base is not None] == base[first:end]
    numbers = [row.target.number for row in rows if row.target is not None]
    assert numbers == sorted(set(numbers))
    assert all(target[row.target.number - 1] == row.target.text for row in rows if row.target is not None)
