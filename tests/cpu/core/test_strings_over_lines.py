"""What a string says over several lines stays as one of the sides has it, however deep its statement comes to be."""

from __future__ import annotations

import ast
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit import carry_file

LAW = settings(deadline=None)

MANNERS = (
    "{pad}a_{name} = call({number})\n",
    '{pad}run_{name}("""\n{text}""", k={number})\n',
    "{pad}t_{name} = f'''\n{text}''' % {number}\n",
    '{pad}u_{name} = b"one\\\n{line}", {number}\n',
    '{pad}v_{name} = call(\n{pad}    {number},\n{pad}    r"""\n{text}""",\n{pad})\n',
    "{pad}w_{name} = {number} + \\\n{pad}    2\n",
)
TEXT_LINES = ("raw", "  x", "    deep", "# no comment", "it's", "import os", "")


class Statement(NamedTuple):
    """A statement with a number and a string in it, apart from how deep it is."""

    manner: str
    name: str
    number: int
    text: tuple[str, ...]

    def at(self, pad: str) -> str:
        """Write it behind ``pad``; its string is no deeper for that."""
        text = "".join(f"{line}\n" for line in self.text)
        return self.manner.format(pad=pad, name=self.name, number=self.number, text=text, line=self.text[0])

    def with_deeper_text(self) -> Statement:
        """The same with its text indented, as an editor does that takes no heed of strings."""
        return self._replace(text=tuple(f"    {line}" if line else line for line in self.text))


def written(body: list[Statement], begin: int, end: int) -> bytes:
    """A function of statements, of which those of ``[begin, end)`` are in a block."""
    lines = ["def f(x):\n"]
    for at, statement in enumerate(body):
        if at == begin < end:
            lines.append("    with x:\n")
        lines.append(statement.at("        " if begin <= at < end else "    "))
    return "".join(lines).encode()


@st.composite
def statements(draw: st.DrawFn, name: str) -> Statement:
    """A statement of its own name."""
    text = tuple(draw(st.lists(st.sampled_from(TEXT_LINES), min_size=1, max_size=3)))
    return Statement(draw(st.sampled_from(MANNERS)), name, draw(st.integers(10, 99)), text)


class Case(NamedTuple):
    """One side wraps, the other edits; and what both make."""

    base: bytes
    wraps: bytes
    edits: bytes
    both: bytes | None
    """None where both sides changed one string, or one inserts at the edge of the block."""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A function, a block around some of its statements, and an edit of one statement in it or a new one there."""
    body = [draw(statements(f"n{number}")) for number in range(draw(st.integers(2, 6)))]
    begin = draw(st.integers(0, len(body) - 1))
    end = draw(st.integers(begin + 1, len(body)))
    wrapped = list(body)
    if draw(st.booleans()):
        wrapped[begin:end] = [each.with_deeper_text() for each in body[begin:end]]
    edited, both = list(body), list(wrapped)
    kind = draw(st.sampled_from(["number", "text", "insertion"]))
    at = draw(st.integers(0, len(body) - (kind != "insertion")))
    first, last, is_clear = begin, end, True
    if kind == "insertion":
        new = draw(statements("new"))
        edited.insert(at, new)
        both.insert(at, new)
        # At the edge of the block nobody said whether it goes in.
        first, last, is_clear = begin + (at < begin), end + (at < end), at not in (begin, end)
    elif kind == "number":
        edited[at] = body[at]._replace(number=7)
        both[at] = wrapped[at]._replace(number=7)
    else:
        edited[at] = both[at] = body[at]._replace(text=("other", *body[at].text[1:]))
        is_clear = wrapped[at] == body[at]
    made = written(both, first, last) if is_clear else None
    return Case(written(body, 0, 0), written(wrapped, begin, end), written(edited, 0, 0), made)


def constants(source: bytes) -> set[object]:
    """The strings and bytes that a source has."""
    nodes = ast.walk(ast.parse(source))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)}


@LAW
@given(cases())
def test_a_block_around_statements_and_an_edit_of_one_leave_strings_as_a_side_has_them(case: Case) -> None:
    for changed, target in ((case.edits, case.wraps), (case.wraps, case.edits)):
        result = carry_file(case.base, changed, target, "x.py")

        if result.content is not None:
            assert constants(result.content) <= constants(case.wraps) | constants(case.edits)
            if case.both is not None:
                assert ast.dump(ast.parse(result.content)) == ast.dump(ast.parse(case.both))
