from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from patchkit.core.merging import lexemes
from patchkit.core.merging.lexemes import LineKind, LogicalLine, lex
from patchkit.core.merging.logical import cut_lines, logical_lines

from ..programs import programs

SNIPPETS = (
    "def f(a,\n      b):\n",
    "    def g():\n",
    "async def h(): pass\n",
    "    return a\n",
    "x = [\n    1,\n]\n",
    "# comment\n",
    "'''doc\n\nstring'''\n",
    '"""one line"""\n',
    "s = 'it''s' \\\n    + \"b\"\n",
    "print >>f, 'python 2'\n",
    "\n",
    "  \t\n",
    "\x0c\n",
    "class C(\n",
    ")]}\n",
    "'open\n",
    '"""open\n',
    "crlf()\r\n",
    "lone\rreturn\n",
    "<<<<<<< ours\n",
    "=======\n",
    ">>>>>>> theirs\n",
    "\ttabs()\n",
    "no newline",
    "\\",
    "\udcff\n",
    "\u2028\n",
    "@decorated\n",
)

_any_text = st.one_of(st.text(), st.lists(st.sampled_from(SNIPPETS)).map("".join))


@given(_any_text)
@example("a = (\n")
@example("\n\n")
@example("a\\\n")
@example("'''")
def test_the_lines_joined_are_the_text(text: str) -> None:
    assert text == "".join(line.full for line in logical_lines(text))


@given(_any_text)
def test_each_line_stands_where_it_says(text: str) -> None:
    row = 0
    for line in logical_lines(text):
        assert row + line.blank.count("\n") == line.first
        row += line.full.count("\n")


@given(_any_text)
@example("x = (\na\n)\n")
@example("\n\x0c\na\n")
@example("x = (\na\n\n  def f(\n)\n")
@example("s = '''\ndef f():\n\n\ndef g():\n'''\n\n    def h():\n\n")
@example("\n\n\x0c\ndef f():\n\u2028\n  \ndef g(): \\\ndef h():\n")
def test_lines_cut_piece_by_piece_or_seen_before_are_those_of_the_whole_text(text: str) -> None:
    seen, cut = logical_lines(text), cut_lines(text)
    with patch.object(lexemes, "_whole", lambda _: None):
        fresh = lex(text).lines

    expected = [(line.kind, line.blank, line.text, line.first, line.end) for line in fresh]
    assert [(line.kind, line.blank, line.text, line.first, line.end) for line in seen] == expected
    found = zip(cut.lines, cut.rows, strict=True)
    assert [(line.kind, line.blank, line.text, row, line.end) for line, row in found] == expected


@given(programs().map(bytes.decode))
def test_the_words_of_a_line_joined_are_the_line(text: str) -> None:
    for line in logical_lines(text):
        said = "".join(lexeme.space + lexeme.text for lexeme in line.lexemes)
        assert line.text.rstrip() == said.rstrip()


def one(text: str) -> LogicalLine:
    """The only logical line of a text."""
    (line,) = logical_lines(text)
    return line


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("f(a, b)", "f(\n    a,\n    b,\n)"),
        ("x = a + b", "x = a \\\n    + b"),
        ("x = 'a'", 'x = "a"'),
        ("    deep(a)", "deep(a)"),
        ("x=1", "x = 1"),
        ("# a  comment", "#  a comment"),
    ],
)
def test_formatting_does_not_count(first: str, second: str) -> None:
    assert one(first).key == one(second).key


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x = 'a'", "x = 'b'"),
        ("f(a, b)", "f(b, a)"),
        ("# a comment", "# another"),
        ("x = 1", "x == 1"),
        # What stands in a string is no formatting.
        ('x = "a b"', 'x = "ab"'),
        (r'x = "\d"', 'x = "d"'),
        ('x = "it\'s"', "x = 'it\"s'"),
        # The comma of a list of one.
        ("x = (1,)", "x = (1)"),
        ("x = y[1,]", "x = y[1]"),
    ],
)
def test_what_is_said_counts(first: str, second: str) -> None:
    assert one(first).key != one(second).key


