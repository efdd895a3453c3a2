"""TOML text to values; the only importer of tomllib."""

from __future__ import annotations

import re
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[import-not-found, no-redef, unused-ignore]

_MOST_PARTS = 100
"""Parts of a dotted key. Time and memory that reading takes are the square of them: of 50,000, a minute and 9 GiB."""
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_TOKEN = re.compile(r"[\w-]+|\.|[^\s\w.-]")


class TomlLimitError(ValueError):
    """A text that is TOML perhaps, and is not read."""


def parse_toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML document.

    Raises ValueError, with the place in its words, when it is none, and TomlLimitError for keys and values that take
    too long, or too much of the stack.
    """
    for number, line in enumerate(text.split("\n"), 1):
        # Few lines have so many dots, and only in those it is worth looking what stands between them.
        if line.count(".") >= _MOST_PARTS and _parts(line) > _MOST_PARTS:
            raise TomlLimitError(f"it has a key of more than {_MOST_PARTS} parts (at line {number})")
    try:
        return dict(tomllib.loads(text))
    except RecursionError as error:
        raise TomlLimitError("it is nested too deep to be read") from error


def _parts(line: str) -> int:
    """Return how many parts the longest dotted key has that may stand in a line; a quoted part counts as any other."""
    longest = count = 0
    is_dotted = False
    for word in _TOKEN.findall(_STRING.sub("quoted", line)):
        if word == ".":
            is_dotted = True
            continue
        is_part = word[0].isalnum() or word[0] in "_-"
        count = (count + 1 if is_dotted else 1) if is_part else 0
        longest, is_dotted = max(longest, count), False
    return longest
