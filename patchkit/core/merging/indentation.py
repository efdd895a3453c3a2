"""Indenting a statement anew: where its lines begin, and not what its strings say."""

from __future__ import annotations

import re
from typing import Final

from patchkit.core.merging.words import STRING

_STRING_OR_COMMENT: Final = re.compile(rf"(?P<string>{STRING})|\#[^\n]*", re.DOTALL)


def indented(text: str, columns: int) -> str:
    """Return a statement with ``columns`` more (or less, as far as there are any) before each of its lines.

    A line that begins inside of a string says something there, and is left as it is.
    """
    if not columns:
        return text
    if "\n" not in text:
        return _indented(text, columns)
    inside = _inside(text)
    return "\n".join(line if row in inside else _indented(line, columns) for row, line in enumerate(text.split("\n")))


def _inside(text: str) -> set[int]:
    """Return the lines, as numbers from 0, that begin inside of a string."""
    rows: set[int] = set()
    if '"""' in text or "'''" in text or "\\" in text:
        for match in _STRING_OR_COMMENT.finditer(text):
            if match.lastgroup and (height := match[0].count("\n")):
                first = text.count("\n", 0, match.start()) + 1
                rows.update(range(first, first + height))
    return rows


def _indented(line: str, columns: int) -> str:
    if not line.strip():
        return line
    if columns > 0:
        return " " * columns + line
    return line[min(-columns, len(line) - len(line.lstrip(" "))) :]
