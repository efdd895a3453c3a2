"""Ways of writing a statement that formatters change and that say nothing, beyond its words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from patchkit.core.merging.brackets import bare

_QUOTES: Final = "\"'"
_LITERAL: Final = re.compile(r"([rRbBuUfF]{0,2})(\"|')(?!\2\2)(.*)\2", re.DOTALL)
_OCTAL: Final = re.compile(r"\\[0-7]{1,2}\Z")


def plain(words: Sequence[str]) -> list[str]:
    """Return the words of a statement without what is a matter of form.

    That is the parentheses around all of an expression (`brackets`), and how a string is cut into literals that stand
    side by side.
    """
    if not words:
        return []
    joined = _joined(words) if any(map(_stand_together, words, words[1:])) else list(words)
    return bare(joined) if "(" in joined else joined


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
