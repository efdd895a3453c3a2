"""Statements that one side puts between two definitions which the other side has in the other order.

Of two definitions that changed places nobody can tell which one moved, so nobody knows beside which of them such a
statement belongs. Definitions and imports are declarations, which go anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.definitions import Unit, cut, named
from patchkit.core.merging.lexemes import LineKind
from patchkit.core.merging.logical import cut_lines

HEADER: Final = re.compile(rb"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w")
"""Matches the line with which a class or function begins, decorators aside."""


def moves_header(edits: Sequence[Edit], base: Sequence[bytes], side: Sequence[bytes]) -> bool:
    """Tell whether a side took the header of a definition out and put it in elsewhere; ``edits`` are what it changed.

    A quick question: where the answer is no, no two definitions changed places.
    """
    gone = _headers(base[at] for edit in edits for at in range(edit.old, edit.old_end))
    return bool(gone) and not gone.isdisjoint(
        _headers(side[at] for edit in edits for at in range(edit.new, edit.new_end))
    )


def _headers(lines: Iterable[bytes]) -> set[bytes]:
    # To look for a word takes a fraction of what a pattern does, and a side may have changed the whole file.
    return {line.strip() for line in lines if (b"def" in line or b"class" in line) and HEADER.match(line)}


def puts_between(base: str, side: str, mover: str) -> bool:
    """Tell whether ``side`` puts a statement between two definitions of the base that changed places in ``mover``.

    Looked at are the module and the classes in it; of definitions those whose name is unique there on all sides. What
    ``mover`` has as well is in its place.
    """
    levels = [cut(cut_lines(text).lines, 0) for text in (base, side, mover)]
    return any(_is_torn(*level) for level in _levels(*levels))


def _levels(
    base: list[Unit], side: list[Unit], mover: list[Unit]
) -> Iterator[tuple[list[Unit], list[Unit], list[Unit]]]:
    """Yield the units of the module, and of each class that all three have, on the three sides."""
    yield base, side, mover
    others = named(side), named(mover)
    for name, unit in named(base).items():
        classes = [unit, *(other[name] for other in others if name in other)]
        if len(classes) == len(others) + 1 and all(each.inner for each in classes):
            one, two, three = classes
            yield one.inner, two.inner, three.inner


def _is_torn(base: list[Unit], side: list[Unit], mover: list[Unit]) -> bool:
    old, there = _spots(base), _spots(mover)
    known = old.keys() & there.keys() & _spots(side).keys()
    had = {line.key for units in (base, mover) for unit in units if not unit.name for line in unit.lines}
    # What stands in front of each definition that all have, and is new: up to the one before.
    fresh: list[bool] = [False]
    names: list[str] = []
    for unit in side:
        if unit.name in known:
            names.append(unit.name)
            fresh.append(False)
        elif not unit.name:
            fresh[-1] |= any(
                line.kind is LineKind.CODE and not line.is_import and line.key not in had for line in unit.lines
            )
    return any(
        is_fresh and old[one] < old[two] and there[one] > there[two]
        for (one, two), is_fresh in zip(pairwise(names), fresh[1:], strict=False)
    )


def _spots(units: Sequence[Unit]) -> dict[str, int]:
    """Return where the definitions with a unique name stand."""
    unique = named(units)
    return {unit.name: at for at, unit in enumerate(units) if unit.name in unique}
