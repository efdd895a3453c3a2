from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from patchkit.core.lines import split_lines
from patchkit.core.merging.surroundings import Outline

from ..programs import programs
from ..texts import texts

TEXT = b'''\
import os

class C(
    Base,
):
    """Doc.

    More of it.
    """

    x = 1

    @property
    def f(self,
        a,
    ):
        if a:
            return 1

        async def inner():
            pass
# a comment at the margin
        return 2

    def g(self):
        pass

def h():
    pass
y = 2
'''


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (1, "<module>"),
        (3, "C"),
        (10, "C"),
        (14, "C.f"),
        (18, "C.f"),
        (21, "C.f.inner"),
        # A comment at the margin does not end a block, nor does the bracket that closes a header.
        (23, "C.f"),
        (26, "C.g"),
        (29, "h"),
        (30, "<module>"),
    ],
)
def test_the_scope_of_a_line(line: int, expected: str) -> None:
    assert expected == Outline(split_lines(TEXT)).scope(line - 1, line)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        # An insertion belongs where the line before it does, blank lines aside.
        (1, "<module>"),
        (19, "C.f"),
        (27, "C.g"),
        (28, "C.g"),
        (31, "<module>"),
    ],
)
def test_the_scope_of_an_insertion(before: int, expected: str) -> None:
    assert expected == Outline(split_lines(TEXT)).scope(before - 1, before - 1)


def test_an_empty_text_is_all_module() -> None:
    assert Outline([]).scope(0, 0) == "<module>"


def test_tabs_go_to_multiples_of_eight() -> None:
    lines = split_lines(b"class C:\n\tdef f(self):\n\t    x = 1\n        y = 2\n")

    assert [Outline(lines).scope(row, row + 1) for row in range(4)] == ["C", "C.f", "C.f", "C"]


def test_a_header_deeper_than_python_can_go_is_none() -> None:
    deep = [b" " * level + b"def f%d():\n" % level for level in range(120)]
    lines = [*deep, b"def g():\n", b"    return 1\n"]

    found = Outline(lines).names()

    assert [(line, name.count(".")) for line, name in found] == [*((level, level) for level in range(100)), (120, 0)]


def test_a_line_full_of_keywords_is_gone_through_once() -> None:
    # A search back to the beginning of the line from each of them would take minutes.
    lines = [b"x = '" + b"def class " * 1_000_000 + b"'\n", b"def f(): pass\n"]

    assert Outline(lines).names() == [(1, "f")]


def test_the_end_of_a_definition_is_the_next_statement_at_its_level() -> None:
    outline = Outline(split_lines(TEXT))

    (header,) = outline.around(2, 3)

    assert (header.name, outline.end(header)) == ("C", 27)


@settings(deadline=None)
@given(st.one_of(texts(), programs(), st.tuples(programs(), texts(), programs()).map(b"".join)))
@example(b"class C:\n    def f(self): pass\n    x = 1\n")
@example(b"def f():\n    pass\n  \ndef g():\n    def h():\n        pass\n    x = 1\n# c\n)\nclass C: pass")
def test_the_end_found_in_a_part_is_the_one_found_line_by_line(content: bytes) -> None:
    lines = split_lines(content.replace(b"\t", b"").replace(b"\x0c", b""))
    outline = Outline(lines)
    headers = {header for row in range(len(lines)) for header in outline.around(row, row + 1)}

    for header in headers:
        below = enumerate(lines[header.line + 1 :], start=header.line + 1)
        ends = (row for row, line in below if _width(line) <= header.width and not _goes_on(line))
        assert outline.end(header) == next(ends, len(lines))
    assert [line for line, _ in outline.names()] == [row for row, line in enumerate(lines) if _HEAD.match(line)]


@settings(deadline=None)
@given(st.one_of(programs(), st.tuples(programs(), texts(), programs()).map(b"".join)))
@example(b"class C:\n    def f(self): pass\n\n    def g(self):\n        x = 1\n    y = 2\n")
@example(b"\tdef f():\n        def g():\n\t    x = 1\n    def h():\n\ty = 2\n")
def test_around_a_line_is_every_definition_above_it_that_is_indented_less_and_goes_on(content: bytes) -> None:
    lines = split_lines(content)
    outline = Outline(lines)
    headers = [header for row in range(len(lines)) for header in outline.around(row, row + 1) if header.line == row]
    for row in range(len(lines)):
        if not lines[row].strip():
            continue
        expected = []
        width = len(lines[row][: len(lines[row]) - len(lines[row].lstrip(b" \t"))].expandtabs(8))
        below = row
        for header in reversed([header for header in headers if header.line <= row]):
            if header.line == row or (header.width < width and outline.end(header) > below):
                expected.append(header)
                below, width = header.line, header.width
        assert outline.around(row, row + 1) == expected[::-1]


_HEAD = re.compile(rb" *(?:async[ \t]+)?(?:def|class) +\w")


def _width(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" "))


def _goes_on(line: bytes) -> bool:
    return line.strip()[:1] in (b"", b")", b"]", b"}", b"#", b"'", b'"')
