"""Where the hunks of a file patch fit, and the text that results.

No fuzz: a hunk fits only where its old side stands line for line. At the line its header names it is *exact*; elsewhere
it has *moved*, which is accepted only inside its scope and only when that place is the only one. Where a hunk beside it
has moved, the line that a header names tells nothing any more: of several places none is taken then.

The edges of the file count as lines do (``core.edges``): context that is missing on one side was cut off by an edge,
and a line without a newline is the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cached_property

import msgspec

from patchkit.core import scopes
from patchkit.core.edges import edge_is_elsewhere, joins_lines, misses_edge
from patchkit.core.lines import LineIndex, split_lines
from patchkit.core.model import FilePatch, Hunk


class Verdict(Enum):
    """How a hunk was placed."""

    EXACT = "exact"
    MOVED = "moved"


class Refusal(Enum):
    """Why a hunk was not placed."""

    NO_MATCH = "its old lines are nowhere in the file"
    NOT_UNIQUE = "its old lines are in its scope more than once"
    OTHER_SCOPE = "its old lines are in the file, but not in its scope"
    NO_SCOPE = "the file has no such scope"
    NOT_AT_EDGE = "its context says that the file begins or ends there, and the file goes on"
    NOT_LAST = "its last new line has no newline, and the file goes on behind it"
    OVERLAP = "it overlaps another hunk, or stands in another order"
    FILE_MISSING = "the file to patch does not exist"
    FILE_EXISTS = "the file to create exists"
    NOT_ALL = "the file to remove has lines that the patch does not remove"


class Placed(msgspec.Struct, frozen=True):
    """A hunk that fits."""

    hunk: str
    verdict: Verdict
    line: int
    """1-based first line of the hunk's old side in the text it was placed in."""
    offset: int
    """Lines between where the header said and where it fits; 0 for EXACT."""


class NotPlaced(msgspec.Struct, frozen=True):
    """A hunk that does not fit."""

    hunk: str
    refusal: Refusal
    lines: tuple[int, ...] = ()
    """1-based lines where the old side would also fit, if that is the reason."""


class FilePlaced(msgspec.Struct, frozen=True):
    """Every hunk of a file fits."""

    path: str
    content: bytes | None
    """The text that results; None when the patch removes the file."""
    hunks: tuple[Placed, ...]


class FileRefused(msgspec.Struct, frozen=True):
    """At least one hunk of a file does not fit; there is no result."""

    path: str
    hunks: tuple[Placed | NotPlaced, ...]


ScopeNames = Mapping[str, str]
"""Scope by hunk id. A hunk without an entry may be placed anywhere it is unique."""


def place_file(patch: FilePatch, content: bytes | None, scope_names: ScopeNames) -> FilePlaced | FileRefused:
    """Place every hunk of ``patch`` in ``content`` (None: no such file)."""
    if patch.old_path is None:
        if content is not None:
            return _refused_whole(patch, Refusal.FILE_EXISTS)
        created = b"".join(line for hunk in patch.hunks for line in hunk.new_lines)
        placed = tuple(Placed(hunk.id, Verdict.EXACT, 0, 0) for hunk in patch.hunks)
        return FilePlaced(patch.path, created, placed)
    if content is None:
        return _refused_whole(patch, Refusal.FILE_MISSING)
    lines = split_lines(content)
    text = LineIndex(lines)
    ranges = ScopeRanges(content)
    last = len(patch.hunks) - 1
    spots = [
        _spots(hunk, text, scope_names.get(hunk.id), ranges.of, is_first=number == 0, is_last=number == last)
        for number, hunk in enumerate(patch.hunks)
    ]
    results = [_placed(hunk, spot) for hunk, spot in zip(patch.hunks, spots, strict=True)]
    ordered = _refuse_overlaps(patch.hunks, _refuse_doubtful(results, spots))
    if any(isinstance(result, NotPlaced) for result in ordered):
        return FileRefused(patch.path, tuple(ordered))
    fits = [result for result in ordered if isinstance(result, Placed)]
    result = _result(lines, patch.hunks, fits)
    if patch.new_path is None:
        return _refused_whole(patch, Refusal.NOT_ALL) if result else FilePlaced(patch.path, None, tuple(fits))
    return FilePlaced(patch.path, result, tuple(fits))


def place_hunk(
    hunk: Hunk,
    lines: list[bytes],
    scope_name: str | None,
    scopes_named: Callable[[str], tuple[scopes.Scope, ...]],
) -> Placed | NotPlaced:
    """Find the one place for ``hunk`` in ``lines``, or say why there is none."""
    return _placed(hunk, _spots(hunk, LineIndex(lines), scope_name, scopes_named))


def edge_refusal(hunk: Hunk, place: int, length: int) -> Refusal | None:
    """Return why an edge of the file forbids ``hunk`` at 0-based line ``place`` of ``length``; None if none does."""
    if joins_lines(hunk, place, length):
        return Refusal.NOT_LAST
    return Refusal.NOT_AT_EDGE if misses_edge(hunk, place, length) else None


def _named(hunk: Hunk) -> int:
    """Return the 0-based line that a hunk's header names.

    An empty old side is numbered by the line before it (the unified format of diff(1)).
    """
    return hunk.old_start if hunk.only_adds else max(hunk.old_start - 1, 0)


