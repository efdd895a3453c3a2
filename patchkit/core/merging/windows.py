"""Conflicts of the line merge, taken up statement by statement with the lines around them.

The file is held as a row of pieces. Where one of them is a conflict it is merged anew, with its neighbours up to the
next definitions: a window, so that what statements mean is seen, and a large file costs no more than a small one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from patchkit.core.carried import Conflict, Verdict
from patchkit.core.merging.alignment import Edit, partners
from patchkit.core.merging.moves import Crossings
from patchkit.core.merging.pieces import Piece, Range, moved
from patchkit.core.merging.relocate import resolve_moved
from patchkit.core.merging.resolve import resolve, resolve_all
from patchkit.core.merging.resolved import Clash, Resolved
from patchkit.core.merging.runs import resolve_runs
from patchkit.core.merging.strings import Strings

# Where a logical line begins for sure, but in a string.
_BEGINS: Final = re.compile(rb"[ \t]*(?:def|class|async[ \t]+def)[ \t]+\w|@\w|(?:if|for|while|try|with|import|from)\b")

_Merged = TypeVar("_Merged", Resolved, "Resolved | None")


class Sides(NamedTuple):
    """The lines of the three texts."""

    base: Sequence[bytes]
    changed: Sequence[bytes]
    target: Sequence[bytes]


def structured(pieces: Sequence[Piece], sides: Sides, ours: Sequence[Edit], theirs: Sequence[Edit]) -> list[Piece]:
    """Return the pieces with each conflict merged statement by statement, as far as that goes.

    ``ours`` and ``theirs`` are what changed from the base to the changed text and to the target.
    """
    cut, edges = _Cuts(sides, partners(theirs, len(sides.base))).all(pieces)
    result: list[Piece] = []
    at = 0
    moves = Crossings(ours, theirs, *sides)
    for first, last in _windows(cut, edges):
        result.extend(cut[at:first])
        window = cut[first:last]
        begin, end = window[0], window[-1]
        places = (begin.base[0], end.base[1]), (begin.changed[0], end.changed[1]), (begin.target[0], end.target[1])
        result += window if moves.mislead(*places) else [_window(window, sides)]
        at = last
    result += cut[at:]
    if any(piece.conflicts for piece in result):
        # Code that moved farther than to the next definition is found in the whole file.
        for merge in (partial(resolve_all, is_whole=True), resolve_moved, resolve_runs):
            whole = _whole(merge, sides)
            if whole is not None:
                return [whole]
    return result


class _Cuts:
    """The lines that stay, cut where a definition begins."""

    def __init__(self, sides: Sides, to_target: Sequence[int]) -> None:
        self._sides = sides
        self._to_target = to_target
        self._strings = [Strings(lines) for lines in sides]

    def all(self, pieces: Sequence[Piece]) -> tuple[list[Piece], list[int]]:
        """Return all pieces; second: the numbers of those that a window may begin with."""
        cut: list[Piece] = []
        edges = [0]
        for piece in pieces:
            if piece.spans:
                cut.append(piece)
                continue
            first, *others = self._cut(piece)
            cut.append(first)
            for part in others:
                edges.append(len(cut))
                cut.append(part)
        return cut, [*edges, len(cut)]

    def _cut(self, piece: Piece) -> list[Piece]:
        """Cut lines that all sides have before the first and the last definition in them."""
        (base, base_end), (changed, _), (target, target_end) = piece.base, piece.changed, piece.target
        spots = range(base, base_end)
        cuts = sorted({spot for way in (spots, spots[::-1]) for spot in self._first(way, changed - base)})
        places = {base: target, base_end: target_end} | {spot: self._to_target[spot] for spot in cuts}
        found: list[Piece] = []
        for begin, end in zip([base, *cuts], [*cuts, base_end], strict=True):
            here = target if begin == base and not found else places[begin], places[end]
            there = changed + begin - base, changed + end - base
            found.append(Piece((begin, end), there, here, [b"".join(self._sides.target[slice(*here)])], []))
        return found

    def _first(self, spots: range, down: int) -> Iterator[int]:
        """Yield the first of the base's lines with which a definition begins, if there is one.

        The changed text has them ``down`` lines further down.
        """
        for spot in spots:
            there = self._to_target[spot]
            if there >= 0 and _BEGINS.match(self._sides.base[spot]):
                rows = spot, spot + down, there
                if not any(strings.hold(row) for strings, row in zip(self._strings, rows, strict=True)):
                    yield spot
                    return


def _windows(cut: Sequence[Piece], edges: Sequence[int]) -> list[Range]:
    """Return the ranges of pieces, from edge to edge, that hold conflicts."""
    ranges: list[Range] = []
    for number, piece in enumerate(cut):
        if piece.conflicts and not (ranges and number < ranges[-1][1]):
            behind = bisect_right(edges, number)
            ranges.append((edges[behind - 1], edges[behind]))
    return ranges


def reordered(sides: Sides) -> Piece | None:
    """Return the whole file merged with its definitions in one order; None when none moved, or that does not go."""
    return _whole(resolve_moved, sides)


def _whole(merge: Callable[[str, str, str], Resolved | None], sides: Sides) -> Piece | None:
    """Return the whole file as ``merge`` has it; None when that has no answer."""
    resolved = _ended(merge, *map(_text, sides))
    if resolved is None:
        return None
    return _piece((0, len(sides.base)), (0, len(sides.changed)), (0, len(sides.target)), resolved)


def _window(pieces: Sequence[Piece], sides: Sides) -> Piece:
    first, last = pieces[0], pieces[-1]
    base = first.base[0], last.base[1]
    changed = first.changed[0], last.changed[1]
    target = first.target[0], last.target[1]
    texts = sides.base[slice(*base)], sides.changed[slice(*changed)], sides.target[slice(*target)]
    resolved = _ended(resolve, *map(_text, texts))
    return _piece(base, changed, target, resolved)


def _ended(merge: Callable[[str, str, str], _Merged], base: str, changed: str, target: str) -> _Merged:
    """Return what ``merge`` makes of three texts, with a last newline where the sides come to have one.

    To a merge of statements a last line is the same with and without it, so that all texts are given one, and what
    becomes of it is settled as for any line: a side that changed it from the base has its way.
    """
    texts = base, changed, target
    is_open = [bool(text) and not text.endswith("\n") for text in texts]
    if not any(is_open):
        return merge(*texts)
    closed = (
        text + ("\r\n" if "\r\n" in text else "\n") if bare else text for text, bare in zip(texts, is_open, strict=True)
    )
    resolved = merge(*closed)
    if resolved is None:
        return resolved
    parts = list(resolved.parts)
    while parts and not parts[-1]:
        parts.pop()
    last = parts[-1] if parts else ""
    if isinstance(last, Clash):
        parts[-1] = Clash(*(_opened(text) if bare else text for text, bare in zip(last, is_open, strict=True)))
    elif last and (is_open[2] if is_open[0] == is_open[1] else is_open[1]):
        parts[-1] = _opened(last)
    return resolved._replace(parts=parts)


def _opened(text: str) -> str:
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def _piece(base: Range, changed: Range, target: Range, resolved: Resolved) -> Piece:
    parts = [_bytes(part) if isinstance(part, str) else Conflict(*map(_bytes, part)) for part in resolved.parts]
    rows = base[1] - base[0]
    spans = [
        # What stands behind a last line that is blank has a number and no line.
        moved(
            span._replace(base=min(span.base, rows), base_end=min(span.base_end, rows)),
            base[0],
            target[0] if span.verdict == Verdict.CONFLICT.value else 0,
        )
        for span in resolved.spans
    ]
    return Piece(base, changed, target, parts, spans)


# Surrogates stand for bytes that are no UTF-8, and become those bytes again.
def _text(lines: Sequence[bytes]) -> str:
    return b"".join(lines).decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
