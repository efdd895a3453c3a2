"""How deep lines are indented in a merge: what either side puts around a statement moves it."""

from __future__ import annotations

from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.sides import Version


def shift(  # noqa: PLR0911 - one return a rule
    edit: Edit, side: Version, other: Version, *, first: bool = False
) -> int | None:
    """Return by how many columns the lines that ``side`` brings are indented more in the result; None: not clear.

    The lines around them tell: what ``other`` puts around those moves the new lines too, what ``side`` itself puts
    around them is in the new lines already. With ``first`` the lines go in front of a header that ``other`` puts
    there, and so stand in the block around it.
    """
    base, lines = side.base, side.lines[edit.new : edit.new_end]
    if not lines:
        return 0
    if first:
        header = side.header(edit.old, lines[0].indent)
        if header is None:
            return 0
        return other.partner(header).indent - base[header].indent if other.to_new[header] >= 0 else None
    if edit.old == edit.old_end == len(base) and lines[0].indent == 0:
        # The end of the file is a place that every text has.
        return 0
    spots = [spot for spot in (edit.old - 1, edit.old_end) if 0 <= spot < len(base)]
    if edit.old < edit.old_end:
        spots = [edit.old, *spots]
    found: list[tuple[bool, int]] = []
    if edit.old == edit.old_end and not any(0 <= spot < len(base) and other.to_new[spot] >= 0 for spot in spots):
        # What stood beside the place is gone; the nearest lines that are left tell as well.
        spots = other.nearest(edit.old)
    for spot in spots:
        if other.to_new[spot] < 0 or not base[spot].text.strip():
            continue
        own = side.partner(spot).indent if side.to_new[spot] >= 0 else base[spot].indent
        deeper = depth(spot, side, other) if side.to_new[spot] >= 0 else other.partner(spot).indent - base[spot].indent
        found.append((own == lines[0].indent, deeper - (own - base[spot].indent)))
    if len(found) == 1 and found[0][1] and not any(base[at].text.strip() for at in range(edit.old, edit.old_end)):
        # One side put something around the line on this side of the place; whether around the place too, nobody said.
        return None
    if len({columns for _, columns in found}) == 1:
        return found[0][1]
    level = {columns for same, columns in found if same}
    return level.pop() if len(level) == 1 else None


def depth(at: int, one: Version, two: Version) -> int:
    """Return by how many columns both versions together indent the base's line ``at`` anew."""
    old = one.base[at].indent
    first, second = one.partner(at).indent - old, two.partner(at).indent - old
    if first == second and (not first or one.header_key(at) == two.header_key(at)):
        # Both put the same around it.
        return first
    return first + second
