"""The three-way merge of lines: what the patch changed, put into the target where the two do not touch.

Changes of the two sides that overlap or stand side by side, with no common line between, are left as conflicts, as git
does; ``patchkit.core.merging.resolve`` takes them up from there.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum
from typing import NamedTuple

from patchkit.core.merging.alignment import Edit


class Kind(Enum):
    """What became of a region that the patch changes."""

    APPLIED = "applied"
    """Only the patch changes it."""
    SAME = "same"
    """Both sides made the same of it."""
    CONFLICT = "conflict"
    """Both sides changed it, differently."""


class Region(NamedTuple):
    """A region that the patch changes; half-open ranges of 0-based elements."""

    kind: Kind
    base: int
    base_end: int
    target: int
    target_end: int
    changed: int
    changed_end: int


def combine(
    ours: Sequence[Edit], theirs: Sequence[Edit], changed: Sequence[Hashable], target: Sequence[Hashable]
) -> list[Region]:
    """Return the regions of ``ours`` (base to changed), joined with those of ``theirs`` (base to target) they touch."""
    found: list[Region] = []
    other = 0
    at = 0
    while at < len(ours):
        first = ours[at]
        while other < len(theirs) and theirs[other].old_end < first.old:
            other += 1
        begin, end = first.old, first.old_end
        ours_end, theirs_end = at + 1, other
        grown = True
        while grown:
            grown = False
            while theirs_end < len(theirs) and theirs[theirs_end].old <= end:
                begin, end = min(begin, theirs[theirs_end].old), max(end, theirs[theirs_end].old_end)
                theirs_end += 1
                grown = True
            while ours_end < len(ours) and ours[ours_end].old <= end:
                end = max(end, ours[ours_end].old_end)
                ours_end += 1
                grown = True
        target_range = _range(theirs, other, theirs_end, begin, end)
        changed_range = _range(ours, at, ours_end, begin, end)
        if theirs_end == other:
            kind = Kind.APPLIED
        elif list(target[slice(*target_range)]) == list(changed[slice(*changed_range)]):
            kind = Kind.SAME
        else:
            kind = Kind.CONFLICT
        found.append(Region(kind, begin, end, *target_range, *changed_range))
        at, other = ours_end, theirs_end
    return found


def _range(side: Sequence[Edit], first: int, last: int, begin: int, end: int) -> tuple[int, int]:
    """Return where the base's ``[begin, end)`` stands on a side whose edits ``[first, last)`` lie inside it."""
    if first == last:
        shift = side[first - 1].new_end - side[first - 1].old_end if first else 0
        return begin + shift, end + shift
    return side[first].new - (side[first].old - begin), side[last - 1].new_end + (end - side[last - 1].old_end)
