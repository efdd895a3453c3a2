"""Ways of writing a statement that formatters change and that say nothing, beyond its words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_HEADS: Final = frozenset(("import", "return", "=", "+=", "if", "elif", "while", "in", "yield"))
"""Words behind which parentheses around all of the rest say nothing."""
_HEADS_OF_ASSERT: Final = frozenset(("assert", ","))
_QUOTES: Final = "\"'"
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_SAYING: Final = frozenset((":=", "yield", "for"))
"""Words that may need the parentheses around them."""
_LITERAL: Final = re.compile(r"([rRbBuUfF]{0,2})(\"|')(?!\2\2)(.*)\2", re.DOTALL)
_OCTAL: Final = re.compile(r"\\[0-7]{1,2}\Z")


def plain(words: Sequence[str]) -> list[str]:
    """Return the words of a statement without what is a matter of form.

    That is the parentheses around all names of an import and around all of an expression, and how a string is cut into
    literals that stand side by side.
    """
    if not words:
        return []
    joined = _joined(words) if any(map(_stand_together, words, words[1:])) else list(words)
    return _bare(joined) if "(" in joined else joined


def _stand_together(one: str, two: str) -> bool:
    return one[-1] in _QUOTES and two[-1] in _QUOTES


def _joined(words: Sequence[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        joined = _together(found[-1], word) if found and _stand_together(found[-1], word) else None
        if joined is None:
            found.append(word)
        else:
            found[-1] = joined
    return found


def _together(one: str, two: str) -> str | None:
    """Return two literals as one, or None where they are not written in the same manner."""
    first, second = _LITERAL.fullmatch(one), _LITERAL.fullmatch(two)
    if first is None or second is None or first[2] != second[2]:
        return None
    if _OCTAL.search(first[3]) and second[3][:1].isdigit():
        return None
    kinds = {first[1].lower(), second[1].lower()}
    if kinds == {"f", ""}:
        # The braces of the plain one would become fields.
        texts = [each[3] if each[1] else each[3].replace("{", "{{").replace("}", "}}") for each in (first, second)]
        return f"f{first[2]}{texts[0]}{texts[1]}{first[2]}"
    return f"{first[1].lower()}{first[2]}{first[3]}{second[3]}{first[2]}" if len(kinds) == 1 else None


def _bare(words: list[str]) -> list[str]:
    heads = _HEADS_OF_ASSERT if words[0] == "assert" else _HEADS
    for at in range(len(words) - 1, 0, -1):
        if words[at] == "(" and words[at - 1] in heads:
            end = _closing(words, at)
            if end is not None and _says_nothing(words, at, end):
                words = [*words[:at], *words[at + 1 : end], *words[end + 1 :]]
    return words


def _says_nothing(words: Sequence[str], at: int, end: int) -> bool:
    """Tell whether the parentheses at ``at`` and ``end`` are a matter of form."""
    before, inner, after = words[at - 1], words[at + 1 : end], words[end + 1 :]
    if before == "import":
        return not after
    if _nesting(words[:at]) or not inner or _has_comma(inner) or not _SAYING.isdisjoint(inner):
        return False
    return not after or (before != "," and after == [":"]) or (before == "assert" and after[0] == ",")


def _closing(words: Sequence[str], at: int) -> int | None:
    depth = 0
    for spot in range(at, len(words)):
        word = words[spot]
        if word in _OPENING:
            depth += 1
        elif word in _CLOSING:
            depth -= 1
            if not depth:
                return spot
    return None


def _nesting(words: Sequence[str]) -> int:
    """Return how many brackets are open behind words."""
    return sum((word in _OPENING) - (word in _CLOSING) for word in words)


def _has_comma(words: Sequence[str]) -> bool:
    depth = 0
    for word in words:
        if word == "," and not depth:
            return True
        depth += (word in _OPENING) - (word in _CLOSING)
    return False
