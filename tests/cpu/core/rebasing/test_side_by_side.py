from __future__ import annotations

from patchkit.core.rebasing.side_by_side import WIDTH, side_by_side


def row(old: str, left: str, mark: str, new: str, right: str) -> str:
    return f"{old:>5} {left.ljust(WIDTH)} {mark} {new:>5} {right}".rstrip()


def test_lines_stand_beside_those_they_became() -> None:
    assert side_by_side(["a", "b", "c"], ["a", "B", "c"], first_old=7, first_new=9) == [
        row("7", "a", " ", "9", "a"),
        row("8", "b", "|", "10", "B"),
        row("9", "c", " ", "11", "c"),
    ]


def test_lines_that_one_side_has_alone_are_marked() -> None:
    assert side_by_side(["a", "b"], ["b", "c"]) == [
        row("1", "a", "<", "", ""),
        row("2", "b", " ", "1", "b"),
        row("", "", ">", "2", "c"),
    ]


def test_a_long_line_is_wrapped_and_numbered_once() -> None:
    long = "x" * (WIDTH + 3)

    assert side_by_side([long], ["y"]) == [row("1", "x" * WIDTH, "|", "1", "y"), row("", "xxx", "|", "", "")]


def test_nothing_beside_nothing_is_nothing() -> None:
    assert side_by_side([], []) == []
