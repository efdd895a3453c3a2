"""Paths of a tree: what one may look like, and globs over them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from patchkit.core.kept_names import leads_into_git

_WILD = re.compile(r"[*?]")

_LONGEST: Final = 4000
"""Characters; systems take paths of 4096 bytes, the root's own included (PATH_MAX)."""
DEEPEST: Final = 256
"""Folders in each other; no project has a tenth of that. Much goes through folders by recursion, such as rmtree."""


def why_outside(path: str) -> str | None:
    """Return why ``path`` names no place inside a tree; None where it does.

    It does when it is relative, with forward slashes, and no part leads elsewhere. A part ``.git`` is refused as git
    itself refuses it (fsck.hasDotgit): a patch file must not be able to plant a hook.
    """
    parts = path.split("/")
    objections = (
        (len(path) > _LONGEST, f"it has more than {_LONGEST} characters"),
        (is_too_deep(path), f"it is nested more than {DEEPEST} folders deep"),
        (path.startswith("/"), "it is absolute"),
        ("\\" in path, "it has a backslash"),
        ("\0" in path, "it has a NUL"),
        ("" in parts, "a part of it is empty"),
        ("." in parts or ".." in parts, "a part of it is '.' or '..'"),
        (path[1:2] == ":" and path[:1].isalpha(), "it begins with a drive letter"),
        (leads_into_git(path), "it leads into a git repository"),
    )
    return next((reason for applies, reason in objections if applies), None)


def is_too_deep(path: str) -> bool:
    """Tell whether a file at ``path`` has more folders above it than a tree may have in each other."""
    return path.count("/") > DEEPEST


def shown(path: str) -> str:
    """Return a path for a message: quoted, and cut where it is too long for any system, or too deep."""
    return repr(path[:80] + "..." if len(path) > _LONGEST or is_too_deep(path) else path)


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