def _spots(
    hunk: Hunk,
    text: LineIndex,
    scope_name: str | None,
    scopes_named: Callable[[str], tuple[scopes.Scope, ...]],
    *,
    is_first: bool = True,
    is_last: bool = True,
) -> list[int] | NotPlaced:
    """Return the 0-based lines at which ``hunk`` may stand, at least one, or why there is none.

    ``is_first`` and ``is_last`` are whether no other hunk of the file stands before it, and behind it.
    """
    places = text.places(hunk.old_lines)
    if not places:
        return NotPlaced(hunk.id, Refusal.NO_MATCH)
    if scope_name is not None:
        ranges = scopes_named(scope_name)
        if not ranges:
            return NotPlaced(hunk.id, Refusal.NO_SCOPE)
        inside = [place for place in places if _inside(hunk, place, ranges)]
        if not inside:
            return NotPlaced(hunk.id, Refusal.OTHER_SCOPE, tuple(place + 1 for place in places))
        places = inside
    length = len(text.lines)
    allowed = _at_edges(hunk, places, length, scoped=scope_name is not None)
    if isinstance(allowed, NotPlaced) or scope_name is not None:
        return allowed
    named = _named(hunk)
    is_doubtful = named in allowed and edge_is_elsewhere(
        hunk, named, allowed, length, is_first=is_first, is_last=is_last
    )
    return _not_unique(hunk.id, allowed) if is_doubtful else allowed


def _at_edges(hunk: Hunk, places: list[int], length: int, *, scoped: bool) -> list[int] | NotPlaced:
    """Return those of ``places`` that the edges of a file of ``length`` lines allow, or why there is none."""
    refusals = [edge_refusal(hunk, place, length) for place in places]
    if scoped:
        # The scope says where the hunk belongs, wherever the file begins and ends by now.
        refusals = [None if refusal is Refusal.NOT_AT_EDGE else refusal for refusal in refusals]
    named = _named(hunk)
    if named in places and refusals[places.index(named)] is Refusal.NOT_LAST:
        # Line number and missing newline contradict each other; to believe one of them is a guess.
        return NotPlaced(hunk.id, Refusal.NOT_LAST, (named + 1,))
    allowed = [place for place, refusal in zip(places, refusals, strict=True) if refusal is None]
    first = next((refusal for refusal in refusals if refusal is not None), None)
    if not allowed and first is not None:
        return NotPlaced(hunk.id, first, tuple(place + 1 for place in places))
    return allowed


def _placed(hunk: Hunk, spots: list[int] | NotPlaced) -> Placed | NotPlaced:
    if isinstance(spots, NotPlaced):
        return spots
    named_line = _named(hunk)
    if named_line in spots:
        return Placed(hunk.id, Verdict.EXACT, named_line + 1, 0)
    # Without old lines nothing but the header says where a hunk belongs.
    if len(spots) > 1 or hunk.only_adds:
        return _not_unique(hunk.id, spots)
    return Placed(hunk.id, Verdict.MOVED, spots[0] + 1, spots[0] - named_line)


def _not_unique(name: str, spots: list[int]) -> NotPlaced:
    return NotPlaced(name, Refusal.NOT_UNIQUE, tuple(place + 1 for place in spots))


def _refuse_doubtful(
    results: Sequence[Placed | NotPlaced], spots: Sequence[list[int] | NotPlaced]
) -> list[Placed | NotPlaced]:
    """Refuse a hunk at the line it names if it has other places and the hunk above or below it has moved."""
    moved = [isinstance(result, Placed) and result.verdict is Verdict.MOVED for result in results]
    checked: list[Placed | NotPlaced] = []
    for at, (result, places) in enumerate(zip(results, spots, strict=True)):
        beside = any(moved[max(at - 1, 0) : at + 2])
        is_exact = isinstance(result, Placed) and result.verdict is Verdict.EXACT
        if beside and is_exact and isinstance(places, list) and len(places) > 1:
            checked.append(_not_unique(result.hunk, places))
        else:
            checked.append(result)
    return checked


def _inside(hunk: Hunk, place: int, ranges: tuple[scopes.Scope, ...]) -> bool:
    return any(all(scope.holds(place + start, place + end) for start, end in hunk.touched) for scope in ranges)


def _refuse_overlaps(hunks: tuple[Hunk, ...], results: list[Placed | NotPlaced]) -> list[Placed | NotPlaced]:
    """Refuse a hunk that begins before the one above it ends; the order of hunks is part of a patch's meaning."""
    checked: list[Placed | NotPlaced] = []
    free = 1
    for hunk, result in zip(hunks, results, strict=True):
        if isinstance(result, Placed):
            if result.line < free:
                checked.append(NotPlaced(hunk.id, Refusal.OVERLAP, (result.line,)))
                continue
            free = result.line + len(hunk.old_lines)
        checked.append(result)
    return checked


def _result(lines: list[bytes], hunks: tuple[Hunk, ...], placed: list[Placed]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for hunk, fit in zip(hunks, placed, strict=True):
        start = fit.line - 1
        parts.extend(lines[at:start])
        parts.extend(hunk.new_lines)
        at = start + len(hunk.old_lines)
    parts.extend(lines[at:])
    return b"".join(parts)


def _refused_whole(patch: FilePatch, refusal: Refusal) -> FileRefused:
    # An empty file is created and removed without a hunk; the refusal must be told all the same.
    return FileRefused(
        patch.path, tuple(NotPlaced(hunk.id, refusal) for hunk in patch.hunks) or (NotPlaced("", refusal),)
    )


class ScopeRanges:
    """The scopes of one text, parsed when first asked for."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def of(self, name: str) -> tuple[scopes.Scope, ...]:
        """Return the scopes called ``name``."""
        return tuple(self._by_name.get(name, ()))

    @cached_property
    def _by_name(self) -> dict[str, list[scopes.Scope]]:
        found: dict[str, list[scopes.Scope]] = {}
        for scope in scopes.scopes(self._content):
            found.setdefault(scope.name, []).append(scope)
        return found
