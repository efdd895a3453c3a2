"""Carrying one file's change from the text it was written for to another text.

In this order: lines that the two sides touch apart from each other (a place that did not change is *exact* or *moved*,
one whose surroundings did is *merged*); statement by statement and word by word where they touch (*restructured*,
Python only); otherwise a conflict, as data. What comes out is then looked at by the gates, and asks for review when one
fires. ``docs/carry.md`` tells how each verdict comes about.
"""

from __future__ import annotations

import re

from patchkit.core.carried import CarriedHunk, CarryResult, Conflict, Place, Status, Verdict
from patchkit.core.carrying import Carrying
from patchkit.core.comparison import is_python
from patchkit.core.context_only import carry_patch
from patchkit.core.line_endings import carried_with_endings
from patchkit.core.lines import split_lines
from patchkit.core.remembered import room_for
from patchkit.core.renamed import renamed
from patchkit.core.scopes import LARGEST_SOURCE, MODULE
from patchkit.core.uncollected import uncollected
from patchkit.core.versioned import carried_with_version

__all__ = ["CarriedHunk", "CarryResult", "Conflict", "Place", "Status", "Verdict", "carry_file", "carry_patch"]

LARGEST_TEXT = 16 << 20
"""Bytes of the largest text, other than Python's, that is merged: words are compared in lines of any length."""

# git writes a label behind them, other tools none.
_MARKERS = re.compile(rb"^<{7}(?: |\r?$)", re.MULTILINE), re.compile(rb"^>{7}(?: |\r?$)", re.MULTILINE)


def carry_file(
    base: bytes, changed: bytes, target: bytes, path: str, *, python: tuple[int, int] | None = None
) -> CarryResult:
    """Carry the change from ``base`` to ``changed`` over to ``target``.

    ``path`` decides by its suffix what the text is; ``python`` is the oldest Python version that the target promises to
    run on. The answer depends on the arguments alone. Nothing is raised, whatever the bytes are.
    """
    refused = _refuse(base, changed, target, path)
    if refused is not None:
        return CarryResult(path, Status.CONFLICT, None, (_whole(base, changed, target, refused),))

    def plainly(base: bytes, changed: bytes, target: bytes) -> CarryResult:
        result = Carrying(base, changed, target, path, python=python).result()
        return renamed(base, changed, target, result, python=python) or result

    def carry(base: bytes, changed: bytes, target: bytes) -> CarryResult:
        return carried_with_version(base, changed, target, path, plainly) or plainly(base, changed, target)

    try:
        with room_for(base, changed, target), uncollected():
            return carried_with_endings(base, changed, target, carry) or carry(base, changed, target)
    except RecursionError:
        reason = "the brackets nest too deep"
        return CarryResult(path, Status.CONFLICT, None, (_whole(base, changed, target, reason),))


def _refuse(base: bytes, changed: bytes, target: bytes, path: str) -> str | None:
    if changed in (base, target) or target == base:
        return None
    most = LARGEST_SOURCE if is_python(path) else LARGEST_TEXT
    if any(len(text) > most for text in (base, changed, target)):
        return f"a file of more than {most >> 20} MiB that both sides changed is not merged"
    if any(b"\0" in text for text in (base, changed, target)):
        return "a binary file that both sides changed cannot be merged"
    if _has_markers(target) and not _has_markers(base):
        return "the target has conflict markers in it"
    return None


def _has_markers(content: bytes) -> bool:
    # A search for a word is much quicker than one at the beginning of every line.
    return b"<<<<<<<" in content and all(marker.search(content) for marker in _MARKERS)


def _whole(base: bytes, changed: bytes, target: bytes, reason: str) -> CarriedHunk:
    old = Place(MODULE, 1, len(split_lines(base)))
    new = Place(MODULE, 1, len(split_lines(target)))
    return CarriedHunk(0, Verdict.CONFLICT, old, new, reason, conflict=Conflict(base, changed, target))
