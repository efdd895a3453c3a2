"""Blocks that the patch takes out whole, and in which the target only gave calls more keywords."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from patchkit.core.merging.entries import Group, Item, tree
from patchkit.core.merging.lexemes import Lexeme, LineKind, LogicalLine
from patchkit.core.merging.sides import Version
from patchkit.core.merging.sweep import Stretch

_PROSE: Final = re.compile(r"[rRbBuU]{0,2}[\"'].*\s.*", re.DOTALL)
"""A string with a space in it, which is for people."""


def taken_out(stretch: Stretch, ours: Version, theirs: Version) -> bool:
    """Tell whether the patch takes all of a stretch out for good, in which the target only gave calls more keywords.

    The texts have to be whole files, or nobody sees whether the patch puts the lines in elsewhere.
    """
    begin, end = stretch.begin, stretch.end
    if any(edit.new < edit.new_end for edit in stretch.ours):
        return False
    return sum(edit.old_end - edit.old for edit in stretch.ours) == end - begin and all(
        theirs.pairing.is_modified(edit)
        and theirs.at_home(edit.old)
        and edit.old not in ours.moved_lines
        and _stands_in_a_block(ours.base, edit.old, begin, end)
        and _says_as_much(ours.base[edit.old], theirs.lines[edit.new])
        for edit in stretch.theirs
    )


def _says_as_much(old: LogicalLine, new: LogicalLine) -> bool:
    """Tell whether a statement does what it did, but for keywords that it gives to calls.

    Its comments and text for people do not count.
    """
    if old.kind is not LineKind.CODE or new.kind is not LineKind.CODE:
        return False
    before, after = tree(old.lexemes), tree(new.lexemes)
    return before is not None and after is not None and _same(before, after)


def _stands_in_a_block(lines: Sequence[LogicalLine], at: int, begin: int, end: int) -> bool:
    """Tell whether the line ``at`` is in a block that stands in ``[begin, end)`` whole, header included.

    Not in one with a definition in it: others may call that.
    """
    if any(line.definition for line in lines[begin:end]):
        return False
    level = lines[at].indent
    head = next(
        (spot for spot in range(at - 1, begin - 1, -1) if lines[spot].opens and lines[spot].indent < level), None
    )
    if head is None:
        return False
    outer = lines[head].indent
    behind = (spot for spot in range(at + 1, len(lines)) if lines[spot].kind is LineKind.CODE)
    return next((spot for spot in behind if lines[spot].indent <= outer), len(lines)) <= end


def _same(before: Sequence[Item], after: Sequence[Item]) -> bool:
    one, two = _telling(before), _telling(after)
    return len(one) == len(two) and all(map(_same_item, one, two))


def _telling(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if not (isinstance(item, Lexeme) and item.text.startswith("#"))]


def _same_item(one: Item, two: Item) -> bool:
    if isinstance(one, Lexeme) and isinstance(two, Lexeme):
        return one.key == two.key or all(_PROSE.fullmatch(item.text) for item in (one, two))
    return isinstance(one, Group) and isinstance(two, Group) and _same_list(one, two)


def _same_list(one: Group, two: Group) -> bool:
    if one.opener.key != two.opener.key:
        return False
    rest = list(one.entries)
    for entry in two.entries:
        if rest and _same(rest[0].items, entry.items):
            rest.pop(0)
        elif not (two.is_call and entry.is_keyword):
            return False
    return not rest
