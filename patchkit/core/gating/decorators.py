"""Decorators that a merge left at a definition where neither side wants them, or lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Final

import msgspec

from patchkit.core.lines import lines_in, lines_of
from patchkit.core.merging.alignment import edited_lines
from patchkit.core.merging.surroundings import outline
from patchkit.core.parts import of_part, parts_of
from patchkit.core.remembered import remembered

_FROM_AT: Final = re.compile(rb"@[^\n]*")
_HEADER: Final = re.compile(rb"(?:async[ \t]+)?(?:def|class)[ \t]+\w")
_INSIDE: Final = (b")", b"]", b"}", b"#")
"""How lines begin that go on with a decorator although they are not indented more, and comments."""


class Misdecorated(msgspec.Struct, frozen=True):
    """A definition whose decorators no side accounts for."""

    name: str
    """Qualified."""
    line: int
    """1-based line of its header."""


def misdecorated(base: bytes, changed: bytes, target: bytes, result: bytes) -> tuple[Misdecorated, ...]:
    """Return the definitions of ``result`` that do not have the decorators that the two sides make together.

    Those of the side that changed them; where both did, what either added, without what either took out. A name that a
    text has more than once (a property and its setter) is told apart by order, and passed over where the numbers
    differ. Looked at only where one of the sides brings or takes out a decorator.
    """
    if not any(_moves_decorator(base, side) for side in (changed, target)):
        return ()
    four = base, changed, target, result
    # A name that is decorated nowhere is passed over below, and most are.
    names = frozenset[str]().union(*(outline(text).begun_at(_above(text)) for text in four))
    texts = [_decorated(text, names) for text in four]
    found: list[Misdecorated] = []
    for name, places in texts[3].items():
        rows = [text.get(name, []) for text in texts]
        if not any(decorators for row in rows for _, decorators in row):
            continue
        for number, (line, here) in enumerate(places):
            # A side that lacks the definition says nothing of it.
            sides = [row[number][1] if number < len(row) else None for row in rows[:3]]
            if len({len(row) for row in rows if row}) == 1 and not _fits(here, *sides):
                found.append(Misdecorated(name, line))
    return tuple(found)


_Decorators = tuple[bytes, ...]


def _fits(here: _Decorators, old: _Decorators | None, ours: _Decorators | None, theirs: _Decorators | None) -> bool:
    if ours is None or theirs is None:
        return here in (ours, theirs, old)
    if old is None or ours == theirs:
        return here in (ours, theirs)
    if old in (ours, theirs):
        return here == (theirs if ours == old else ours)
    was, one, two = Counter(old), Counter(ours), Counter(theirs)
    return Counter(here) == ((one - was) | (two - was)) + (was & one & two)


def _moves_decorator(base: bytes, side: bytes) -> bool:
    """Tell whether a side has other lines that begin with an at sign than the base, wherever and however indented."""
    gone, brought = edited_lines(base, side)
    return sorted(_at_lines(gone)) != sorted(_at_lines(brought))


def _at_lines(content: bytes) -> Iterator[bytes]:
    """Yield the lines that begin with an at sign, without their indentation."""
    # A search for the sign jumps to it, where a pattern for the beginning of the line is tried at every line.
    for sign in _FROM_AT.finditer(content):
        if not content[content.rfind(b"\n", 0, sign.start()) + 1 : sign.start()].strip(b" \t"):
            yield sign[0]


def _decorated(content: bytes, names: Set[str]) -> dict[str, list[tuple[int, _Decorators]]]:
    """Return the 1-based lines of headers, each with the decorators above it, by qualified name.

    They are those of the classes and functions that by themselves are called one of ``names``.
    """
    found: dict[str, list[tuple[int, _Decorators]]] = {}
    above = _above(content)
    for line, name in outline(content).names(names):
        found.setdefault(name, []).append((line + 1, above.get(line, ())))
    return found


@remembered(most=1_000_000)
def _above(content: bytes) -> dict[int, _Decorators]:
    """Return the 0-based line of each decorated header with its decorators, without white space."""
    lines = lines_of(content)
    found: dict[int, _Decorators] = {}
    below = top = 0
    for part in parts_of(content):
        for row in _at_rows_in(part):
            if top + row >= below:
                decorators, below = _run(lines, top + row)
                if decorators:
                    found[below - 1] = decorators
        top += len(lines_in(part))
    return found


@of_part
def _at_rows_in(text: bytes) -> tuple[int, ...]:
    """Return the 0-based lines of a part that begin with an at sign, whatever white space is before it."""
    found: list[int] = []
    row = begin = 0
    for sign in _FROM_AT.finditer(text):
        if not text[text.rfind(b"\n", 0, sign.start()) + 1 : sign.start()].strip():
            row, begin = row + text.count(b"\n", begin, sign.start()), sign.start()
            found.append(row)
    return tuple(found)


def _run(lines: Sequence[bytes], row: int) -> tuple[_Decorators, int]:
    """Return the decorators from a row on, and the row behind the header below them; none where there is no header."""
    line = lines[row]
    indent = line[: len(line) - len(line.lstrip())]
    decorators = [b"".join(line.split())]
    for number in range(row + 1, len(lines)):
        line = lines[number]
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        if line.startswith(indent) and line[len(indent) :].startswith(b"@"):
            decorators.append(b"".join(text.split()))
        elif line.startswith(indent) and _HEADER.match(line, len(indent)):
            return tuple(decorators), number + 1
        elif line.startswith((indent + b" ", indent + b"\t")) or text.startswith(_INSIDE):
            decorators[-1] += b"".join(text.split())
        else:
            return (), number + 1
    return (), len(lines)
