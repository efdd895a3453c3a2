"""Definitions that one side moved or renamed, brought to the same place in all texts so that a line merge sees them.

To a line merge a function that stands elsewhere is a deletion and an insertion. So the definitions of the other texts
are put where the text has them that moved them, the merge is made, and its answer is told in lines of the base as it
was.

Only definitions whose name is unique at their level are moved; what stands between definitions keeps its place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from patchkit.core.merging.definitions import Unit, copied, cut, definitions, flat, is_alike, named
from patchkit.core.merging.lexemes import LogicalLine
from patchkit.core.merging.logical import cut_lines, logical_lines
from patchkit.core.merging.original import original
from patchkit.core.merging.resolve import resolve_all
from patchkit.core.merging.resolved import Resolved
from patchkit.core.remembered import remembered


def relocated(base: str, changed: str, target: str) -> tuple[str, str] | None:
    """Return ``base`` and ``changed`` with their definitions in the order of ``target``; None when none has to move.

    At a level (the module, a class) where base, changed and target have three orders nothing moves: two orders cannot
    be had at once. What moves are the definitions outside the longest run that has the same order in base and target,
    if 7 of 10 lines are common to base and target: another thing may go by the same name. A function that has another
    class around it in the target, or none, moves there when that class is in all texts, its name is unique in each, and
    as many lines are common; it is indented anew. A definition that only the target calls by another name goes by that
    name. Otherwise lines are permuted and none is changed.
    """
    moved = _relocated(*(copied(_units(text)) for text in (base, changed, target)))
    return None if moved is None else (_text(moved[0]), _text(moved[1]))


def resolve_moved(base: str, changed: str, target: str) -> Resolved | None:
    """Merge three versions of a Python source of which a side moved definitions.

    None when no definition has to move, or when something cannot be brought together. In the result they stand where
    the side that moved them has them, and go by the name that the side that renamed them gave them. The spans name
    lines of ``base`` and of the result. Lines of the base that came together from apart are several spans.
    """
    shared = [_units(text) for text in (base, changed, target)]
    if all(_relocated(*(copied(shared[at]) for at in order)) is None for order in ((0, 1, 2), (0, 2, 1))):
        return None
    old, ours, theirs = map(logical_lines, (base, changed, target))
    moved = _relocated(*(cut(lines, 0) for lines in (old, ours, theirs)))
    if moved is not None:
        old, ours = moved
    # What the patch moves is the same seen from the other side.
    mirrored = _relocated(*(cut(lines, 0) for lines in (old, theirs, ours)))
    if mirrored is not None:
        old, theirs = mirrored
    merged = resolve_all(_text(old), _text(ours), _text(theirs))
    return merged and Resolved(merged.parts, list(original(merged.spans, old)))


def moved_to(base_scope_text: str, others: Mapping[str, str]) -> tuple[str, str] | None:
    """Return path and qualified name of the definition that ``base_scope_text`` became in ``others`` (path to text).

    It has the same name and kind, and 7 of 10 lines are common; None when there is none or more than one.
    """
    lines = cut_lines(base_scope_text).lines
    level = min((line.indent for line in lines if line.definition), default=0)
    old = next((unit for unit in cut(lines, level) if unit.name), None)
    if old is None:
        return None
    found = [
        (path, f"{parent}{unit.name}")
        for path, text in sorted(others.items())
        if old.name in text
        for parent, unit in definitions(cut(cut_lines(text).lines, 0))
        if (unit.kind, unit.name) == (old.kind, old.name) and is_alike(old, unit)
    ]
    return found[0] if len(found) == 1 else None


@remembered(most=2_000_000)
def _units(text: str) -> list[Unit]:
    """Cut a text at its definitions; shared: nobody may change the units."""
    return cut(cut_lines(text).lines, 0)


def _relocated(
    olds: list[Unit], ours: list[Unit], theirs: list[Unit]
) -> tuple[list[LogicalLine], list[LogicalLine]] | None:
    """Return the lines of base and changed where the target has them; changes the units."""
    has_moved = _rehome(olds, ours, theirs)
    has_moved |= _arrange(olds, ours, theirs, is_module=True)
    if not has_moved:
        return None
    old, new = list(flat(olds)), list(flat(ours))
    # A last line without an ending has no other place.
    return (old, new) if all(line.full.endswith("\n") for line in (*old[:-1], *new[:-1])) else None


def _rehome(olds: list[Unit], ours: list[Unit], theirs: list[Unit]) -> bool:
    """Put functions into the class, or the module, that the target has them in; tell whether there were any."""
    old, new, there = _homes(olds), _homes(ours), _homes(theirs)
    moved = False
    for name in [name for name in old if name in new and name in there]:
        home, unit = old[name]
        other, version = there[name]
        known = not other or (other in named(olds) and other in named(ours))
        if home == other or new[name][0] != home or unit.kind != "def" or not known or not is_alike(unit, version):
            continue
        if not all(_can_shift(mover) for mover in (unit, new[name][1])):
            continue
        for units, mover in ((olds, unit), (ours, new[name][1])):
            _members(units, home).remove(mover)
            place = _members(units, other)
            # What ends a module, such as its blank lines, stays behind it.
            place.insert(len(place) - (bool(place) and not place[-1].name), mover)
            _shift(mover, version.lines[0].indent - mover.lines[0].indent)
        moved = True
    return moved


def _can_shift(unit: Unit) -> bool:
    """Tell whether a function can be indented anew: not where columns are no characters."""
    return not any("\t" in line.text for line in unit.lines)


def _shift(unit: Unit, columns: int) -> None:
    unit.lines = [line.moved(columns) for line in unit.lines]


def _homes(units: Sequence[Unit]) -> dict[str, tuple[str, Unit]]:
    """Return for each definition with a name of its own the class around it, empty for none, and itself."""
    found = list(definitions(units))
    times = Counter(unit.name for _, unit in found)
    classes = named(units)
    return {
        unit.name: (home, unit)
        for parent, unit in found
        if times[unit.name] == 1 and (not (home := parent.removesuffix(".")) or home in classes)
    }


def _members(units: list[Unit], home: str) -> list[Unit]:
    return named(units)[home].inner if home else units


def _arrange(olds: list[Unit], ours: list[Unit], theirs: list[Unit], *, is_module: bool) -> bool:
    """Put the units of one level, and of the classes in it, into the order of ``theirs``; tell whether any moved."""
    old, new, there = named(olds), named(ours), named(theirs)
    ours_renamed, renamed = _renamed(old, new, there), _renamed(old, there, new)
    has_moved = False
    for name, unit in renamed:
        if all(_is_single(one) for one in (old[name], new[name], unit)):
            _rename(old[name], unit.name)
            _rename(new[name], unit.name)
            has_moved = True
    for name, unit in (*ours_renamed, *renamed):
        # To be put in order they go by the base's name.
        unit.name = name
    has_moved |= _reorder(olds, ours, theirs)
    if is_module:
        new, there = named(ours), named(theirs)
        for name in [name for name in old if name in new and name in there]:
            if old[name].kind == new[name].kind == there[name].kind == "class":
                has_moved |= _arrange(old[name].inner, new[name].inner, there[name].inner, is_module=False)
    return has_moved


def _reorder(olds: list[Unit], ours: list[Unit], theirs: list[Unit]) -> bool:
    old, new, there = named(olds), named(ours), named(theirs)
    twice = {unit.name for unit in ours} - new.keys()
    # Under the name of a function that was split there is often a new one that calls its parts.
    shared = [name for name in old if name in there and name not in twice]
    spots = {unit.name: at for at, unit in enumerate(theirs) if unit.name}
    if all(spots[one] < spots[two] for one, two in pairwise(shared)):
        # Whichever of them are alike, they are in order.
        return False
    shared = [name for name in shared if is_alike(old[name], there[name], is_named=True)]
    places = {name: spots[name] for name in shared}
    order = sorted(shared, key=lambda name: places[name])
    our_order = [name for name in new if name in places and name in old]
    is_our_move = our_order == [name for name in order if name in new]
    if order == shared or not (is_our_move or our_order == [name for name in shared if name in new]):
        return False
    fixed = _fixed(olds, theirs)
    items = sorted([(olds.index(old[name]), places[name], name) for name in shared] + fixed)
    stay = _longest([place for _, place, _ in items])
    movers = {name for at, (_, _, name) in enumerate(items) if name and at not in stay}
    for units in [olds] if is_our_move else [olds, ours]:
        units[:] = [unit for unit in units if unit.name not in movers]
    for at, name in enumerate(order):
        if name not in movers:
            continue
        before = places[order[at - 1]] + 1 if at else 0
        between = [unit for unit in theirs[before : places[name]] if not unit.name]
        is_past = _has_common_lines(between, _glue(olds, order[:at]))
        olds.insert(_gap(olds, order[:at], is_past=is_past), old[name])
        if name in new and not is_our_move:
            ours.insert(_gap(ours, order[:at], is_past=is_past), new[name])
    return True


def _place_after(units: Sequence[Unit], before: Sequence[str]) -> int:
    """Return the place right behind the last definition of ``before`` that is there; 0 when none is."""
    places = {unit.name: at for at, unit in enumerate(units)}
    return next((places[name] + 1 for name in reversed(before) if name in places), 0)


def _glue(units: Sequence[Unit], before: Sequence[str]) -> Sequence[Unit]:
    """Return what stands behind the last definition of ``before`` and is no definition."""
    first = end = _place_after(units, before)
    while end < len(units) and not units[end].name:
        end += 1
    return units[first:end]


def _gap(units: Sequence[Unit], before: Sequence[str], *, is_past: bool) -> int:
    return _place_after(units, before) + (len(_glue(units, before)) if is_past else 0)


def _has_common_lines(some: Iterable[Unit], others: Iterable[Unit]) -> bool:
    return not {line.key for line in flat(some)}.isdisjoint(line.key for line in flat(others))


def _fixed(olds: Sequence[Unit], theirs: Sequence[Unit]) -> list[tuple[int, int, str]]:
    """Return the lines between definitions that both have once, as places of their units, with an empty name."""
    places: list[dict[str, int]] = []
    for units in (olds, theirs):
        found = [(line.key, at) for at, unit in enumerate(units) if not unit.name for line in unit.lines if line.key]
        times = Counter(key for key, _ in found)
        places.append({key: at for key, at in found if times[key] == 1})
    return [(at, places[1][key], "") for key, at in places[0].items() if key in places[1]]


def _longest(places: Sequence[int]) -> set[int]:
    """Return the indexes of the longest run of ``places``, gaps allowed, that never falls; of several the first."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for at, place in enumerate(places):
        spot = bisect_right(tails, place)
        tails[spot : spot + 1] = [place]
        ends[spot : spot + 1] = [at]
        before.append(ends[spot - 1] if spot else -1)
    run: set[int] = set()
    at = ends[-1] if ends else -1
    while at >= 0:
        run.add(at)
        at = before[at]
    return run


