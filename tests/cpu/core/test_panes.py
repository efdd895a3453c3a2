"""Three versions beside each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.panes import PaneLine, PaneRow, pane_rows

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
