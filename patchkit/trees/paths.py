"""What a path inside a tree may look like."""

from __future__ import annotations

import os
from typing import Final

from patchkit.core.kept_names import leads_into_git
from patchkit.errors import UnsafePathError


def checked(path: str) -> str:
    """Return ``path`` when it names a place inside a tree: relative, forward slashes, no part that leads elsewhere.

    Raises UnsafePathError. A part ``.git`` is refused as git itself refuses it (fsck.hasDotgit): a patch file must not
    be able to plant a hook.
    """
    reason = _objection(path)
    if reason:
        shown = path if len(path) <= _LONGEST else path[:_SHOWN] + "..."
        raise UnsafePathError(f"{shown!r} is not a path inside a tree: {reason}")
    return path


_LONGEST: Final = 4000
"""Characters; systems take paths of 4096 bytes, the root's own included (PATH_MAX)."""
_SHOWN: Final = 80


def _objection(path: str) -> str | None:
    parts = path.split("/")
    objections = (
        (len(path) > _LONGEST, f"it has more than {_LONGEST} characters"),
        (path.startswith("/"), "it is absolute"),
        ("\\" in path, "it has a backslash"),
        ("\0" in path, "it has a NUL"),
        ("" in parts, "a part of it is empty"),
        ("." in parts or ".." in parts, "a part of it is '.' or '..'"),
        (path[1:2] == ":" and path[:1].isalpha(), "it begins with a drive letter"),
        (leads_into_git(path), "it leads into a git repository"),
        (not _can_be_a_name(path), "it is not text that a file name can hold"),
    )
    return next((reason for applies, reason in objections if applies), None)


def _can_be_a_name(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True
