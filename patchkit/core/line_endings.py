"""A patch and a target whose lines end in different ways: the patch's lines get the target's endings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from patchkit.core.carried import CarryResult, Conflict

_CRLF: Final = b"\r\n"
_NAMES: Final = {b"\n": "LF", _CRLF: "CRLF"}

Carry = Callable[[bytes, bytes, bytes], CarryResult]
"""Carries base to changed over to target."""


def ending(text: bytes) -> bytes | None:
    """Return how all lines of a text end; None when it has no whole line, or lines of both kinds."""
    lines, wide = text.count(b"\n"), text.count(_CRLF)
    if not lines or wide not in (0, lines):
        return None
    return _CRLF if wide else b"\n"


def carried_with_endings(base: bytes, changed: bytes, target: bytes, carry: Carry) -> CarryResult | None:
    """Return the answer where base and patch end their lines in one way and the target in the other; else None.

    The content has the target's endings, conflicts have those of their side, and every hunk says so.
    """
    if b"\r" not in base and b"\r" not in target:
        return None
    old, new = ending(base), ending(target)
    if old is None or new is None or old == new or ending(changed) != old:
        return None
    result = carry(with_ending(base, new), with_ending(changed, new), target)
    note = f"; its lines end in {_NAMES[new]} as the target's do"

    def as_it_was(conflict: Conflict) -> Conflict:
        return Conflict(with_ending(conflict.base, old), with_ending(conflict.changed, old), conflict.target)

    hunks = tuple(
        msgspec.structs.replace(
            hunk, reason=hunk.reason + note, conflict=None if hunk.conflict is None else as_it_was(hunk.conflict)
        )
        for hunk in result.hunks
    )
    parts = tuple(as_it_was(part) if isinstance(part, Conflict) else part for part in result.parts)
    return msgspec.structs.replace(result, hunks=hunks, parts=parts)


def with_ending(text: bytes, end: bytes) -> bytes:
    """Return a text whose lines end in one way with another line ending."""
    narrow = text.replace(_CRLF, b"\n")
    return narrow if end == b"\n" else narrow.replace(b"\n", _CRLF)
