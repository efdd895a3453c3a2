from __future__ import annotations

import pytest

from patchkit.core.remembered import forget, remembered


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        # Each text once.
        ("a b a b", "a b"),
        # The younger half takes the place of the older one when it is full; what is asked for stays.
        ("aa bb cc dd ee aa", "aa bb cc dd ee aa"),
        ("aa bb cc aa dd ee aa", "aa bb cc dd ee"),
        # What is longer than half of all is read each time, and drives nothing out.
        ("aa bbbbb bbbbb aa", "aa bbbbb bbbbb"),
        ("aaaa aaaa", "aaaa"),
    ],
)
def test_a_text_is_read_again_when_it_has_made_room(asked: str, read: str) -> None:
    seen: list[str] = []

    @remembered(most=8)
    def upper(text: str) -> str:
        seen.append(text)
        return text.upper()

    assert [upper(text) for text in asked.split()] == asked.upper().split()
    assert seen == read.split()


def test_nothing_is_a_result_too() -> None:
    seen: list[bytes] = []

    @remembered(most=8)
    def nothing(text: bytes) -> None:
        seen.append(text)

    nothing(b"a")
    nothing(b"a")
    assert seen == [b"a"]


def test_several_texts_are_told_apart_by_all_of_them_and_count_together() -> None:
    seen: list[tuple[str, str, bool]] = []

    @remembered(most=8)
    def joined(one: str, two: str, *, upper: bool = False) -> str:
        seen.append((one, two, upper))
        return (one + two).upper() if upper else one + two

    asked = [("a", "b", False), ("ab", "", False), ("a", "b", True), ("a", "b", False)]
    assert [joined(one, two, upper=upper) for one, two, upper in asked[:4]] == ["ab", "ab", "AB", "ab"]
    assert seen == asked[:3]
    # Five characters are more than half of eight.
    assert [joined("aaa", "bb"), joined("aaa", "bb")] == ["aaabb", "aaabb"]
    assert seen[3:] == [("aaa", "bb", False)] * 2


def test_what_does_not_last_is_forgotten_once_and_everything_else_stays() -> None:
    seen: list[str] = []

    @remembered(most=20, lasting=False)
    def tree(text: str) -> str:
        seen.append(f"tree of {text}")
        return text.upper()

    @remembered(most=20)
    def fact(text: str) -> int:
        seen.append(f"fact of {text}")
        return len(text)

    for _ in range(4):
        assert [tree("a"), tree("a"), fact("a")] == ["A", "A", 1]
        forget()
    # The second time shows that it is one to keep.
    assert seen == ["tree of a", "fact of a", "tree of a"]
    tree("b")
    forget()
    tree("a")
    assert seen[3:] == ["tree of b"]
