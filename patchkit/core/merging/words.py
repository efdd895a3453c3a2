"""The words of a Python statement: identifiers, operators, strings and comments, with the space before each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from patchkit.core.merging.plain import plain

# What needs no second look is passed over in one step: a choice at each character takes several times as long.
IN_ONE: Final = r"Q[^Q\\\n]*(?:\\(?:\r\n|.)[^Q\\\n]*)*"
"""A string in one of the quotes ``Q``, up to what closes it; see ``in_quotes``."""
IN_THREE: Final = r"QQQ[^Q\\]*(?:(?:\\.|Q(?!QQ))[^Q\\]*)*"
"""A string in three of them, up to what closes it. Both are compiled with ``re.DOTALL``."""


def in_quotes(pattern: str) -> str:
    """Return a pattern in which ``Q`` stands for a quote as one for both of them."""
    return "|".join(pattern.replace("Q", quote) for quote in "\"'")


STRING: Final = "(?:" + in_quotes(rf"{IN_THREE}(?:QQQ|\Z)|{IN_ONE}(?:Q|(?=\n)|\Z)") + ")"
"""A pattern for a string without its prefix; one that is not closed ends with its line, or with the text."""

SEPARATOR: Final = "\x1f"
"""Stands between the words of a key."""
_PREFIX: Final = r"\b[rRbBuUfFtT]{1,2}"
_NAME: Final = r"\w+(?:\.\d+)?"
_OPERATOR: Final = r"\*\*=?|//=?|>>=?|<<=?|->|:=|[-+*/%@&|^=!<>]=|\.\.\."
_LEXEME: Final = re.compile(
    rf"(?P<space>(?:\s|\\\r?\n)*)(?:(?P<string>(?:{_PREFIX})?{STRING})|(?P<comment>\#[^\r\n]*)"
    rf"|(?P<word>{_NAME})|(?P<op>{_OPERATOR}|\S))",
    re.DOTALL,
)
# The same lexemes without their space, and none is told from another. What most begin with comes first. The space is
# matched, since all of this would be tried at each blank of it, and so is the end, so that nothing is gone back over.
_TEXT: Final = re.compile(
    rf"\s*(?:\\\r?\n(?=\s*\S)\s*)*"
    rf"((?!{_PREFIX}[\"']){_NAME}|[()\[\]{{}},;]|=(?!=)|(?:{_PREFIX})?{STRING}|\#[^\r\n]*|{_NAME}|{_OPERATOR}|\S|\Z)",
    re.DOTALL,
)
_LAST_COMMA: Final = re.compile(r",[\s\\]*[)\]}]")

NO_CALLEES: Final = frozenset(
    "and assert await elif else for if in is lambda not or return while yield".split()  # noqa: SIM905 - as a list it fills a page
)
"""Words before a bracket that is no call, parameter list or subscript of theirs."""


class Lexeme(msgspec.Struct, gc=False, eq=False):
    """A word, operator, string or comment, with the space before it."""

    space: str
    text: str
    key: str
    """What is compared: the text without its manner of writing (quotes)."""


def lexemes(text: str) -> list[Lexeme]:
    """Cut a statement into its lexemes."""
    return [
        Lexeme(match["space"], found, _plain(found) if match.lastgroup == "string" else found)
        for match in _LEXEME.finditer(text)
        if (found := match[match.lastgroup or ""])
    ]


def words(text: str) -> list[str]:
    """Return the keys of the lexemes of a statement, in a third of the time that the lexemes take."""
    found: list[str] = _TEXT.findall(text)
    while found and not found[-1]:
        found.pop()
    if "'" not in text:
        return found
    if "'" in found:
        # Either a string that is not closed or, before a last backslash, no string at all.
        return [lexeme.key for lexeme in lexemes(text)]
    return [_plain(word) if word[-1] == "'" and word[0] != "#" else word for word in found]


def says_something(key: str) -> bool:
    """Tell whether a line is more than a word that stands in many places: ``else:``, ``return``, ``continue``."""
    return len(key) > len("continue") or "(" in key


_LONGEST: Final = 400
"""Characters of a statement up to which its key is remembered, so that what is held is bounded."""


def key(text: str) -> str:
    """Return what is compared of a statement: equal where only form differs.

    That is space, line joins, quotes, last commas, and parentheses around all of an expression.
    The sides of a merge have most statements in common, so keys are remembered.
    """
    return _known_key(text) if len(text) <= _LONGEST else _find_key(text)


def _find_key(text: str) -> str:
    found = words(text)
    if _LAST_COMMA.search(text):
        found = _telling(found)
    return SEPARATOR.join(plain(found))


_known_key = lru_cache(maxsize=32_768)(_find_key)


def _plain(text: str) -> str:
    """Return a string in double quotes: 'a' and "a" say the same when neither needs an escape."""
    if text[-1:] == "'" and not text.endswith("'''") and '"' not in text:
        return text.replace("'", '"')
    return text


def _telling(found: Sequence[str]) -> list[str]:
    """Leave out the commas before closing brackets that say nothing.

    ``(1,)`` is a tuple and ``x[1,]`` is indexed by one; everywhere else a last comma is a matter of form.
    """
    kept: list[str] = []
    # For each open bracket: whether one last comma alone would say something, and the commas so far.
    around: list[list[int]] = []
    for number, word in enumerate(found):
        if word in ("(", "[", "{"):
            before = found[number - 1] if number else ""
            follows = bool(before) and (before[-1].isalnum() or before[-1] in "_)]\"'") and before not in NO_CALLEES
            around.append([follows if word == "[" else word == "(" and not follows, 0])
        elif word in (")", "]", "}") and around:
            says, commas = around.pop()
            if kept[-1] == "," and not (says and commas == 1):
                kept.pop()
        elif word == "," and around:
            around[-1][1] += 1
        kept.append(word)
    return kept
