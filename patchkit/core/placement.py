"""Where the hunks of a file patch fit, and the text that results.

No fuzz: a hunk fits only where its old side stands line for line. At the line its header names it is *exact*; elsewhere
it has *moved*, which is accepted only inside its scope and only when that place is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

import msgspec

from patchkit.core import scopes
from patchkit.core.lines import split_lines
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
    ranges = ScopeRanges(content)
    results = [place_hunk(hunk, lines, scope_names.get(hunk.id), ranges.of) for hunk in patch.hunks]
    ordered = _refuse_overlaps(patch.hunks, results)
    if any(isinstance(result, NotPlaced) for result in ordered):
        return FileRefused(patch.path, tuple(ordered))
    fits = [result for result in ordered if isinstance(result, Placed)]
    text = _result(lines, patch.hunks, fits)
    if patch.new_path is None:
        return _refused_whole(patch, Refusal.NOT_ALL) if text else FilePlaced(patch.path, None, tuple(fits))
    return FilePlaced(patch.path, text, tuple(fits))


def place_hunk(
    hunk: Hunk,
    lines: list[bytes],
    scope_name: str | None,
    scopes_named: Callable[[str], tuple[scopes.Scope, ...]],
) -> Placed | NotPlaced:
    """Find the one place for ``hunk`` in ``lines``, or say why there is none."""
    old = hunk.old_lines
    # An empty old side is numbered by the line before it (the unified format of diff(1)).
    named_line = max(hunk.old_start - 1, 0) if old else hunk.old_start
    places = _matches(old, lines)
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
    if named_line in places:
        return Placed(hunk.id, Verdict.EXACT, named_line + 1, 0)
    if len(places) > 1:
        return NotPlaced(hunk.id, Refusal.NOT_UNIQUE, tuple(place + 1 for place in places))
    return Placed(hunk.id, Verdict.MOVED, places[0] + 1, places[0] - named_line)


def _matches(old: list[bytes], lines: list[bytes]) -> list[int]:
    """Return the 0-based lines at which ``old`` stands in ``lines``; all of them for an empty ``old``."""
    if not old:
        return list(range(len(lines) + 1))
    last = len(lines) - len(old)
    return [at for at in range(last + 1) if lines[at] == old[0] and lines[at : at + len(old)] == old]


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
        self._scopes: tuple[scopes.Scope, ...] | None = None

    def of(self, name: str) -> tuple[scopes.Scope, ...]:
        """Return the scopes called ``name``."""
        if self._scopes is None:
            self._scopes = scopes.scopes(self._content)
        return tuple(scope for scope in self._scopes if scope.name == name)
