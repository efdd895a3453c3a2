"""Globs over the paths of a tree."""

from __future__ import annotations

import re
from functools import lru_cache

_WILD = re.compile(r"[*?]")


def is_glob(pattern: str) -> bool:
    """Tell whether ``pattern`` has a wildcard."""
    return _WILD.search(pattern) is not None


def glob_root(pattern: str) -> str:
    """Return the folder in front of the first part with a wildcard: ``a/b`` for ``a/b/**/*.py``."""
    fixed: list[str] = []
    for part in pattern.split("/"):
        if is_glob(part):
            break
        fixed.append(part)
    return "/".join(fixed)


def matches(pattern: str, path: str) -> bool:
    """Tell whether ``path`` matches: ``*`` stays within a folder, ``**`` crosses any number of them.

    A ``**`` at the end stands for every file below.
    """
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    for part in pattern.split("/"):
        if part == "**":
            parts.append("(?:[^/]+/)*")
        else:
            text = re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
            parts.append(text + "/")
    if pattern.endswith("**"):
        parts.append("[^/]+")
    return re.compile("".join(parts).removesuffix("/"))
