"""A file on its way as a row of pieces, and what became of the lines that the patch changes in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from patchkit.core.carried import Conflict, Verdict
from patchkit.core.merging.merge import Region
from patchkit.core.merging.resolve import Span

Range = tuple[int, int]
"""Half-open, of 0-based lines."""

_BADNESS: Final = {verdict.value: number for number, verdict in enumerate(Verdict)}


class Piece(NamedTuple):
    """A stretch of the file."""

    base: Range
    changed: Range
    target: Range
    parts: list[bytes | Conflict]
    """What stands there in the result."""
    spans: list[Span]
    """What became of the patch's changes in it; lines of the result count from the piece's beginning."""

    @property
    def conflicts(self) -> int:
        """How many places in it could not be brought together."""
        return sum(isinstance(part, Conflict) for part in self.parts)


def moved(span: Span, base: int, new: int) -> Span:
    """Return a span with lines counted from elsewhere."""
    return span._replace(
        base=span.base + base, base_end=span.base_end + base, first=span.first + new, end=span.end + new
    )


def conflicts(pieces: Iterable[Piece]) -> bool:
    """Tell whether something in the pieces could not be brought together."""
    return any(piece.conflicts for piece in pieces)


def content(pieces: Iterable[Piece]) -> bytes | None:
    """Return the result; None when there are conflicts in it."""
    parts = [part for piece in pieces for part in piece.parts]
    texts = [part for part in parts if isinstance(part, bytes)]
    return b"".join(texts) if len(texts) == len(parts) else None


def put_together(pieces: Iterable[Piece]) -> tuple[list[bytes | Conflict], list[Span]]:
    """Return all parts in order, and all spans with lines of the whole result instead of their piece's."""
    parts: list[bytes | Conflict] = []
    spans: list[Span] = []
    row = 0
    for piece in pieces:
        spans.extend(moved(span, 0, 0 if span.verdict == Verdict.CONFLICT.value else row) for span in piece.spans)
        parts.extend(piece.parts)
        row += sum(part.count(b"\n") for part in piece.parts if isinstance(part, bytes))
    return parts, spans


def joined(parts: Iterable[bytes | Conflict]) -> tuple[bytes | Conflict, ...]:
    """Return the parts with neighbours that are no conflicts in one."""
    found: list[bytes | Conflict] = []
    texts: list[bytes] = []
    for part in parts:
        if isinstance(part, bytes):
            texts.append(part)
            continue
        if texts:
            found.append(b"".join(texts))
            texts = []
        found.append(part)
    return (*found, b"".join(texts)) if texts else tuple(found)


class Spans:
    """Spans by the lines of the base that they are about, for questions about many regions."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._order = sorted(range(len(spans)), key=lambda number: spans[number].base)
        self._spans = spans
        self._bases = [spans[number].base for number in self._order]
        self._ends = list(accumulate((spans[number].base_end for number in self._order), max))
        """How far into the base any of the spans reaches that begins no later."""

    def worst(self, region: Region) -> Span | None:
        """Return what became of a region: of the spans that share lines of the base with it the worst.

        Its lines in the result are those of all spans that lie in the region, where the worst is no conflict.
        """
        touching = self._touching(region)
        # A hunk of which the target has a part only is not upstreamed.
        kept = [span for span in touching if span.verdict != Verdict.UPSTREAMED.value] or touching
        worst = max(kept, key=lambda span: _BADNESS[span.verdict], default=None)
        if worst is None or worst.verdict == Verdict.CONFLICT.value:
            return worst
        within = [span for span in kept if region.base <= span.base and span.base_end <= region.base_end]
        filled = [span for span in (worst, *within) if span.first < span.end]
        if not filled:
            return worst
        return worst._replace(first=min(span.first for span in filled), end=max(span.end for span in filled))

    def _touching(self, region: Region) -> list[Span]:
        """Return the spans that share lines with a region, or of which one is an empty place beside the other."""
        found: list[int] = []
        for at in range(bisect_right(self._bases, region.base_end) - 1, -1, -1):
            if self._ends[at] < region.base:
                break
            span = self._spans[self._order[at]]
            is_place = span.base == span.base_end or region.base == region.base_end
            if (span.base < region.base_end and region.base < span.base_end) or (
                is_place and region.base <= span.base_end
            ):
                found.append(self._order[at])
        return [self._spans[number] for number in sorted(found)]
