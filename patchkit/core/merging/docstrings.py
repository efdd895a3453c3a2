"""Both sides describe something at one place of a docstring: whose entries go first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from patchkit.core.merging.entries import Group, tree
from patchkit.core.merging.lexemes import LineKind, LogicalLine
from patchkit.core.merging.sides import Version

_ENTRY = re.compile(r"\s*\*{0,2}(\w+) *(?:\(.*\))? *:")
"""``name (type): what``, ``name: what``, ``name : type``, as Google's and numpy's manner have it."""


def ours_first(
    place: int, ours: Version, theirs: Version, mine: Sequence[LogicalLine], yours: Sequence[LogicalLine]
) -> bool | None:
    """Tell whether the patch's lines go before the target's, both inserted before the base's line ``place``.

    What is indented more belongs to what stands above. Entries of different names go in the order in which the
    parameters, or the fields of the class, are declared; the target's first where they are declared at one place or
    nowhere. An entry may go on at its own level, without an indentation; then its name has to be declared. None for
    prose, for entries of one name, and for lines that are no docstring's.
    """
    if any(line.kind is not LineKind.TEXT for line in (*mine, *yours)) or not place:
        return None
    if mine[0].indent != yours[0].indent:
        return mine[0].indent > yours[0].indent
    names = _names(mine), _names(yours)
    if not all(names) or set(names[0]) & set(names[1]):
        return None
    header = ours.owner(place - 1)
    goes_on = any(len(found) < _at_level(side) for found, side in zip(names, (mine, yours), strict=True))
    if header is None:
        return None if goes_on else False
    known = _declared(ours.base, header)
    spots = [
        _spots(found, known, _declared(side.lines, side.to_new[header])) if side.to_new[header] >= 0 else []
        for side, found in zip((ours, theirs), names, strict=True)
    ]
    if goes_on and not all(spots):
        return None
    return bool(spots[0] and spots[1]) and max(spots[0]) < min(spots[1])


def _names(lines: Sequence[LogicalLine]) -> list[str]:
    """Return the names of the entries at the level of the first line; nothing when that is none."""
    level = lines[0].indent
    found = [_ENTRY.match(line.text) for line in lines if line.indent == level]
    return [match[1] for match in found if match] if found[0] else []


def _at_level(lines: Sequence[LogicalLine]) -> int:
    return sum(line.indent == lines[0].indent for line in lines)


def _spots(names: Sequence[str], known: Sequence[str], declared: Sequence[str]) -> list[int]:
    """Return for each name behind how many of the ``known`` names it is declared; nothing when one is not."""
    spots: list[int] = []
    for name in names:
        if name not in declared:
            return []
        before = [known.index(other) + 1 for other in declared[: declared.index(name)] if other in known]
        spots.append(max(before, default=0))
    return spots


def _declared(lines: Sequence[LogicalLine], header: int) -> list[str]:
    """Return the parameters of a function, or the fields of a class."""
    head = lines[header]
    if head.definition is not None and head.definition[0] == "def":
        items = tree(head.lexemes) or []
        parameters = next((item for item in items if isinstance(item, Group)), None)
        return [entry.name.lstrip("* ") for entry in parameters.entries] if parameters is not None else []
    fields: list[str] = []
    for line in lines[header + 1 :]:
        if line.kind is LineKind.CODE and line.indent <= head.indent:
            break
        if line.kind is LineKind.CODE and len(line.lexemes) > 1 and line.lexemes[1].text in (":", "="):
            fields.append(line.lexemes[0].text)
    return fields
