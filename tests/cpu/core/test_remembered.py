from __future__ import annotations

import pytest

from patchkit.core.remembered import forget, remembered, room_for


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


def test_there_is_room_for_texts_at_hand_however_long_and_behind_the_block_for_no_more_than_before() -> None:
    seen: list[str] = []

    @remembered(most=8)
    def upper(text: str) -> str:
        seen.append(text)
        return text.upper()

    with room_for(b"ten bytes."):
        for text in ("twenty letters, all..", "ten letter", "aa", "bb", "twenty letters, all..", "ten letter"):
            upper(text)
    assert seen == ["twenty letters, all..", "ten letter", "aa", "bb"]
    # Of what was remembered the latest four letters are left.
    for text in ("ten letter", "twenty letters, all..", "bb", "aa"):
        upper(text)
    assert seen[4:] == ["ten letter", "twenty letters, all.."]


def test_rooms_add_up_and_end_whatever_a_block_raises() -> None:
    seen: list[str] = []

    @remembered(most=2)
    def upper(text: str) -> str:
        seen.append(text)
        return text.upper()

    with room_for(b"a"):
        with room_for(b"b", b"c"):
            upper("twelve chars")
            upper("twelve chars")
        with pytest.raises(KeyError), room_for(b"d"):
            raise KeyError
        upper("four")
        upper("four")
        upper("five.")
        upper("five.")
    upper("no")
    upper("no")
    assert seen == ["twelve chars", "four", "five.", "five.", "no", "no"]


def test_what_does_not_last_has_room_as_well() -> None:
    seen: list[str] = []

    @remembered(most=2, lasting=False)
    def tree(text: str) -> str:
        seen.append(text)
        return text.upper()

    with room_for(b"ten bytes."):
        tree("ten letter")
        tree("ten letter")
    tree("ten letter")
    assert seen == ["ten letter", "ten letter"]
