"""Whether a line of a text begins inside of a string, told without cutting the text into statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final

from patchkit.core.merging.words import STRING

_QUOTES: Final = (b'"""', b"'''")
_STRING_OR_COMMENT: Final = re.compile(rf"(?P<string>{STRING})|#[^\n]*".encode(), re.DOTALL)


class Strings:
    """The strings of a text that go over several lines."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines

    def hold(self, row: int) -> bool:
        """Tell whether the 0-based line begins inside of one.

        Where as many quotes are opened as closed above it nothing is read but the line before.
        """
        if row and self._lines[row - 1].rstrip().endswith(b"\\"):
            # In quotes or not, the line goes on with the one before.
            return True
        begin = self._begins[row]
        if not any(self._text.count(quotes, 0, begin) % 2 for quotes in _QUOTES):
            return False
        return any(first < begin < end for first, end in self._spans)

    @cached_property
    def _text(self) -> bytes:
        return b"".join(self._lines)

    @cached_property
    def _begins(self) -> list[int]:
        return list(accumulate(map(len, self._lines), initial=0))

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        found = _STRING_OR_COMMENT.finditer(self._text)
        return [match.span() for match in found if match.lastgroup and b"\n" in match[0]]
