"""Lines of a text whose parts were put in another order, as lines of the text as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from patchkit.core.merging.lexemes import LogicalLine
from patchkit.core.merging.resolved import Span


def original(spans: Iterable[Span], base: Sequence[LogicalLine]) -> Iterator[Span]:
    """Yield the spans, no conflict among them, with 0-based lines of the text that the lines of ``base`` are from.

    Lines of the base that were apart there are spans of their own.
    """
    origin = _Origin(base)
    for span in spans:
        for old, old_end in origin.ranges(span.base, span.base_end):
            yield Span(old, old_end, span.first, span.end, span.verdict, span.reason)


class _Origin:
    """Where the physical lines of permuted lines stood in the text that they come from."""

    def __init__(self, lines: Sequence[LogicalLine]) -> None:
        self.rows: list[int] = []
        self.is_blank: list[bool] = []
        for line in lines:
            pieces = line.full.removesuffix("\n").split("\n")
            first = line.first - line.blank.count("\n")
            self.rows.extend(range(first, first + len(pieces)))
            self.is_blank.extend(not piece.strip() for piece in pieces)

    def ranges(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Return the ranges that the lines ``[begin, end)`` come from; for an empty range its place, or two of them."""
        # What stands behind a last line that is blank has a number and no line.
        begin, end = min(begin, len(self.rows)), min(end, len(self.rows))
        if begin < end:
            breaks = [at for at in range(begin + 1, end) if self.rows[at] != self.rows[at - 1] + 1]
            return [(self.rows[one], self.rows[two - 1] + 1) for one, two in pairwise([begin, *breaks, end])]
        last = begin
        while last > 0 and self.is_blank[last - 1]:
            last -= 1
        behind = self.rows[last - 1] + 1 if last else 0
        before = self.rows[begin] if begin < len(self.rows) else behind + begin - last
        # When the lines around it were apart, it is behind the one and before the other.
        return [(before, before)] if before == behind + begin - last else [(behind, behind), (before, before)]
