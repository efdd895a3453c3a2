"""What a path inside a tree may look like."""

from __future__ import annotations

import os

from patchkit.core.paths import shown, why_outside
from patchkit.errors import UnsafePathError


def checked(path: str) -> str:
    """Return ``path`` when it names a place inside a tree (`core/paths`), and this system can hold such a name.

    Raises UnsafePathError.
    """
    reason = why_outside(path) or (None if _can_be_a_name(path) else "it is not text that a file name can hold")
    if reason:
        raise UnsafePathError(f"{shown(path)} is not a path inside a tree: {reason}")
    return path


def _can_be_a_name(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True
