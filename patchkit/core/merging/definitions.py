"""Python text cut at its definitions: classes and functions at module level, and the members of such classes.

A definition has its decorators and the comments directly above it; what stands between definitions is apart. Cut from
logical lines, so that text that does not parse is cut as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rapidfuzz.distance import LCSseq

from patchkit.core.merging.lexemes import LineKind, LogicalLine

ALIKE = 0.7
"""Share of common lines from which definitions of different names, or in different places, are versions of one."""
_SIGNATURE = 0.5
"""The same for the words of their headers, names aside."""
_FEW = 4
"""Lines of a body below which it says too little to tell whose it is."""


class Unit:
    """A definition, or what stands between two."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        """Empty for what stands between definitions."""
        self.lines: list[LogicalLine] = []
        """Its own lines; those of a class end where its members begin."""
        self.inner: list[Unit] = []


def copied(units: Iterable[Unit]) -> list[Unit]:
    """Return units of one's own to put in order and to name; their lists of lines are shared and replaced as wholes."""
    found: list[Unit] = []
    for unit in units:
        copy = Unit(unit.kind, unit.name)
        copy.lines, copy.inner = unit.lines, copied(unit.inner)
        found.append(copy)
    return found


def is_alike(one: Unit, two: Unit, *, is_named: bool = False) -> bool:
    """Tell whether two definitions can be versions of one: their signatures and ``ALIKE`` of their bodies are common.

    Of two that go by one name at one place (``is_named``), the signatures may differ and the bodies be short.
    """
    heads = [next(line for line in unit.lines if line.definition) for unit in (one, two)]
    first, second = ([word for word in head.words if word not in (head.definition or ())] for head in heads)
    if not is_named and LCSseq.normalized_similarity(first, second) < _SIGNATURE:
        return False
    least = 0 if is_named else _FEW
    # Their headers aside; most pairs differ so much in length that nothing need be counted.
    sizes = [_size(unit) - 1 for unit in (one, two)]
    if min(sizes) < least or 2 * min(sizes) < ALIKE * sum(sizes):
        return False
    body, other = (Counter(line.key for line in flat([unit])) for unit in (one, two))
    for lines, head in zip((body, other), heads, strict=True):
        lines[head.key] -= 1
    return 2 * (body & other).total() >= ALIKE * sum(sizes)


def _size(unit: Unit) -> int:
    """Return how many lines a unit has with all that is in it."""
    return len(unit.lines) + sum(map(_size, unit.inner))


def cut(lines: Sequence[LogicalLine], level: int, *, is_module: bool = True) -> list[Unit]:
    """Cut the lines of a module, or of a class whose members are indented by ``level`` columns, into units.

    Definitions of one name side by side (a property and its setter, overloads) are one unit. Only classes at module
    level are cut further.
    """
    units: list[Unit] = []
    at = 0
    while at < len(lines):
        header = _header(lines, at, level)
        if header is None:
            if not units or units[-1].name:
                units.append(Unit("", ""))
            units[-1].lines.append(lines[at])
            at += 1
            continue
        end = _end(lines, header + 1, level)
        kind, name = lines[header].definition or ("", "")
        if units and units[-1].name == name:
            units[-1].lines.extend([*flat(units[-1].inner), *lines[at:end]])
            units[-1].inner = []
        else:
            units.append(Unit(kind, name))
            first = _members(lines, header + 1, end) if kind == "class" and is_module else end
            units[-1].lines.extend(lines[at:first])
            if first < end:
                units[-1].inner = cut(lines[first:end], lines[first].indent, is_module=False)
        at = end
    return units


def _header(lines: Sequence[LogicalLine], at: int, level: int) -> int | None:
    """Return where the header of the definition is that begins, with comments and decorators, at ``at``; or None."""
    for spot in range(at, len(lines)):
        line = lines[spot]
        is_head = line.kind is LineKind.COMMENT or line.text.lstrip().startswith("@")
        if line.indent != level or (spot > at and line.blank) or not (is_head or line.definition):
            return None
        if line.definition:
            return spot
    return None


def _end(lines: Sequence[LogicalLine], at: int, level: int) -> int:
    """Return where the body that begins at ``at`` ends; a comment belongs to it when code of the body follows."""
    end = at
    for spot in range(at, len(lines)):
        line = lines[spot]
        if line.kind is LineKind.CODE and line.indent <= level:
            break
        if line.text and (line.kind is not LineKind.COMMENT or line.indent > level):
            end = spot + 1
    return end


def _members(lines: Sequence[LogicalLine], at: int, end: int) -> int:
    """Return where the members begin in the class body ``[at, end)``: behind a docstring."""
    return next((spot for spot in range(at, end) if lines[spot].kind is not LineKind.TEXT), end)


def named(units: Sequence[Unit]) -> dict[str, Unit]:
    """Return the definitions whose name is unique among ``units``, in their order."""
    times = Counter(unit.name for unit in units)
    return {unit.name: unit for unit in units if unit.name and times[unit.name] == 1}


def definitions(units: Iterable[Unit], parent: str = "") -> Iterator[tuple[str, Unit]]:
    """Yield all definitions, each with what its qualified name has before its name, such as ``Layer.``."""
    for unit in units:
        if unit.name:
            yield parent, unit
            yield from definitions(unit.inner, f"{parent}{unit.name}.")


def flat(units: Iterable[Unit]) -> Iterator[LogicalLine]:
    """Yield the lines of units in order; for all units that a text was cut into, the text's."""
    for unit in units:
        yield from unit.lines
        yield from flat(unit.inner)
