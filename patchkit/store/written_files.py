"""Which files of a series patchkit writes, and which of them a rebase writes and removes.

What a person has beside the patches is not its business: README.md, a .gitignore, a script. And a rebase makes no patch
and takes none away. Whoever finds a write that was cut short in a series that came from somewhere knows by this which
is none of ours.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from patchkit.core.kept_names import why_kept
from patchkit.core.paths import why_outside
from patchkit.core.series import ROOMS
from patchkit.store.edit_room import leads_into_room
from patchkit.store.location import SERIES, VERSIONS
from patchkit.store.lock import GENERATED, LOCK
from patchkit.store.memory import RESOLUTIONS

_TOP = frozenset({LOCK, VERSIONS})
_GENERATED = re.compile(rf"{GENERATED}/[^/]+\.patch")
_RESOLUTION = re.compile(rf"{RESOLUTIONS}/[^/]+\.yaml")
_OF_A_PATCH = re.compile(r"([a-z0-9][a-z0-9-]*)/(?:patch\.yaml|variants/[^/]+\.patch)")
_FOLDER = re.compile(rf"{GENERATED}|{RESOLUTIONS}|([a-z0-9][a-z0-9-]*)(?:/variants)?")
_LONGEST = 255
"""Bytes of one name that systems take (NAME_MAX)."""

_WRITES = (
    f"a rebase writes {LOCK}, {VERSIONS}, {GENERATED}/*.patch and {RESOLUTIONS}/*.yaml, and of each patch patch.yaml "
    "and variants/*.patch"
)
_REMOVES = f"a rebase removes {GENERATED}/*.patch alone"


def why_not_written(series: Path, path: str, *, removed: bool) -> str | None:
    """Return why no rebase of the ``series`` writes (``removed``: removes) its file ``path``; None where one does.

    ``path`` is one from the folder of the series, with slashes. What is in its place by now is not looked at.
    """
    reason = why_outside(path) or why_kept(path) or _why_no_place(path)
    if reason is not None or _GENERATED.fullmatch(path):
        return reason
    return _REMOVES if removed else _why_never_written(series, path)


def is_written(path: str, *, folder: bool = False) -> bool:
    """Tell whether some command may write or remove the file ``path`` of a series, or make the ``folder`` for one.

    ``path`` is one from the folder of the series, with slashes.
    """
    if why_outside(path) or why_kept(path) or _why_no_place(path):
        return False
    if folder:
        return _FOLDER.fullmatch(path) is not None
    if path == SERIES or path in _TOP or _GENERATED.fullmatch(path) or _RESOLUTION.fullmatch(path):
        return True
    found = _OF_A_PATCH.fullmatch(path)
    return found is not None and found[1] not in ROOMS


def _why_no_place(path: str) -> str | None:
    if leads_into_room(path):
        return "it lies in the folder of unfinished rebases"
    return None if _is_a_name(path) else "no system has such names"


def _why_never_written(series: Path, path: str) -> str | None:
    if path in _TOP or _RESOLUTION.fullmatch(path):
        return None
    found = _OF_A_PATCH.fullmatch(path)
    if found is None or found[1] in ROOMS:
        return _WRITES
    return None if os.path.lexists(series / found[1] / "patch.yaml") else f"the series has no patch {found[1]!r}"


def _is_a_name(path: str) -> bool:
    try:
        return all(len(part) <= _LONGEST for part in os.fsencode(path).split(b"/"))
    except UnicodeEncodeError:
        return False