def _is_single(unit: Unit) -> bool:
    """Tell whether it is one definition, and not several of one name."""
    return sum(line.definition == (unit.kind, unit.name) for line in unit.lines) == 1


def _rename(unit: Unit, name: str) -> None:
    unit.lines = [
        line.having(re.sub(rf"\b{unit.name}\b", name, line.text, count=1))
        if line.definition == (unit.kind, unit.name)
        else line
        for line in unit.lines
    ]


def _renamed(old: Mapping[str, Unit], new: Mapping[str, Unit], other: Mapping[str, Unit]) -> list[tuple[str, Unit]]:
    """Return the definitions of ``new`` that are ones of ``old`` under another name, with their name in ``old``.

    The third text must have the old name and not the new one, and no other definition may come into question.
    """
    gone = [unit for name, unit in old.items() if name not in new and name in other]
    come = [unit for name, unit in new.items() if name not in old and name not in other]
    pairs = [(one, two) for one in gone for two in come if one.kind == two.kind and is_alike(one, two)]
    times = Counter(id(unit) for pair in pairs for unit in pair)
    return [(one.name, two) for one, two in pairs if times[id(one)] == times[id(two)] == 1]


def _text(lines: Iterable[LogicalLine]) -> str:
    return "".join(line.full for line in lines)
