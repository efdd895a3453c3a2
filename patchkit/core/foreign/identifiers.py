"""Names in lines of code, read without a parser: the lines of a hunk are rarely a whole program."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

_TOKEN = re.compile(
    r"""(?P<text>[rbfuRBFU]{0,2}(?:\"{3}.*?(?:\"{3}|$)|'{3}.*?(?:'{3}|$)|\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\"|"""
    r"""'[^'\\\n]*(?:\\.[^'\\\n]*)*'))"""
    r"""|(?P<comment>\#.*)|(?P<name>[A-Za-z_]\w*)""",
    re.DOTALL,
)
_OPTION = re.compile(r"""[\"'](?:--)?([A-Za-z_][\w-]*)[\"']""")
_DEFINES = re.compile(
    r"^\s*(?:async\s+)?(?:def|class)\s+(\w+)|^\s*(?:self\.|cls\.)?(\w+)\s*(?::[^=\n]*)?(?:=(?!=)|,?$)|^\s*(\w+)\s*:|"
    r"[\"']--([\w-]+)[\"']|\bimport\s+(?:[\w.]+\s+as\s+)?(\w+)",
    re.MULTILINE,
)
_COMMON = frozenset({*keyword.kwlist, *dir(builtins), "self", "cls", "args", "kwargs", "_"})
"""Names that say nothing about what a change is for."""


def names(lines: Iterable[bytes]) -> frozenset[str]:
    """Return the identifiers in lines of code: comments left out, and texts too unless they are one word.

    A text that is one word is the name of an option, an attribute or an environment variable: ``"--make-vocab"`` counts
    as ``make_vocab``, as argparse has it.
    """
    found: set[str] = set()
    for line in lines:
        for match in _TOKEN.finditer(line.decode("utf-8", "replace").rstrip()):
            if match["name"]:
                found.add(match["name"])
            elif match["text"] and (option := _OPTION.fullmatch(match["text"])):
                found.add(option[1].replace("-", "_"))
    return frozenset(found - _COMMON)


def defined(lines: Iterable[bytes]) -> frozenset[str]:
    """Return the names that lines of code seem to bring in: functions, fields, parameters, options, imports."""
    text = "\n".join(line.decode("utf-8", "replace").rstrip() for line in lines)
    found = {(next(group for group in match.groups() if group)).replace("-", "_") for match in _DEFINES.finditer(text)}
    return frozenset(found - _COMMON)


def words(name: str) -> list[str]:
    """Return the words of an identifier, lower case: ``_FakeInt4Ste`` and ``fake_int4_ste`` are the same three."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return [word.lower() for word in re.split(r"[^A-Za-z0-9]+", spaced) if word]


def slug(*parts: str, limit: int = 48) -> str:
    """Return a name for files and ids (lower case, digits, hyphens): at most ``limit`` characters, whole words."""
    pieces = [word for part in parts for word in words(part)] or ["change"]
    made = pieces[0][:limit]
    for piece in pieces[1:]:
        if len(made) + 1 + len(piece) > limit:
            break
        made = f"{made}-{piece}"
    return made
