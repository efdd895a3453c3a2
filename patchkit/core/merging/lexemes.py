"""Python text as lexemes and logical lines, for merging: nothing is lost, and partial or broken code is read as well.

``ast`` and ``tokenize`` refuse what does not parse, and the sides of a conflict often do not. This lexer never refuses;
whether a merged text is Python at all is for the gates to say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import cached_property, lru_cache


class LineKind(Enum):
    """What a logical line is."""

    CODE = "code"
    COMMENT = "comment"
    TEXT = "text"
    """A line of a string that stands alone, such as a docstring; each physical line is one."""


class Lexeme:
    """A word, operator, string or comment, with the space before it."""

    __slots__ = ("key", "space", "text")

    def __init__(self, space: str, text: str, key: str) -> None:
        self.space = space
        self.text = text
        self.key = key
        """What is compared: the text without its manner of writing (quotes)."""


class LogicalLine:
    """A statement, the header of a compound statement, a comment or a line of text, with its physical lines."""

    def __init__(self, kind: LineKind, blank: str, text: str, first: int, end: str) -> None:
        self.kind = kind
        self.blank = blank
        """The blank lines before it."""
        self.text = text
        """From the indentation to the last character before the line ending."""
        self.first = first
        """0-based physical line of the first character (after the blank lines)."""
        self.end = end
        """The line ending; empty at the end of a file without one."""

    @cached_property
    def key(self) -> str:
        """What is compared: equal for lines that differ in form alone (space, line joins, quotes, last commas)."""
        if self.kind is not LineKind.CODE:
            return " ".join(self.text.split())
        return "\x1f".join(lexeme.key for lexeme in _telling(self.lexemes))

    @cached_property
    def lexemes(self) -> list[Lexeme]:
        """Its words, operators, strings and comments."""
        if self.kind is not LineKind.CODE:
            return [Lexeme(match[1], match[2], match[2]) for match in _WORD.finditer(self.text)]
        return [
            Lexeme(match["space"], text, _key(match.lastgroup, text))
            for match in _LEXEME.finditer(self.text)
            if (text := match[match.lastgroup or ""])
        ]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The keys of the lexemes."""
        return tuple(lexeme.key for lexeme in self.lexemes)

    @cached_property
    def indent(self) -> int:
        """Width of the indentation in columns; a tab goes to the next multiple of eight, as Python counts."""
        head = self.text[: len(self.text) - len(self.text.lstrip(" \t\f"))]
        return len(head.expandtabs(8))

    @property
    def full(self) -> str:
        """The whole, blank lines and ending included."""
        return self.blank + self.text + self.end

    @cached_property
    def definition(self) -> tuple[str, str] | None:
        """``("def" | "class", name)`` for the header of a definition."""
        match = _DEFINITION.match(self.text) if self.kind is LineKind.CODE else None
        return (match[1], match[2]) if match else None

    @property
    def opens(self) -> bool:
        """Whether a block begins behind it."""
        return self.kind is LineKind.CODE and self.text.rstrip().endswith(":")

    def indented(self, columns: int) -> LogicalLine:
        """Return the line with ``columns`` more (or less) of indentation."""
        if not columns:
            return self
        return LogicalLine(self.kind, self.blank, indented(self.text, columns), self.first, self.end)

    @property
    def is_import(self) -> bool:
        """Whether it is an import statement."""
        return self.kind is LineKind.CODE and _IMPORT.match(self.text) is not None


def indented(text: str, columns: int) -> str:
    """Return a text with ``columns`` more (or less, as far as there are any) before each of its lines."""
    if not columns:
        return text
    return "\n".join(_indented(line, columns) if line.strip() else line for line in text.split("\n"))


def _indented(line: str, columns: int) -> str:
    if columns > 0:
        return " " * columns + line
    return line[min(-columns, len(line) - len(line.lstrip(" "))) :]


_DEFINITION = re.compile(r"\s*(?:async\s+)?(def|class)\s+(\w+)")
_IMPORT = re.compile(r"\s*(?:import|from)\b")
_WORD = re.compile(r"(\s*)(\S+)")
_STRING = (
    r"(?:\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z)|'''(?:[^\\]|\\.)*?(?:'''|\Z)"
    r"|\"(?:[^\"\\\n]|\\.)*(?:\"|(?=\n)|\Z)|'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z))"
)
_LEXEME = re.compile(
    rf"(?P<space>(?:\s|\\\r?\n)*)(?:(?P<string>(?:\b[rRbBuUfFtT]{{1,2}})?{_STRING})|(?P<comment>\#[^\r\n]*)"
    r"|(?P<word>\w+(?:\.\d+)?)|(?P<op>\*\*=?|//=?|>>=?|<<=?|->|:=|[-+*/%@&|^=!<>]=|\.\.\.|\S))",
    re.DOTALL,
)
NO_CALLEES = frozenset(
    "and assert await elif else for if in is lambda not or return while yield".split()  # noqa: SIM905 - as a list it fills a page
)
"""Words before a bracket that is no call, parameter list or subscript of theirs."""


