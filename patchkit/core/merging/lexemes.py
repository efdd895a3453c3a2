"""Python text as lexemes and logical lines, for merging: nothing is lost, and partial or broken code is read as well.

``ast`` and ``tokenize`` refuse what does not parse, and the sides of a conflict often do not. This lexer never refuses;
whether a merged text is Python at all is for the gates to say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import msgspec

from patchkit.core.merging.indentation import indented
from patchkit.core.merging.words import NO_CALLEES, STRING, Lexeme, key, lexemes, words

__all__ = ["NO_CALLEES", "Lexeme", "LineKind", "LogicalLine", "homes", "lex"]


class LineKind(Enum):
    """What a logical line is."""

    CODE = "code"
    COMMENT = "comment"
    TEXT = "text"
    """A line of a string that stands alone, such as a docstring; each physical line is one."""


class LogicalLine(msgspec.Struct, gc=False, eq=False):
    """A statement, the header of a compound statement, a comment or a line of text, with its physical lines.

    Thousands of them are remembered and none is part of a cycle, so the garbage collector has nothing to do with them.
    """

    kind: LineKind
    blank: str
    """The blank lines before it."""
    text: str
    """From the indentation to the last character before the line ending."""
    first: int
    """0-based physical line of the first character (after the blank lines)."""
    end: str
    """The line ending; empty at the end of a file without one."""
    is_inside: bool = False
    """Whether it is a line of text that begins inside of its string, as all but the first one do."""
    is_docstring: bool = False
    """Whether that string is a docstring: the first statement of a class, a function or the text."""
    # Filled when asked for.
    _key: str | None = None
    _lexemes: list[Lexeme] | None = None
    _words: tuple[str, ...] | None = None
    _indent: int = -1
    _definition: tuple[str, str] | bool | None = False

    @property
    def key(self) -> str:
        """What is compared: equal for lines that differ in form alone (space, line joins, quotes, last commas)."""
        if self._key is None:
            self._key = key(self.text) if self.kind is LineKind.CODE else " ".join(self.text.split())
        return self._key

    @property
    def lexemes(self) -> list[Lexeme]:
        """Its words, operators, strings and comments."""
        if self._lexemes is None:
            if self.kind is LineKind.CODE:
                self._lexemes = lexemes(self.text)
            else:
                self._lexemes = [Lexeme(match[1], match[2], match[2]) for match in _WORD.finditer(self.text)]
        return self._lexemes

    @property
    def words(self) -> tuple[str, ...]:
        """The keys of the lexemes."""
        if self._words is None:
            self._words = tuple(words(self.text) if self.kind is LineKind.CODE else self.text.split())
        return self._words

    @property
    def indent(self) -> int:
        """Width of the indentation in columns; a tab goes to the next multiple of eight, as Python counts."""
        if self._indent < 0:
            head = self.text[: len(self.text) - len(self.text.lstrip(" \t\f"))]
            self._indent = len(head.expandtabs(8))
        return self._indent

    @property
    def full(self) -> str:
        """The whole, blank lines and ending included."""
        return self.blank + self.text + self.end

    @property
    def definition(self) -> tuple[str, str] | None:
        """``("def" | "class", name)`` for the header of a definition."""
        if isinstance(self._definition, bool):
            match = _DEFINITION.match(self.text) if self.kind is LineKind.CODE else None
            self._definition = (match[1], match[2]) if match else None
        return self._definition

    @property
    def opens(self) -> bool:
        """Whether a block begins behind it."""
        return self.kind is LineKind.CODE and self.text.rstrip().endswith(":")

    def indented(self, columns: int) -> LogicalLine:
        """Return the line with ``columns`` more (or less) of indentation, also where it is one of a string."""
        return self.having(indented(self.text, columns)) if columns else self

    def moved(self, columns: int) -> LogicalLine:
        """Return the line as its statement goes ``columns`` deeper: of strings only docstrings go along."""
        return self if self.is_inside and not self.is_docstring else self.indented(columns)

    def having(self, text: str) -> LogicalLine:
        """Return the line with another text."""
        return LogicalLine(self.kind, self.blank, text, self.first, self.end, self.is_inside, self.is_docstring)

    def at(self, first: int) -> LogicalLine:
        """Return the same line at another row; what is asked of many lines is found once for both."""
        line = LogicalLine(self.kind, self.blank, self.text, first, self.end, self.is_inside, self.is_docstring)
        line._key, line._indent, line._definition = self.key, self.indent, self.definition
        return line

    @property
    def is_import(self) -> bool:
        """Whether it is an import statement."""
        return self.kind is LineKind.CODE and _IMPORT.match(self.text) is not None


_DEFINITION = re.compile(r"\s*(?:async\s+)?(def|class)\s+(\w+)")
_IMPORT = re.compile(r"\s*(?:import|from)\b")
_WORD = re.compile(r"(\s*)(\S+)")
_LANDMARK = re.compile(
    # What stands between landmarks is passed over in one step, since all of them would be tried at every character.
    rf"[^\"'#\\\n()\[\]{{}}]*"
    rf"(?:(?P<string>{STRING})|(?P<comment>\#[^\n]*)|(?P<joined>\\\r?\n)"
    # A statement that begins although a bracket is open: a slip, or a conflict cut it off.
    rf"|(?P<fresh>\n(?=(?:class|def|async def|@\w|import|from|return|assert|raise|del)\b))"
    # Whatever stopped it is passed over as well, and so is the end of the text: it is never gone back over.
    r"|(?P<newline>\n)|(?P<open>[(\[{])|(?P<close>[)\]}])|[\"'\\]|\Z)",
    re.DOTALL,
)


class Lexed(NamedTuple):
    """The logical lines of a text or of a part of one."""

    lines: list[LogicalLine]
    """What is often there is one object wherever it stands, with another ``first``."""
    firsts: list[int]
    """For each line the 0-based physical line of its first character."""
    is_closed: bool
    """Whether the last line ends where the text does, and could not go on behind it."""


def lex(text: str) -> Lexed:
    """Cut a source into logical lines."""
    lines: list[LogicalLine] = []
    firsts: list[int] = []
    begin = at = row = 0  # begin: with the blank lines before
    while end := text.find("\n", at) + 1:
        physical = text[at:end]
        if not physical.isspace():
            known = _whole(physical) if end - at <= _LONGEST else None
            if known is not None and begin == at:
                lines.append(known)
                firsts.append(row)
                row += 1
            else:
                end = end if known is not None else _end(text, at)
                if not end:
                    break
                new, row = _cut_off(text, (begin, end - 1, end), row, lines)
                lines += new
                firsts += [line.first for line in new]
            begin = end
        at = end
    if text[begin:].strip():
        # Something is open up to the end of the text; its last newline is the line's ending all the same.
        new, row = _cut_off(text, (begin, len(text.removesuffix("\n")), len(text)), row, lines)
        lines += new
        firsts += [line.first for line in new]
    elif begin < len(text):
        firsts.append(row + text.count("\n", begin))
        lines.append(LogicalLine(LineKind.TEXT, text[begin:], "", firsts[-1], ""))
    return Lexed(lines, firsts, begin == len(text))


_LONGEST = 400
"""Characters of a physical line up to which it is remembered, so that what is held is bounded."""


@lru_cache(maxsize=32_768)
def _whole(physical: str) -> LogicalLine | None:
    """Return a physical line that is a logical one wherever it stands, at row 0; else None."""
    if _end(physical, 0) != len(physical):
        return None
    ending = "\r\n" if physical.endswith("\r\n") else "\n"
    body = physical[: -len(ending)]
    kind = LineKind.COMMENT if body.lstrip(" \t\f").startswith("#") else LineKind.CODE
    return LogicalLine(kind, "", body, 0, ending)


def _end(text: str, at: int) -> int:
    """Return where the logical line that begins at ``at`` ends, its line ending included; 0: with the text."""
    depth = 0
    for match in _LANDMARK.finditer(text, at):
        group = match.lastgroup
        if group == "newline":
            if not depth:
                return match.end()
        elif group == "fresh":
            return match.end()
        elif group == "open":
            depth += 1
        elif group == "close" and depth:
            depth -= 1
    return 0


def homes(lines: Sequence[LogicalLine]) -> list[tuple[int, ...]]:
    """Return for each line the headers (as positions) of the classes and functions around it, the outermost first.

    A header and its decorators count as inside of what they begin.
    """
    found: list[tuple[int, ...]] = []
    around: list[tuple[int, tuple[int, ...]]] = [(-1, ())]  # indentation of the innermost header, and all headers
    decorated: list[int] = []
    for number, line in enumerate(lines):
        if line.kind is not LineKind.CODE:
            found.append(around[-1][1])
            continue
        indent = line.indent
        while around[-1][0] >= indent:
            around.pop()
        is_head = line.definition is not None
        if is_head:
            around.append((indent, (*around[-1][1], number)))
        found.append(around[-1][1])
        if "@" in line.text and line.text.lstrip().startswith("@"):
            decorated.append(number)
            continue
        if decorated:
            # A decorator belongs to what it decorates.
            for spot in decorated if is_head else ():
                found[spot] = found[number]
            decorated.clear()
    return found


_BLANK = re.compile(r"(?:[ \t\f\r]*\n)*")


def _cut_off(
    text: str, place: tuple[int, int, int], row: int, before: Sequence[LogicalLine]
) -> tuple[list[LogicalLine], int]:
    """Return the logical line from ``begin`` to ``at`` (with its ending: ``after``), or several, and the row after.

    ``before`` are the lines before it.
    """
    lines: list[LogicalLine] = []
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
        is_docstring = _begins_body(before, pieces[0])
        for number, piece in enumerate(pieces):
            is_last = number == len(pieces) - 1
            if piece.strip() or is_last:
                ending = end if is_last else "\n"
                lines.append(LogicalLine(LineKind.TEXT, blank, piece, row, ending, number > 0, is_docstring))
                blank = ""
            else:
                blank += piece + "\n"
            row += 1
        return lines, row
    lines.append(LogicalLine(kind, blank, body, row, end))
    return lines, row + body.count("\n") + (1 if end else 0)


def _begins_body(before: Sequence[LogicalLine], text: str) -> bool:
    """Tell whether a statement is the first one in its class or function, or in the text."""
    head = next((line for line in reversed(before) if line.kind is not LineKind.COMMENT), None)
    return head is None or (head.definition is not None and head.indent < len(text) - len(text.lstrip(" \t\f")))


_DOCSTRING = re.compile(rf"[rRbBuUfF]{{0,2}}{STRING}\s*", re.DOTALL)
