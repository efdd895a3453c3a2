"""Edits to a patched text, pushed down into the hunks of the patches that made it.

An edit belongs to one layer: the texts of that layer and of all above it change, those below stay.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from patchkit.core.difference import CONTEXT, difference
from patchkit.core.model import Hunk, HunkLine, LineKind
from patchkit.core.refreshing.layering import Edit, Layer, Window, edited, edits, raised_through


class Refreshed(msgspec.Struct, frozen=True):
    """The hunks of one layer after the edits."""

    hunks: tuple[tuple[str, Hunk | None], ...]
    """By id, in order: the new hunk for ``before`` and ``after`` as they are now, None for one that changes nothing any
    more; an empty id for a hunk that is new. Hunks that stay as they are, are not here."""
    stay: tuple[tuple[str, int], ...] = ()
    """Id of each hunk that stays as it is, and the 0-based first line of its old side now."""


def refreshed(old: Layer, below: Sequence[Edit], own: Sequence[Edit]) -> Refreshed:
    """Return what becomes of a layer's hunks.

    ``below`` are edits of ``before`` that belong to patches below, ``own`` edits of ``after`` that belong to this one.
    """
    raised = [raised_through(old, edit) for edit in below]
    before = edited(old.before, below)
    after = edited(old.after, [*raised, *own])
    groups = _grouped(old, own)
    spans = [
        _span(window, below, [*raised, *(edit for edit in own if edit not in mine)], mine) for window, mine in groups
    ]
    found: list[tuple[str, Hunk | None]] = []
    stay: list[tuple[str, int]] = []
    kept: list[Hunk] = []
    floor = 0, 0
    for position, (window, _) in enumerate(groups):
        was, now = spans[position]
        old_lines, new_lines = before[was[0] : was[1]], after[now[0] : now[1]]
        if window.hunk and (old_lines, new_lines) == (_cut(old.before, window.old), _cut(old.after, window.new)):
            hunk: Hunk | None = _hunk(old_lines, new_lines, was[0], now[0])
            stay.append((window.hunk, was[0]))
        else:
            ceiling = spans[position + 1][0][0] if position + 1 < len(spans) else len(before)
            hunk = _rebuilt(before, after, was, now, floor=floor, ceiling=ceiling)
            if hunk is not None or window.hunk:
                found.append((window.hunk, hunk))
        floor = was[1], now[1]
        if hunk is not None:
            kept.append(hunk)
            floor = _end(hunk)
    if _result(before, kept) != after:
        return _written_anew(old, before, after)
    return Refreshed(tuple(found), tuple(stay))


def _written_anew(old: Layer, before: Sequence[bytes], after: Sequence[bytes]) -> Refreshed:
    """Return hunks made without regard to the old ones, which an edit across two of them leaves no other way.

    Each takes the id of the first old hunk that it shares a line with or, having none, is new.
    """
    patch = difference(b"".join(before), b"".join(after), "")
    left = {window.hunk: _cut(old.after, window.new) for window in old.windows}
    found: list[tuple[str, Hunk | None]] = []
    for hunk in patch.hunks if patch else ():
        lines = {line for line in hunk.new_lines if line.strip()}
        name = next((name for name, own in left.items() if lines & {line for line in own if line.strip()}), "")
        left.pop(name, None)
        found.append((name, hunk))
    return Refreshed((*found, *((name, None) for name in left)))


def _cut(lines: Sequence[bytes], span: tuple[int, int]) -> list[bytes]:
    return list(lines[span[0] : span[1]])


def _end(hunk: Hunk) -> tuple[int, int]:
    """Return the 0-based lines behind a hunk, before and after."""
    old = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
    new = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
    return old + len(hunk.old_lines), new + len(hunk.new_lines)


def _result(before: Sequence[bytes], hunks: Sequence[Hunk]) -> list[bytes] | None:
    """Return what hunks make of a text; None when they overlap or do not fit."""
    made: list[bytes] = []
    at = 0
    for hunk in hunks:
        end = _end(hunk)[0]
        start = end - len(hunk.old_lines)
        if start < at or list(before[start:end]) != hunk.old_lines:
            return None
        made.extend(before[at:start])
        made.extend(hunk.new_lines)
        at = end
    return [*made, *before[at:]]


def _grouped(old: Layer, own: Sequence[Edit]) -> list[tuple[Window, list[Edit]]]:
    """Return every window with the patch's own edits at it, in order; edits far from all of them get a new one."""
    groups: list[tuple[Window, list[Edit]]] = [(window, []) for window in old.windows]
    alone: list[list[Edit]] = []
    for edit in sorted(own, key=lambda edit: (edit.start, edit.end)):
        near = min(groups, key=lambda group: _distance(group[0], edit), default=None) if old.windows else None
        if near is not None and _distance(near[0], edit) < CONTEXT:
            near[1].append(edit)
        elif alone and edit.start - alone[-1][-1].end <= 2 * CONTEXT and not _between(old, alone[-1][-1], edit):
            alone[-1].append(edit)
        else:
            alone.append([edit])
    for mine in alone:
        start, end = mine[0].start, mine[-1].end
        by = sum((run.old[1] - run.old[0]) - (run.new[1] - run.new[0]) for run in old.runs if run.new[1] <= start)
        groups.append((Window("", (start + by, end + by), (start, end)), mine))
    return sorted(groups, key=lambda group: group[0].new)