def _telling(lexemes: Sequence[Lexeme]) -> list[Lexeme]:
    """Leave out the commas before closing brackets that say nothing.

    ``(1,)`` is a tuple and ``x[1,]`` is indexed by one; everywhere else a last comma is a matter of form.
    """
    kept: list[Lexeme] = []
    # For each open bracket: whether one last comma alone would say something, and the commas so far.
    around: list[list[int]] = []
    for number, lexeme in enumerate(lexemes):
        if lexeme.text in ("(", "[", "{"):
            before = lexemes[number - 1].text if number else ""
            follows = bool(before) and (before[-1].isalnum() or before[-1] in "_)]\"'") and before not in NO_CALLEES
            around.append([follows if lexeme.text == "[" else lexeme.text == "(" and not follows, 0])
        elif lexeme.text in (")", "]", "}") and around:
            says, commas = around.pop()
            if kept[-1].text == "," and not (says and commas == 1):
                kept.pop()
        elif lexeme.text == "," and around:
            around[-1][1] += 1
        kept.append(lexeme)
    return kept


_LANDMARK = re.compile(
    rf"(?P<string>{_STRING})|(?P<comment>\#[^\n]*)|(?P<joined>\\\r?\n)|(?P<newline>\n)|(?P<open>[(\[{{])|(?P<close>[)\]}}])",
    re.DOTALL,
)


def logical_lines(text: str) -> list[LogicalLine]:
    """Cut a source into logical lines; joining their ``full`` texts gives the text back.

    Blank lines at the end of the text become a last line of kind TEXT with an empty text.
    """
    return list(_logical_lines(text))


@lru_cache(maxsize=12)
def _logical_lines(text: str) -> tuple[LogicalLine, ...]:
    # A window is read again as a part of the whole file, a file to see whether something moved; nobody changes a line.
    lines: list[LogicalLine] = []
    begin = row = depth = 0
    for match in _LANDMARK.finditer(text):
        group = match.lastgroup
        if group == "newline":
            if depth and not _begins_statement(text, match.end()):
                continue
            depth = 0
            if text[begin : match.start()].strip() == "" or text[begin : match.start()].lstrip("\r\n \t\f") == "":
                continue
            row = _emit(lines, text, (begin, match.start(), match.end()), row)
            begin = match.end()
        elif group == "open":
            depth += 1
        elif group == "close" and depth:
            depth -= 1
    if text[begin:].strip():
        row = _emit(lines, text, (begin, len(text), len(text)), row)
    elif begin < len(text):
        lines.append(LogicalLine(LineKind.TEXT, text[begin:], "", row + text.count("\n", begin), ""))
    return tuple(lines)


def homes(lines: Sequence[LogicalLine]) -> list[tuple[int, ...]]:
    """Return for each line the headers (as positions) of the classes and functions around it, the outermost first.

    A header and its decorators count as inside of what they begin.
    """
    found: list[tuple[int, ...]] = []
    around: list[tuple[int, int]] = []
    decorated: list[int] = []
    for number, line in enumerate(lines):
        if line.kind is LineKind.CODE:
            while around and around[-1][0] >= line.indent:
                around.pop()
            if line.definition is not None:
                around.append((line.indent, number))
        found.append(tuple(header for _, header in around))
        if line.kind is LineKind.CODE and line.text.lstrip().startswith("@"):
            decorated.append(number)
            continue
        if line.definition is not None:
            # A decorator belongs to what it decorates.
            for spot in decorated:
                found[spot] = found[number]
        if line.kind is LineKind.CODE:
            decorated.clear()
    return found


_STATEMENT = re.compile(r"(?:class|def|async def|@\w|import|from|return|assert|raise|del)\b")


def _begins_statement(text: str, at: int) -> bool:
    """Tell whether a statement begins here although a bracket is open: a slip, or a conflict cut it off."""
    return _STATEMENT.match(text, at) is not None


_BLANK = re.compile(r"(?:[ \t\f\r]*\n)*")


def _emit(lines: list[LogicalLine], text: str, place: tuple[int, int, int], row: int) -> int:
    """Append the logical line from ``begin`` to ``at`` (with its ending: ``after``); return the row after it."""
    begin, at, after = place
    match = _BLANK.match(text, begin, at)
    start = match.end() if match else begin
    blank = text[begin:start]
    row += blank.count("\n")
    if text[at - 1] == "\r":
        at -= 1
    body, end = text[start:at], text[at:after]
    stripped = body.lstrip(" \t\f")
    kind = LineKind.COMMENT if stripped.startswith("#") else LineKind.CODE
    if "\n" in body and _DOCSTRING.fullmatch(stripped):
        # Each line of a docstring is merged on its own.
        pieces = body.split("\n")
        for number, piece in enumerate(pieces):
            is_last = number == len(pieces) - 1
            if piece.strip() or is_last:
                lines.append(LogicalLine(LineKind.TEXT, blank, piece, row, end if is_last else "\n"))
                blank = ""
            else:
                blank += piece + "\n"
            row += 1
        return row
    lines.append(LogicalLine(kind, blank, body, row, end))
    return row + body.count("\n") + (1 if end else 0)


_DOCSTRING = re.compile(rf"[rRbBuUfF]{{0,2}}{_STRING}\s*", re.DOTALL)


def _key(group: str | None, text: str) -> str:
    # 'a' and "a" say the same when neither needs an escape.
    if group == "string" and text[-1:] == "'" and not text.endswith("'''") and '"' not in text:
        return text.replace("'", '"')
    return text
