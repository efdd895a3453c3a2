"""How deep lines are indented in a merge: what either side puts around a statement moves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.lexemes import LogicalLine
from patchkit.core.merging.sides import Version


class Shift(NamedTuple):
    """By how many columns the lines that a side brings are indented more in the result."""

    columns: int
    inside: int | None = None
    """The same for lines that begin inside of a string which the base has; None where their strings are new."""

    def of(self, line: LogicalLine) -> int:
        """Return the columns for one of the lines. Of strings that are new docstrings are as deep as the statement."""
        if not line.is_inside:
            return self.columns
        if self.inside is not None:
            return self.inside
        return self.columns if line.is_docstring else 0


def shift(edit: Edit, side: Version, other: Version, *, first: bool = False) -> Shift | None:
    """Return how deep the lines that ``side`` brings go into the result; None: not clear.

    The lines around them tell: what ``other`` puts around those moves the new lines too, what ``side`` itself puts
    around them is in the new lines already. Lines of a string that the base has are told by other lines of it alone.
    With ``first`` the lines go in front of a header that ``other`` puts there, and so stand in the block around it.
    """
    lines = side.lines[edit.new : edit.new_end]
    if not lines:
        return Shift(0)
    outside = [line for line in lines if not line.is_inside]
    in_string = any(line.is_inside for line in side.base[edit.old : edit.old_end + 1])
    if len(outside) == len(lines) or not in_string:
        columns = _columns(edit, side, other, (outside or lines)[0].indent, first=first)
        return None if columns is None else Shift(columns)
    inside = _inside(edit, side, other)
    columns = _columns(edit, side, other, outside[0].indent, first=first) if outside else inside
    return None if columns is None or inside is None else Shift(columns, inside)


def _inside(edit: Edit, side: Version, other: Version) -> int | None:
    """Return the columns for lines of a string that the base has."""
    base = side.base
    spots = [at for at in (edit.old, edit.old - 1, edit.old_end) if 0 <= at < len(base) and base[at].is_inside]
    if not any(other.to_new[spot] >= 0 for spot in spots):
        # What stood beside the place is gone; the nearest lines that are left tell as well.
        spots = other.nearest(edit.old)
    line = next(line for line in side.lines[edit.new : edit.new_end] if line.is_inside)
    return _level(_found(spots, side, other, line.indent))


def _columns(edit: Edit, side: Version, other: Version, indent: int, *, first: bool) -> int | None:
    """Return the columns for statements, of which the first is indented by ``indent``."""
    base = side.base
    if first:
        header = side.header(edit.old, indent)
        if header is None:
            return 0
        return other.partner(header).indent - base[header].indent if other.to_new[header] >= 0 else None
    if edit.old == edit.old_end == len(base) and indent == 0:
        # The end of the file is a place that every text has.
        return 0
    spots = [spot for spot in (edit.old - 1, edit.old_end) if 0 <= spot < len(base)]
    if edit.old < edit.old_end:
        spots = [edit.old, *spots]
    if edit.old == edit.old_end and not any(0 <= spot < len(base) and other.to_new[spot] >= 0 for spot in spots):
        # What stood beside the place is gone; the nearest lines that are left tell as well.
        spots = other.nearest(edit.old)
    # Where a string begins tells how deep its statement is; its other lines may have stayed as they were.
    heads = [head if other.to_new[head := _head(base, spot)] >= 0 else spot for spot in spots]
    found = _found(heads, side, other, indent)
    if len(found) == 1 and found[0][1] and not any(base[at].text.strip() for at in range(edit.old, edit.old_end)):
        # One side put something around the line on this side of the place; whether around the place too, nobody said.
        return None
    return _level(found)


def _found(spots: Sequence[int], side: Version, other: Version, indent: int) -> list[tuple[bool, int | None]]:
    """Return what lines of the base tell: whether they are indented by ``indent``, and by how much ``other`` does."""
    base = side.base
    found: list[tuple[bool, int | None]] = []
    for spot in spots:
        if other.to_new[spot] < 0 or not base[spot].text.strip():
            continue
        own = side.partner(spot).indent if side.to_new[spot] >= 0 else base[spot].indent
        deeper = depth(spot, side, other) if side.to_new[spot] >= 0 else other.partner(spot).indent - base[spot].indent
        found.append((own == indent, None if deeper is None else deeper - (own - base[spot].indent)))
    return found


def _level(found: Sequence[tuple[bool, int | None]]) -> int | None:
    if len({columns for _, columns in found}) == 1:
        return found[0][1]
    level = {columns for same, columns in found if same}
    return level.pop() if len(level) == 1 else None


def depth(at: int, one: Version, two: Version) -> int | None:
    """Return by how many columns both versions together indent the base's line ``at`` anew.

    None for a line inside of a string that both indent, differently, and neither of them with its statement.
    """
    base = one.base
    first, second = (side.partner(at).indent - base[at].indent for side in (one, two))
    if not first or not second:
        return first + second
    head = _head(base, at)
    if min(one.to_new[head], two.to_new[head]) < 0:
        return first if first == second else None
    if first == second and one.header_key(head) == two.header_key(head):
        # Both put the same around it.
        return first
    along = (
        one.partner(head).indent - base[head].indent == first,
        two.partner(head).indent - base[head].indent == second,
    )
    return first + second if any(along) else None


def _head(lines: Sequence[LogicalLine], at: int) -> int:
    """Return the line with which the string begins that the line ``at`` begins in; ``at`` itself for others."""
    while at and lines[at].is_inside:
        at -= 1
    return at
