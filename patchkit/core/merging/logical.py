"""The logical lines of a text, cut piece by piece so that texts share what they have in common.

The sides of a merge, their windows and the versions of a file have nearly all functions in common. A piece goes from
one definition to the next, wherever it is indented. Where the last line of a piece goes on behind it, by a string or a
bracket that is open, it is read together with the next piece: so the lines are those of the text read as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from patchkit.core.merging.lexemes import Lexed, LogicalLine, lex
from patchkit.core.remembered import remembered

_DEFINITION: Final = re.compile(r"\n[ \t]*(?:async def|def|class) ")
_BLANK: Final = " \t\f\r\n"


class Cut(NamedTuple):
    """The logical lines of a text. They are shared with other texts, so that ``first`` is not a row of this one."""

    lines: list[LogicalLine]
    rows: list[int]
    """For each line the 0-based physical line of its first character, behind the blank lines."""
    keys: list[str]
    """The keys of the lines."""

    def physical(self, begin: int, end: int) -> tuple[int, int]:
        """Return the physical lines of the lines ``[begin, end)``; an empty range is the place before ``begin``."""
        if begin < end:
            return self.rows[begin], self._below(end - 1)
        if begin < len(self.lines):
            # Blank lines belong to it: a line merge may have slid the place over them.
            return self.rows[begin] - self.lines[begin].blank.count("\n"), self.rows[begin]
        place = self._below(-1) if self.lines else 0
        return place, place

    def _below(self, at: int) -> int:
        # A string that is never closed takes the last line ending of the text with it, and blank lines at the end are a
        # line without a text: neither has a physical line behind its last line ending.
        line = self.lines[at]
        return self.rows[at] + line.text.count("\n") + bool(line.end or line.text.rpartition("\n")[2])


class _Piece(NamedTuple):
    lexed: Lexed
    keys: list[str]
    height: int
    """Physical lines."""


@remembered(most=2_000_000)
def cut_lines(text: str) -> Cut:
    """Cut a source into logical lines, as ``logical_lines`` does; shared: nobody may change the lists."""
    lines: list[LogicalLine] = []
    rows: list[int] = []
    keys: list[str] = []
    row = begin = least = 0
    for end in _ends(text):
        if end < least:
            continue
        piece = _piece(text[begin:end])
        if not piece.lexed.is_closed and end < len(text):
            # Twice as much is read the next time, since what is open may be so up to the end of the text.
            least = min(begin + 2 * (end - begin), len(text))
            continue
        lines += piece.lexed.lines
        keys += piece.keys
        rows += map(row.__add__, piece.lexed.firsts)
        row, begin = row + piece.height, end
    return Cut(lines, rows, keys)


def logical_lines(text: str) -> list[LogicalLine]:
    """Cut a source into logical lines; joining their ``full`` texts gives the text back.

    Blank lines at the end of the text become a last line of kind TEXT with an empty text.
    """
    return [line if line.first == row else line.at(row) for line, row in zip(*cut_lines(text)[:2], strict=True)]


# Its lines take some ten times the memory of a text.
@remembered(most=4_000_000)
def _piece(text: str) -> _Piece:
    lexed = lex(text)
    return _Piece(lexed, [line.key for line in lexed.lines], text.count("\n"))


def _ends(text: str) -> Iterator[int]:
    """Yield where pieces may end: before a definition and the blank lines above it, and at the end of the text."""
    for match in _DEFINITION.finditer(text):
        end = match.start() + 1
        while end and not text[(start := text.rfind("\n", 0, end - 1) + 1) : end].strip(_BLANK):
            end = start
        if end:
            yield end
    if text:
        yield len(text)
