"""Decorators that a merge left at a definition where neither side wants them, or lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import msgspec

from patchkit.core.lines import lines_of
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
    if len({tuple(sorted(_at_lines(text))) for text in (base, changed, target)}) == 1:
        return ()
    texts = [_decorated(text) for text in (base, changed, target, result)]
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


@of_part
def _at_lines_in(content: bytes) -> tuple[bytes, ...]:
    """Return the lines of a part that begin with an at sign, without their indentation."""
    # A search for the sign jumps to it, where a pattern for the beginning of the line is tried at every line.
    signs = _FROM_AT.finditer(content)
    return tuple(
        sign[0] for sign in signs if not content[content.rfind(b"\n", 0, sign.start()) + 1 : sign.start()].strip(b" \t")
    )


def _at_lines(content: bytes) -> Iterator[bytes]:
    return chain.from_iterable(map(_at_lines_in, parts_of(content)))


@remembered(most=1_000_000)
def _decorated(content: bytes) -> dict[str, list[tuple[int, _Decorators]]]:
    """Return for each qualified name the 1-based lines of its headers, each with the decorators above it."""
    found: dict[str, list[tuple[int, _Decorators]]] = {}
    above = dict(_above(lines_of(content)))
    for line, name in outline(content).names():
        found.setdefault(name, []).append((line + 1, above.get(line, ())))
    return found


def _above(lines: Sequence[bytes]) -> Iterator[tuple[int, _Decorators]]:
    """Yield the 0-based line of each decorated header with its decorators, without white space."""
    decorators: list[bytes] = []
    indent = b""
    for number, line in enumerate(lines):
        text = line.strip()
        if not decorators:
            if text.startswith(b"@"):
                indent, decorators = line[: len(line) - len(line.lstrip())], [b"".join(text.split())]
        elif not text or text.startswith(b"#"):
            continue
        elif line.startswith(indent) and line[len(indent) :].startswith(b"@"):
            decorators.append(b"".join(text.split()))
        elif line.startswith(indent) and _HEADER.match(line, len(indent)):
            yield number, tuple(decorators)
            decorators = []
        elif line.startswith((indent + b" ", indent + b"\t")) or text.startswith(_INSIDE):
            decorators[-1] += b"".join(text.split())
        else:
            decorators = []
