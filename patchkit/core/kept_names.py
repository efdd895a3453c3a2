"""Names in a tree that no patch may use: git's own, and those under which patchkit writes something there.

A patch that wrote its own record, journal or lock would say for patchkit what is applied, and what is to be undone.
"""

from __future__ import annotations

from typing import Final

STATE: Final = ".patchkit"
"""Folder of the record of a tree, of journal and lock; in the metadata folder of one that was installed."""
MANIFEST: Final = f"{STATE}/manifest.json"
"""The record of a tree that was not installed."""
RECORD: Final = "patchkit.json"
"""Name of the record in a metadata folder (``*.dist-info``)."""
UNFINISHED: Final = ".patchkit-"
"""In the names of hidden files that are to take another one's place: ``.patchkit-...``, ``.NAME.patchkit-...``."""

_OURS: Final = "is where patchkit keeps its own files"
_SHORT_GIT: Final = "git~1"
_SHORT_STATE: Final = "patchk~1"
"""The short names that NTFS gives to ``.git`` and ``.patchkit``."""
_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
"""Characters that HFS+ leaves out of a name when it compares (git's utf8.c has the same list)."""


def why_kept(path: str) -> str | None:
    """Return why no patch may have a file at ``path``, a path with slashes; None where one may."""
    if leads_into_git(path):
        return "leads into a git repository"
    if leads_into_state(path):
        return _OURS
    above = ""
    for part in map(_plain, path.split("/")):
        if part.startswith(".") and UNFINISHED in part:
            return _OURS
        if above.endswith(".dist-info") and part in (RECORD, "record"):
            return _OURS if part == RECORD else "is a list that follows from the files of an installed tree"
        above = part
    return None


def leads_into_git(path: str) -> bool:
    """Tell whether a part of ``path`` is what some system takes for ``.git``."""
    if path.isascii() and "git" not in path.lower():
        return False  # as nearly always; a wheel has thousands of paths
    return any(_plain(part) in (".git", _SHORT_GIT) for part in path.split("/"))


def leads_into_state(path: str) -> bool:
    """Tell whether a part of ``path`` is what some system takes for the folder of patchkit's record and journal."""
    if path.isascii() and "patchk" not in path.lower():
        return False
    return any(_plain(part) in (STATE, _SHORT_STATE) for part in path.split("/"))


def _plain(part: str) -> str:
    """Return what file systems of other systems take a name for: case, ignored characters, dots and spaces at the end.

    As git has it (core.protectHFS, core.protectNTFS).
    """
    return part.translate(_IGNORED).casefold().split(":", 1)[0].rstrip(" .")
