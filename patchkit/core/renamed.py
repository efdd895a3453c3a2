"""A patch that uses a name which the target gave another one everywhere, carried with the new name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from patchkit.core.carried import CarriedHunk, CarryResult, Verdict
from patchkit.core.carrying import Carrying
from patchkit.core.lines import split_lines
from patchkit.core.merging.renames import Rename
from patchkit.core.merging.renaming import may_rename, renames, with_names

_BETTER = frozenset((Verdict.EXACT, Verdict.MOVED, Verdict.MERGED))


def renamed(
    base: bytes, changed: bytes, target: bytes, result: CarryResult, *, python: tuple[int, int] | None
) -> CarryResult | None:
    """Return the answer with the target's names in the patch's lines; None where that is no better than ``result``."""
    if not result.path.endswith((".py", ".pyi")) or changed in (base, target) or base == target:
        return None
    if not may_rename(base, changed, target):
        return None
    texts = [text.decode("utf-8", "surrogateescape") for text in (base, changed, target)]
    changes = renames(*texts)
    if not changes:
        return None
    old, new = (with_names(text, changes).encode("utf-8", "surrogateescape") for text in texts[:2])
    other = Carrying(old, new, target, result.path, python=python).result()
    # A name that is left, in a string say, is for a person.
    if other.content is None or any(re.search(rb"\b%b\b" % change.old.encode(), other.content) for change in changes):
        return None
    lines = split_lines(other.content)
    return msgspec.structs.replace(other, hunks=tuple(_told(hunk, changes, lines) for hunk in other.hunks))


def _told(hunk: CarriedHunk, changes: Sequence[Rename], lines: Sequence[bytes]) -> CarriedHunk:
    """Return a hunk that says which names in its lines are the target's."""
    if hunk.new is None or hunk.verdict is Verdict.UPSTREAMED:
        return hunk
    text = b"".join(lines[hunk.new.first - 1 : hunk.new.last])
    here = [change for change in changes if re.search(rb"\b%b\b" % change.new.encode(), text)]
    if not here:
        return hunk
    names = ", ".join(f"{change.old} is {change.new} in the target" for change in here)
    verdict = Verdict.RESTRUCTURED if hunk.verdict in _BETTER else hunk.verdict
    return msgspec.structs.replace(hunk, verdict=verdict, reason=f"{hunk.reason}; {names}")
