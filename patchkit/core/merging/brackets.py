"""Parentheses around all of an expression, which say nothing: ``return (a)``, ``x = (a, b)``, ``import (a, b)``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

_CLOSERS: Final = frozenset(")]}")
_OPENERS: Final = frozenset("([{")
_ASSIGNING: Final = frozenset(("=", "+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", ">>=", "<<=", "**="))
_SINGLE: Final = frozenset(("if", "elif", "while", "assert"))
"""Words that begin a statement of which a tuple cannot be without parentheses, or would mean something else."""
_NEVER: Final = frozenset((":=", "yield", "for", "async"))
"""Words that want the parentheses around them: a generator, a named expression."""


def bare(words: Sequence[str]) -> list[str]:
    """Return the words of a statement without parentheses around a whole expression of it."""
    end = len(words)
    while end and words[end - 1][0] == "#":
        end -= 1
    taken: set[int] = set()
    for begin, stop, may_be_tuple in _expressions(words, end):
        taken.update(_around(words, begin, stop, may_be_tuple=may_be_tuple))
    return [word for number, word in enumerate(words) if number not in taken] if taken else list(words)


def _expressions(words: Sequence[str], end: int) -> Iterator[tuple[int, int, bool]]:
    """Yield where a statement's whole expressions begin and end, and whether a tuple there needs no parentheses."""
    if not end:
        return
    first = words[0]
    if first in ("from", "import"):
        begin = next((at + 1 for at in range(end) if words[at] == "import"), end)
        yield begin, end, True
        return
    if first in _SINGLE or first == "for":
        end -= words[end - 1] == ":"
    separators = ("in",) if first == "for" else (",",) if first == "assert" else _ASSIGNING
    begin = int(first in _SINGLE or first in ("for", "return"))
    if not begin and not any(word in _ASSIGNING for word in words):
        return
    depth = 0
    for at in range(begin, end):
        word = words[at]
        if word in _OPENERS:
            depth += 1
        elif word in _CLOSERS:
            depth -= 1
        elif not depth and word in separators:
            yield begin, at, first not in _SINGLE
            begin = at + 1
            if first == "for":
                break
    yield begin, end, first not in _SINGLE


def _around(words: Sequence[str], begin: int, end: int, *, may_be_tuple: bool) -> list[int]:
    """Return the places of the parentheses, one pair in the other, around all of ``words[begin:end]``."""
    found: list[int] = []
    while end - begin > 2 and words[begin] == "(" and words[end - 1] == ")":
        depth = 0
        for at in range(begin, end - 1):
            word = words[at]
            depth += (word in _OPENERS) - (word in _CLOSERS)
            if not depth or (depth == 1 and (word in _NEVER or (word == "," and not may_be_tuple))):
                return found
        found += [begin, end - 1]
        begin, end = begin + 1, end - 1
    return found
