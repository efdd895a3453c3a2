"""The merge of a row of conditions, all joined by ``and`` or all by ``or``: each condition is an entry of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from patchkit.core.merging.alignment import edits, partners
from patchkit.core.merging.entries import Item, flat
from patchkit.core.merging.lexemes import Lexeme
from patchkit.core.merging.sweep import Side, span, sweep

MergeItems = Callable[[Sequence[Item], Sequence[Item], Sequence[Item]], "list[Lexeme] | None"]
"""Merges the words of one condition: base, changed, target."""

_LEADS: Final = frozenset(("=", ":=", "->", ":", "return", "if", "elif", "while", "assert", "yield"))
"""Words behind which a row of conditions begins."""
_LOOSER: Final = {
    "and": frozenset(("or", "if", "else", "lambda", ",", "for", "yield", ":=")),
    "or": frozenset(("if", "else", "lambda", ",", "for", "yield", ":=")),
}
"""Words that bind less than a joint, so that what stands beside them is no condition of its row."""


class _Row(NamedTuple):
    lead: Sequence[Item]
    conditions: Sequence[Sequence[Item]]
    joints: Sequence[Lexeme]
    """One fewer than conditions."""
    tail: Sequence[Item]
    """The colon of a header."""

    def joint_before(self, at: int) -> Lexeme | None:
        """Return the joint before a condition; None before the first one."""
        return self.joints[at - 1] if at else None


_Condition = tuple[Sequence[Item], Lexeme | None]


def merge_conditions(
    old: Sequence[Item], ours: Sequence[Item], theirs: Sequence[Item], items: MergeItems
) -> list[Lexeme] | None:
    """Return the target's row with the patch's change in it; None where the two meet, or there is no such row.

    Each side may change its own conditions, take them out, and add some; where both add at one place the target's come
    first, so that what guards the rest by standing before it still does in the order that the target has.
    """
    for joint in _LOOSER:
        base, mine, yours = (_row(side, joint) for side in (old, ours, theirs))
        # Of one condition alone a side that changes it changes the whole of what the other one adds to.
        if base and mine and yours and base.joints:
            break
    else:
        return None
    if any((_said(row.lead), len(row.tail)) != (_said(base.lead), len(base.tail)) for row in (mine, yours)):
        return None
    found = _merged(base, mine, yours, items)
    if not found:
        return None
    words = [*flat(yours.lead)]
    for number, (condition, joint_before) in enumerate(found):
        first, *others = flat(condition)
        if number:
            # What was the first one where it comes from has no joint, and the space that belongs behind the lead.
            words.append(joint_before or [*yours.joints, *mine.joints, *base.joints][0])
        space = " " if joint_before is None else first.space
        space = space if number else next(flat(yours.conditions[0])).space
        words += [Lexeme(space, first.text, first.key), *others]
    return [*words, *flat(yours.tail)]


def _row(items: Sequence[Item], joint: str) -> _Row | None:
    """Return a statement or entry as a row; None when something in it binds less than the joint, or is a comment."""
    words = [item.key if isinstance(item, Lexeme) else "" for item in items]
    end = len(items) - (words[-1:] == [":"])
    begin = next((at + 1 for at in range(end - 1, -1, -1) if words[at] in _LEADS), 0)
    inside = words[begin:end]
    if (
        begin == end
        or not _LOOSER[joint].isdisjoint(inside)
        or any(lexeme.text.startswith("#") for lexeme in flat(items))
    ):
        return None
    conditions: list[list[Item]] = [[]]
    joints: list[Lexeme] = []
    for item, word in zip(items[begin:end], inside, strict=True):
        if isinstance(item, Lexeme) and word == joint:
            joints.append(item)
            conditions.append([])
        else:
            conditions[-1].append(item)
    return _Row(items[:begin], conditions, joints, items[end:]) if all(conditions) else None


def _merged(base: _Row, mine: _Row, yours: _Row, items: MergeItems) -> list[_Condition] | None:
    """Return the conditions of the result, each with the joint before it where it comes from."""
    keys = [[_said(condition) for condition in row.conditions] for row in (base, mine, yours)]
    ours, theirs = edits(keys[0], keys[1]), edits(keys[0], keys[2])
    to_ours, to_theirs = partners(ours, len(keys[0])), partners(theirs, len(keys[0]))
    found: list[_Condition] = []

    def woven(at: int, here: int, there: int) -> bool:
        merged = items(base.conditions[at], mine.conditions[here], yours.conditions[there])
        if merged is not None:
            found.append((merged, yours.joint_before(there)))
        return merged is not None

    for stretch in sweep(ours, theirs, len(keys[0])):
        if stretch.side is Side.NEITHER:
            if not all(woven(at, to_ours[at], to_theirs[at]) for at in range(stretch.begin, stretch.end)):
                return None
            continue
        one, two = (list(range(*span(side, stretch.begin, stretch.end))) if side else [] for side in stretch[3:])
        if stretch.side is Side.BOTH and [keys[1][at] for at in one] != [keys[2][at] for at in two]:
            if len(one) == len(two) == stretch.end - stretch.begin == 1:
                if not woven(stretch.begin, one[0], two[0]):
                    return None
                continue
            if stretch.begin != stretch.end:
                return None
        elif stretch.side is Side.BOTH:
            one = []
        found += [(yours.conditions[at], yours.joint_before(at)) for at in two]
        found += [(mine.conditions[at], mine.joint_before(at)) for at in one]
    # One that both sides brought, at places that do not meet, would stand there twice.
    return found if len({_said(condition) for condition, _ in found}) == len(found) else None


def _said(items: Sequence[Item]) -> tuple[str, ...]:
    return tuple(lexeme.key for lexeme in flat(items))
