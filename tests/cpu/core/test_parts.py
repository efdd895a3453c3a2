from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.carry import carry_file
from patchkit.core.lines import bare_lines, lines_of, split_lines
from patchkit.core.parts import Part, of_part, parts_of

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


def test_a_file_that_is_longer_than_what_is_remembered_is_cut_once_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[bytes] = []
    make = Part.__init__

    def noted(part: Part, text: bytes) -> None:
        made.append(text)
        make(part, text)

    monkeypatch.setattr(Part, "__init__", noted)
    base = b"".join(b"def long_%d():\n    return '%s'\n" % (number, b"x" * 3_000) for number in range(400))
    changed, target = base.replace(b"long_7():", b"long_7(a):"), base.replace(b"long_9():", b"long_9(b):")

    carry_file(base, changed, target, "long.py")

    assert sorted(made) == sorted({*made})
