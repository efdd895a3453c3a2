"""Names in a tree that no patch may use: git's own, and those under which patchkit writes something there.

A patch that wrote its own record, journal or lock would say for patchkit what is applied, and what is to be undone.
"""

from __future__ import annotations

import re
from typing import Final

STATE: Final = ".patchkit"
"""Folder of the record of a tree, of journal and lock; in the metadata folder of one that was installed."""
MANIFEST: Final = f"{STATE}/manifest.json"
"""The record of a tree that was not installed."""
RECORD: Final = "patchkit.json"
"""Name of the record in a metadata folder (``*.dist-info``)."""
_UNFINISHED: Final = re.compile(r"\.patchkit-[0-9a-f]*-[0-9]+|\..*\.patchkit-[0-9a-f]{8}", re.DOTALL)
"""Names of hidden files that are to take another one's place (`trees/journal`, `unfinished`)."""

_OURS: Final = "is where patchkit keeps its own files"
_PASSING: Final = "is named like the files that patchkit makes beside others, and clears away"
_SHORT_GIT: Final = "git~1"


def _short(six: str, sum_: str, ending: str = "") -> re.Pattern[str]:
    """Return the short names that NTFS gives to a file, as git has them (path.c, is_ntfs_dot_generic).

    Of the first four of a folder the number is behind the first ``six`` letters; of others two of these and four digits
    of a sum over the name are in their place, and fewer where the number gets longer.
    """
    hashed = (six[:2] + sum_)[:6]
    cut = "|".join(f"{hashed[:count]}~[1-9][0-9]{{{6 - count}}}" for count in range(len(hashed) + 1))
    return re.compile(rf"(?:{six}~[1-4]|{cut}){ending}")


_SHORT_STATE: Final = _short("patchk", "b3e5")
_SHORT_RECORD: Final = _short("patchk", "0ae7", r"\.jso")
_SHORT_METADATA: Final = re.compile(r"[^.]{1,6}~[0-9]+\.dis")
_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
"""Characters that HFS+ leaves out of a name when it compares (git's utf8.c has the same list)."""


def why_kept(path: str) -> str | None:
    """Return why no patch may have a file at ``path``, a path with slashes; None where one may."""
    if leads_into_git(path):
        return "leads into a git repository"
    if leads_into_state(path):
        return _OURS
    above = ""
    for part in map(plain, path.split("/")):
        if part.startswith(".") and _UNFINISHED.fullmatch(part):
            return _PASSING
        if above.endswith(".dist-info") or _SHORT_METADATA.fullmatch(above):
            if part == RECORD or _SHORT_RECORD.fullmatch(part):
                return _OURS
            if part == "record":
                return "is a list that follows from the files of an installed tree"
        above = part
    return None


def leads_into_git(path: str) -> bool:
    """Tell whether a part of ``path`` is what some system takes for ``.git``."""
    if path.isascii() and "git" not in path.lower():
        return False  # as nearly always; a wheel has thousands of paths
    return any(plain(part) in (".git", _SHORT_GIT) for part in path.split("/"))


def leads_into_state(path: str) -> bool:
    """Tell whether a part of ``path`` is what some system takes for the folder of patchkit's record and journal."""
    if path.isascii() and "patchk" not in path.lower() and "~" not in path:
        return False
    return any(part == STATE or _SHORT_STATE.fullmatch(part) for part in map(plain, path.split("/")))


def plain(part: str) -> str:
    """Return what file systems of other systems take a name for: case, ignored characters, dots and spaces at the end.

    As git has it (core.protectHFS, core.protectNTFS).
    """
    return part.translate(_IGNORED).casefold().split(":", 1)[0].rstrip(" .")
