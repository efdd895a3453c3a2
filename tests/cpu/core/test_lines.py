from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from patchkit.core.lines import LineIndex, split_lines

from .texts import texts


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [b"\n"]),
        (b"a", [b"a"]),
        (b"a\n", [b"a\n"]),
        (b"a\n\nb", [b"a\n", b"\n", b"b"]),
        (b"a\r\nb\r\n", [b"a\r\n", b"b\r\n"]),
        (b"a\rb\n", [b"a\rb\n"]),
        (b"a\x0cb\x0b\x1c\x85\xe2\x80\xa8\n", [b"a\x0cb\x0b\x1c\x85\xe2\x80\xa8\n"]),
    ],
    ids=["empty", "blank", "no newline", "newline", "blank inside", "crlf", "lone return", "other separators"],
)
def test_a_text_is_split_at_line_feeds_alone_and_endings_are_kept(content: bytes, lines: list[bytes]) -> None:
    assert lines == split_lines(content)


@settings(deadline=None)
@given(st.one_of(texts(), st.binary()))
def test_lines_join_to_the_text_they_came_from(content: bytes) -> None:
    lines = split_lines(content)

    assert content == b"".join(lines)
    assert [1] * len(lines[:-1]) == [line.count(b"\n") for line in lines[:-1]]


@given(
    st.lists(st.sampled_from([b"a\n", b"b\n", b"\n"]), max_size=12),
    st.lists(st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), max_size=3)),
)
@example([b"a\n", b"a\n", b"b\n"], [[b"a\n"], [b"a\n", b"b\n"]])
def test_lines_are_found_wherever_they_stand_however_often_one_asks(
    lines: list[bytes], asked: list[list[bytes]]
) -> None:
    index = LineIndex(lines)
    for old in asked:
        ends = range(len(lines) - len(old) + 1)
        assert index.places(old) == [at for at in ends if lines[at : at + len(old)] == old]