def test_statements_comments_and_text_are_lines_of_their_own() -> None:
    text = 'def f(\n    a,\n):\n    """Do it.\n\n    Well.\n    """\n\n    # why\n    return (a +\n        1)\n'

    lines = logical_lines(text)

    assert [(line.kind, line.blank, line.text, line.first) for line in lines] == [
        (LineKind.CODE, "", "def f(\n    a,\n):", 0),
        (LineKind.TEXT, "", '    """Do it.', 3),
        (LineKind.TEXT, "\n", "    Well.", 5),
        (LineKind.TEXT, "", '    """', 6),
        (LineKind.COMMENT, "\n", "    # why", 8),
        (LineKind.CODE, "", "    return (a +\n        1)", 9),
    ]


def test_of_a_string_that_stands_alone_it_is_known_where_it_begins_and_whether_it_is_a_docstring() -> None:
    text = (
        'def f():\n    # why\n    """Do it.\n    """\n    """Not\n    this."""\n'
        'class C:\n    a = 1\n    """Nor\n    that."""\n'
    )

    lines = logical_lines(text)

    assert [(line.text, line.is_inside, line.is_docstring) for line in lines if line.kind is LineKind.TEXT] == [
        ('    """Do it.', False, True),
        ('    """', True, True),
        ('    """Not', False, False),
        ('    this."""', True, False),
        ('    """Nor', False, False),
        ('    that."""', True, False),
    ]
    assert [line.moved(2).text for line in lines if line.is_inside] == ['      """', '    this."""', '    that."""']


def test_a_string_that_a_backslash_goes_on_with_is_one_whatever_the_line_endings() -> None:
    assert [line.text for line in logical_lines("a = 'b\\\r\n  c'\r\nd\r\n")] == ["a = 'b\\\r\n  c'", "d"]


def test_a_bracket_that_is_never_closed_ends_where_a_statement_begins() -> None:
    lines = logical_lines("x = f(\n    a,\ndef g():\n    pass\n")

    assert [line.text for line in lines] == ["x = f(\n    a,", "def g():", "    pass"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = f(\n    a,\n", [("x = f(\n    a,", "\n")]),
        ("x = f(\r\n    a,\r\n", [("x = f(\r\n    a,", "\r\n")]),
        ("x = f(\n    a,", [("x = f(\n    a,", "")]),
        ("x = f(\n\n\n", [("x = f(\n\n", "\n")]),
        ('x = """\n', [('x = """', "\n")]),
    ],
    ids=["bracket", "bracket, crlf", "bracket without newline", "bracket and blank lines", "string"],
)
def test_the_last_newline_is_the_ending_also_of_a_line_that_is_open_to_the_end(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert expected == [(line.text, line.end) for line in logical_lines(text)]


@pytest.mark.parametrize(
    ("text", "indent", "definition", "is_import"),
    [
        ("    def f(self): ...", 4, ("def", "f"), False),
        ("\tclass C:", 8, ("class", "C"), False),
        ("   \tasync def g():", 8, ("def", "g"), False),
        ("from a import b", 0, None, True),
        ("importer()", 0, None, False),
        ("defined = 1", 0, None, False),
        ("# def f():", 0, None, False),
    ],
)
def test_what_a_line_is(text: str, indent: int, definition: tuple[str, str] | None, is_import: bool) -> None:
    line = one(text)

    assert (indent, definition, is_import) == (line.indent, line.definition, line.is_import)


def test_carriage_returns_belong_to_the_ending() -> None:
    assert [(line.text, line.end) for line in logical_lines("a\nb")] == [("a", "\n"), ("b", "")]
    assert "".join(line.full for line in logical_lines("a\r\nb\r\n")) == "a\r\nb\r\n"
    assert [line.text for line in logical_lines("a\r\nb\r\n")] == ["a", "b"]
