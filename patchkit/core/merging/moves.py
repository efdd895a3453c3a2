"""Lines that a side moved away from what the other side puts beside them."""

from __future__ import annotations

from collections.abc import Sequence

from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.lexemes import LineKind, LogicalLine
from patchkit.core.merging.pairing import likeness
from patchkit.core.merging.sides import MOST_PAIRS, Version
from patchkit.core.merging.words import says_something


def moved(side: Version, other: Version, edit: Edit) -> bool:
    """Tell whether ``side`` inserts beside a line that ``other`` moved past the place, or the other way round."""
    if edit.old == edit.old_end:
        return _moved_past(other, edit.old, side.lines[edit.new : edit.new_end])
    if not side.moved_lines.intersection(range(edit.old, edit.old_end)):
        return False
    return any(
        two.old == two.old_end
        and two.old in (edit.old, edit.old_end)
        and _moved_past(side, two.old, other.lines[two.new : two.new_end])
        for two in other.pairing.edits
    )


def _moved_past(mover: Version, place: int, inserted: Sequence[LogicalLine]) -> bool:
    """Tell whether a line beside ``place`` was moved and does not stand where it still comes before, or after, it.

    The order of imports says nothing.
    """
    imports = all(line.is_import for line in inserted)
    return any(
        spot in mover.moved_lines
        and not (imports and mover.base[spot].is_import)
        and not mover.keeps_order(spot, stays)
        for spot, stays in ((place - 1, place), (place, place - 1))
    )


def both_moved(one: Version, two: Version, ours: Sequence[LogicalLine], theirs: Sequence[LogicalLine]) -> bool:
    """Tell whether lines that both sides put in could be two versions of one line that both took out elsewhere."""
    gone = [
        line
        for at, line in enumerate(one.base)
        if one.to_new[at] < 0 and two.to_new[at] < 0 and line.kind is LineKind.CODE and says_something(line.key)
    ]
    if len(gone) * (len(ours) + len(theirs)) > MOST_PAIRS:
        return bool(gone)
    return any(any(likeness(line, new) for new in ours) and any(likeness(line, new) for new in theirs) for line in gone)
