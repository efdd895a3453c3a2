from __future__ import annotations

import pytest

from patchkit.core.remembered import remembered


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
