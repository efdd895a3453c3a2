"""Three versions beside each other."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.panes import LEFT_OUT, PaneLine, PaneRow, pane_rows, readable

TEXTS = st.lists(st.sampled_from("abcde"), max_size=12)


@given(TEXTS, TEXTS, TEXTS)
def test_over_the_whole_base_each_pane_is_its_text(base: list[str], patch: list[str], target: list[str]) -> None:
    rows = pane_rows(base, patch, target, 1, len(base))
    for pane, text in (("base", base), ("patch", patch), ("target", target)):
        lines = [line for row in rows if (line := getattr(row, pane)) is not None]
        assert [line.text for line in lines] == text
        assert [line.number for line in lines] == list(range(1, len(text) + 1))


@given(TEXTS, TEXTS, TEXTS)
def test_a_line_that_is_the_bases_stands_beside_it(base: list[str], patch: list[str], target: list[str]) -> None:
    for row in pane_rows(base, patch, target, 1, len(base)):
        for line in (row.patch, row.target):
            if line is not None and line.same:
                assert row.base is not None
                assert line.text == row.base.text


@given(TEXTS, TEXTS, TEXTS, st.integers(-3, 15), st.integers(-3, 15))
def test_a_window_shows_its_lines_of_the_base_and_no_others(
    base: list[str], patch: list[str], target: list[str], first: int, last: int
) -> None:
    rows = pane_rows(base, patch, target, first, last)
    shown = [row.base.number for row in rows if row.base is not None]
    assert shown == list(range(max(1, first), min(last, len(base)) + 1))


def line(number: int, text: str, *, same: bool = True) -> PaneLine:
    return PaneLine(number, text, same)


def test_what_both_sides_make_of_a_line_stands_in_one_row() -> None:
    rows = pane_rows(["a", "b", "c"], ["a", "B", "c"], ["a", "x", "y", "c"], 1, 3)
    assert rows == (
        PaneRow(line(1, "a"), line(1, "a"), line(1, "a")),
        PaneRow(line(2, "b"), line(2, "B", same=False), line(2, "x", same=False)),
        PaneRow(None, None, line(3, "y", same=False)),
        PaneRow(line(3, "c"), line(3, "c"), line(4, "c")),
    )


def test_what_both_sides_put_in_at_one_place_stands_beside_each_other() -> None:
    rows = pane_rows(["a", "b"], ["a", "p", "b"], ["a", "t", "u", "b"], 1, 2)
    assert rows == (
        PaneRow(line(1, "a"), line(1, "a"), line(1, "a")),
        PaneRow(None, line(2, "p", same=False), line(2, "t", same=False)),
        PaneRow(None, None, line(3, "u", same=False)),
        PaneRow(line(2, "b"), line(3, "b"), line(4, "b")),
    )


def test_of_a_change_that_reaches_out_of_a_window_only_its_lines_there_are_shown() -> None:
    base, target = ["a", "b", "c", "d"], ["1", "2", "3", "4", "c", "5", "6", "7"]
    rows = pane_rows(base, base, target, 3, 3)
    assert rows == (PaneRow(line(3, "c"), line(3, "c"), line(5, "c")),)


def test_a_line_that_given_edits_match_in_spite_of_its_blanks_is_not_the_bases() -> None:
    rows = pane_rows(["a", "b"], ["a", "b"], ["a", " b"], 1, 2, theirs=[])
    assert rows[1] == PaneRow(line(2, "b"), line(2, "b"), line(2, " b", same=False))


@given(TEXTS, TEXTS, TEXTS, st.integers(0, 3), st.integers(1, 9))
def test_no_more_rows_than_asked_for_are_readable_and_gaps_stand_for_the_others(
    base: list[str], patch: list[str], target: list[str], around: int, most: int
) -> None:
    rows = pane_rows(base, patch, target, 1, len(base))
    shown = readable(rows, around, most)
    kept = [row for row in shown if row != LEFT_OUT]
    assert len(kept) <= most
    assert (len(kept) == len(rows)) == (LEFT_OUT not in shown)
    assert [row for row in rows if row in kept] == kept
    assert (LEFT_OUT, LEFT_OUT) not in pairwise(shown)


def test_of_many_rows_those_near_to_what_the_patch_changed_are_readable() -> None:
    base = list("abcdefgh")
    rows = pane_rows(base, [*"abc", "X", *"efgh"], [*base, "i"], 1, 8)
    assert readable(rows, 1, 3) == (LEFT_OUT, *rows[2:5], LEFT_OUT)
    assert readable(rows, 3, 4) == readable(rows, 1, 3)
    assert readable(pane_rows(base, base, base, 1, 8), 1, 3) == (*pane_rows(base, base, base, 1, 3), LEFT_OUT)
    changed = pane_rows(base, list("ABCDEFGH"), base, 1, 8)
    assert readable(changed, 1, 3) == (*changed[:2], LEFT_OUT, changed[7])


def test_what_lies_at_the_edge_of_a_window_is_left_out() -> None:
    base = ["a", "b", "c", "d"]
    target = ["a", "above", "b", "c", "below", "d"]
    assert [row.target.text for row in pane_rows(base, base, target, 2, 3) if row.target] == ["b", "c"]
    assert [row.target.text for row in pane_rows(base, base, ["top", *base, "end"], 1, 4) if row.target] == [
        "top",
        "a",
        "b",
        "c",
        "d",
        "end",
    ]
