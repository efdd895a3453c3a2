"""The order in which the edits of two sides meet: the skeleton of a merge, whatever is merged.

Unlike in the line merge, edits that only stand side by side do not meet here: whoever uses this knows what its elements
are (statements, list entries) and that one ends where the next begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from patchkit.core.merging.alignment import Edit


class Side(Enum):
    """Who changed a stretch of the base."""

    NEITHER = "neither"
    OURS = "ours"
    """The patch."""
    THEIRS = "theirs"
    """The target."""
    BOTH = "both"


class Stretch(NamedTuple):
    """A stretch ``[begin, end)`` of the base's elements, with the edits in it."""

    side: Side
    begin: int
    end: int
    ours: Sequence[Edit]
    theirs: Sequence[Edit]


def sweep(ours: Sequence[Edit], theirs: Sequence[Edit], length: int) -> Iterator[Stretch]:
    """Yield the stretches of a base of ``length`` elements in order; insertions are stretches without elements."""
    mine = yours = at = 0
    while mine < len(ours) or yours < len(theirs):
        one = ours[mine] if mine < len(ours) else None
        two = theirs[yours] if yours < len(theirs) else None
        if one is not None and two is not None and meet(one, two):
            last_mine, last_yours = _group(ours, theirs, mine, yours)
            stretch = Stretch(
                Side.BOTH,
                min(one.old, two.old),
                max(ours[last_mine - 1].old_end, theirs[last_yours - 1].old_end),
                ours[mine:last_mine],
                theirs[yours:last_yours],
            )
            mine, yours = last_mine, last_yours
        elif one is not None and (two is None or _before(one, two)):
            stretch = Stretch(Side.OURS, one.old, one.old_end, [one], [])
            mine += 1
        else:
            assert two is not None  # noqa: S101 - one of the two is left, and the other branches took ours
            stretch = Stretch(Side.THEIRS, two.old, two.old_end, [], [two])
            yours += 1
        if stretch.begin > at:
            yield Stretch(Side.NEITHER, at, stretch.begin, [], [])
        at = max(at, stretch.end)
        yield stretch
    if length > at:
        yield Stretch(Side.NEITHER, at, length, [], [])


def meet(one: Edit, two: Edit) -> bool:
    """Tell whether two edits, one of each side, change the same elements or insert at the same place."""
    if one.old == one.old_end and two.old == two.old_end:
        return one.old == two.old
    if one.old == one.old_end:
        return two.old < one.old < two.old_end
    if two.old == two.old_end:
        return one.old < two.old < one.old_end
    return one.old < two.old_end and two.old < one.old_end


def span(edits: Sequence[Edit], begin: int, end: int) -> tuple[int, int]:
    """Return where the base's ``[begin, end)`` is on a side whose edits there are ``edits``."""
    return edits[0].new - (edits[0].old - begin), edits[-1].new_end + (end - edits[-1].old_end)


def _before(one: Edit, two: Edit) -> bool:
    if one.old == two.old:
        # An insertion stands before what it is inserted before.
        return one.old == one.old_end
    return one.old < two.old


def _group(ours: Sequence[Edit], theirs: Sequence[Edit], mine: int, yours: int) -> tuple[int, int]:
    """Return the ends of the runs of edits, from ``mine`` and ``yours`` on, that hang together."""
    last_mine, last_yours = mine + 1, yours + 1
    grown = True
    while grown:
        grown = False
        if last_mine < len(ours) and _meets(ours[last_mine], theirs, yours, last_yours):
            last_mine, grown = last_mine + 1, True
        if last_yours < len(theirs) and _meets(theirs[last_yours], ours, mine, last_mine):
            last_yours, grown = last_yours + 1, True
    return last_mine, last_yours


def _meets(edit: Edit, others: Sequence[Edit], first: int, last: int) -> bool:
    """Tell whether an edit meets one of ``others[first:last]``; what ends before it begins is not gone through."""
    for at in range(last - 1, first - 1, -1):
        if others[at].old_end < edit.old:
            return False
        if meet(edit, others[at]):
            return True
    return False
