"""A patch and a target that both set the package's version: the higher one holds, and the hunk says which."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from patchkit.core.carried import CarriedHunk, CarryResult, Verdict
from patchkit.core.merging.package_version import Winner, holds, package_version, with_values

Carry = Callable[[bytes, bytes, bytes], CarryResult]
"""Carries base to changed over to target."""


def carried_with_version(base: bytes, changed: bytes, target: bytes, path: str, carry: Carry) -> CarryResult | None:
    """Return the answer where both sides set the package's version, or one part of it, to different ones; else None.

    Where nobody can tell which is higher the version is a conflict and says why. Parts that only one side sets are
    changes like any other: a release that one side raised by a bug fix and the other by a feature has both.
    """
    if changed == target or base in (changed, target):
        return None
    old = package_version(path, base)
    if old is None:
        return None
    ours, theirs = (package_version(path, text) for text in (changed, target))
    if ours is None or theirs is None or len({len(each.values) for each in (old, ours, theirs)}) > 1:
        return None
    if not any(len({*values}) == 3 for values in zip(old.texts, ours.texts, theirs.texts, strict=True)):
        return None
    rows = [base.count(b"\n", 0, value.first) + 1 for value in old.values]
    winner = holds(old.text, ours.text, theirs.text)
    if not isinstance(winner, Winner):
        return _with_hunks(carry(base, changed, target), rows, lambda hunk: _refused(hunk, winner))
    if winner is Winner.CHANGED:
        # Both sides make one change of it then, and so below.
        result = carry(base, changed, with_values(target, theirs, ours.texts))
        note = f"both sides set the version, and the patch's {ours.text} goes in: it is higher than {theirs.text}"
        verdict = Verdict.RESTRUCTURED
    else:
        parts = list(zip(old.texts, ours.texts, theirs.texts, strict=True))
        # The same lines as before have to differ, or the report would have more hunks than the patch, or fewer.
        before = [was if mine == was or was != yours else mine for was, mine, yours in parts]
        after = [was if mine == was else yours for was, mine, yours in parts]
        result = carry(with_values(base, old, before), with_values(changed, ours, after), target)
        note = f"both sides set the version, and the target's {theirs.text} stays: it is higher than {ours.text}"
        verdict = Verdict.SUPERSEDED

    def told(hunk: CarriedHunk) -> CarriedHunk:
        if hunk.verdict is Verdict.UPSTREAMED:
            return msgspec.structs.replace(hunk, verdict=verdict, reason=note)
        return msgspec.structs.replace(hunk, reason=f"{hunk.reason}; {note}")

    return _with_hunks(result, rows, told)


def _refused(hunk: CarriedHunk, reason: str) -> CarriedHunk:
    return msgspec.structs.replace(hunk, reason=reason) if hunk.verdict is Verdict.CONFLICT else hunk


def _with_hunks(result: CarryResult, rows: Sequence[int], told: Callable[[CarriedHunk], CarriedHunk]) -> CarryResult:
    """Return an answer in which the hunks with one of the base's 1-based ``rows`` are told in another way."""
    hunks = tuple(
        told(hunk) if any(hunk.old.first <= row <= hunk.old.last for row in rows) else hunk for hunk in result.hunks
    )
    return msgspec.structs.replace(result, hunks=hunks)