def _distance(window: Window, edit: Edit) -> int:
    """Return how many lines stand between a window and an edit; 0 when they touch."""
    return max(edit.start - window.new[1], window.new[0] - edit.end, 0)


def _between(old: Layer, one: Edit, two: Edit) -> bool:
    return any(one.end <= window.new[0] and window.new[1] <= two.start for window in old.windows)


def _span(
    window: Window, below: Sequence[Edit], foreign: Sequence[Edit], own: Sequence[Edit]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the lines of a window in the texts as they are now, before and after, grown by edits that reach out.

    ``below`` are the edits of the text before, ``foreign`` those of the text after that are not the window's ``own``.
    """
    start, end = window.new
    reaching = [*own, *(edit for edit in foreign if edit.start < end and edit.end > start)]
    up = max(start - min((edit.start for edit in reaching), default=start), 0)
    down = max(max((edit.end for edit in reaching), default=end) - end, 0)
    old = _now((window.old[0] - up, window.old[1] + down), below, ())
    new = _now((start - up, end + down), foreign, own)
    return old, new


def _now(span: tuple[int, int], foreign: Sequence[Edit], own: Sequence[Edit]) -> tuple[int, int]:
    """Return where a span stands after edits. Its own count as inside even at its edge, foreign ones do not."""
    start, end = span
    first = start + sum(edit.growth for edit in foreign if edit.end <= start)
    inside = sum(edit.growth for edit in (*own, *foreign) if edit in own or (edit.start < end and edit.end > start))
    return first, first + (end - start) + inside


def _rebuilt(
    before: Sequence[bytes],
    after: Sequence[bytes],
    old: tuple[int, int],
    new: tuple[int, int],
    *,
    floor: tuple[int, int],
    ceiling: int,
) -> Hunk | None:
    """Return the hunk between two spans, with context around it as far as its neighbours; None when nothing differs."""
    a, b = old
    c, d = new
    if before[a:b] == after[c:d]:
        return None
    while True:
        hunk = _hunk(before[a:b], after[c:d], a, c)
        if _context(hunk.lines) < CONTEXT and a > floor[0] and c > floor[1] and before[a - 1] == after[c - 1]:
            a, c = a - 1, c - 1
        elif _context(hunk.lines[::-1]) < CONTEXT and b < ceiling and d < len(after) and before[b] == after[d]:
            b, d = b + 1, d + 1
        else:
            return hunk


def _context(lines: Sequence[HunkLine]) -> int:
    """Return how many lines at the beginning are context."""
    return next((at for at, line in enumerate(lines) if line.kind is not LineKind.CONTEXT), len(lines))


def _hunk(old: Sequence[bytes], new: Sequence[bytes], old_at: int, new_at: int) -> Hunk:
    """Return the hunk between two spans, all of their common lines as context."""
    lines: list[HunkLine] = []
    at = 0
    for change in edits(old, new):
        lines.extend(HunkLine(LineKind.CONTEXT, text) for text in old[at : change.start])
        lines.extend(HunkLine(LineKind.REMOVED, text) for text in old[change.start : change.end])
        lines.extend(HunkLine(LineKind.ADDED, text) for text in change.lines)
        at = change.end
    lines.extend(HunkLine(LineKind.CONTEXT, text) for text in old[at:])
    return Hunk("", old_at + 1 if old else old_at, new_at + 1 if new else new_at, tuple(lines))
