"""What the context of a hunk says about the edges of the file, and a line without a newline about its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from patchkit.core.model import Hunk, HunkLine, LineKind


def joins_lines(hunk: Hunk, place: int, length: int) -> bool:
    """Tell whether ``hunk`` at 0-based line ``place`` of ``length`` lines puts a line without newline before others."""
    last = next((line.text for line in reversed(hunk.lines) if line.kind is not LineKind.REMOVED), b"\n")
    return not last.endswith(b"\n") and place + len(hunk.old_lines) < length


def misses_edge(hunk: Hunk, place: int, length: int) -> bool:
    """Tell whether ``hunk`` belongs to an edge of the file that is not at 0-based line ``place`` of ``length`` lines.

    Both ``git apply`` and GNU patch refuse a hunk that begins at line 1 with less context above than below anywhere but
    at the beginning, and one with context above and none below anywhere but at the end. Without any context nothing is
    known.
    """
    above, below = _context(hunk.lines), _context(reversed(hunk.lines))
    is_first, is_last = hunk.old_start <= 1 and above < below, above > 0 and not below
    return (is_first and place > 0) or (is_last and place + len(hunk.old_lines) < length)


def edge_is_elsewhere(
    hunk: Hunk, named: int, places: Sequence[int], length: int, *, is_first: bool = True, is_last: bool = True
) -> bool:
    """Tell whether an edge of the file speaks for another of the 0-based ``places`` than the one that is named.

    GNU patch takes any shorter context for one that an edge cut off, git only a missing one. That is not enough to
    refuse the only place, and too much to take one of several. The context of a hunk that is not the first of its file
    (``is_first``) may be short above because the one before it stands there, and below likewise.
    """
    above, below = _context(hunk.lines), _context(reversed(hunk.lines))

    def at_edge(place: int) -> bool:
        begins = not is_first or above >= below or place == 0
        ends = not is_last or below >= above or place + len(hunk.old_lines) == length
        return begins and ends

    return not at_edge(named) and any(at_edge(place) for place in places)


def _context(lines: Iterable[HunkLine]) -> int:
    """Return how many lines of context stand at the beginning; 0 for nothing but context."""
    for count, line in enumerate(lines):
        if line.kind is not LineKind.CONTEXT:
            return count
    return 0
