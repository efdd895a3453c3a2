from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.lines import bare_lines, lines_of, split_lines
from patchkit.core.parts import of_part, parts_of

from .programs import programs
from .texts import texts


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", [b""]),
        (b"x = 1\n", [b"x = 1\n"]),
        (b"def f(): pass", [b"def f(): pass"]),
        (
            b"import a\n\nclass C:\n    def f(self): pass\nx = 1\nasync def g(): pass\n",
            [b"import a\n\n", b"class C:\n    def f(self): pass\nx = 1\n", b"async def g(): pass\n"],
        ),
        (b"default = 1\nclassic = 2\n@d\ndef\tf(): pass\n", [b"default = 1\nclassic = 2\n@d\n", b"def\tf(): pass\n"]),
    ],
    ids=["empty", "no definition", "one definition", "margin only", "whole words only"],
)
def test_a_part_begins_with_each_class_or_function_at_the_margin(content: bytes, parts: list[bytes]) -> None:
    assert [part.text for part in parts_of(content)] == parts


@settings(deadline=None)
@given(st.one_of(texts(), programs(), st.binary()))
def test_the_lines_of_the_parts_are_those_of_the_text(content: bytes) -> None:
    assert b"".join(part.text for part in parts_of(content)) == content
    assert list(lines_of(content)) == split_lines(content)
    assert list(bare_lines(content)) == content.split(b"\n")


def test_what_a_part_says_is_found_once_for_all_texts_that_have_it() -> None:
    seen: list[bytes] = []

    @of_part
    def length(text: bytes) -> int:
        seen.append(text)
        return len(text)

    one, two = b"import a\ndef f(): pass\ndef g(): pass\n", b"import b\ndef f(): pass\ndef h(): pass\n"
    assert [[length(part) for part in parts_of(text)] for text in (one, two, one)] == [[9, 14, 14]] * 3
    assert seen == [b"import a\n", b"def f(): pass\n", b"def g(): pass\n", b"import b\n", b"def h(): pass\n"]
