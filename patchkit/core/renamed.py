"""A patch that uses a name which the target gave another one everywhere, carried with the new name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

import msgspec

from patchkit.core.carried import CarriedHunk, CarryResult, Status, Verdict
from patchkit.core.carried_names import carried_names
from patchkit.core.carrying import Carrying
from patchkit.core.gating.alarm import Alarm, Rule
from patchkit.core.lines import split_lines
from patchkit.core.merging.renames import Rename
from patchkit.core.merging.renaming import may_rename, renames, with_names

_BETTER = frozenset((Verdict.EXACT, Verdict.MOVED, Verdict.MERGED))


def renamed(
    base: bytes, changed: bytes, target: bytes, result: CarryResult, *, python: tuple[int, int] | None
) -> CarryResult | None:
    """Return the answer with the target's names in the patch's lines; None where there is nothing to say of names.

    A clean answer is for review where a name in it may be what one of the sides calls otherwise.
    """
    if not result.path.endswith((".py", ".pyi")) or changed in (base, target) or base == target:
        return None
    mine = _with_targets_names(base, changed, target, result, python)
    return _with_patchs_names(base, changed, target, mine or result) or mine


def _with_patchs_names(base: bytes, changed: bytes, target: bytes, result: CarryResult) -> CarryResult | None:
    """Return a clean answer for review, where the target puts in a name to which the patch gives another one."""
    if result.status is not Status.CLEAN or not may_rename(base, target, changed):
        return None
    changes = renames(*(text.decode("utf-8", "surrogateescape") for text in (base, target, changed)))
    if not changes:
        return None
    theirs = carried_names(base, target, changes)
    if theirs is not None and not (theirs.is_renamed or theirs.is_doubtful):
        return None
    kept = theirs.kept if theirs is not None else frozenset()
    return _in_doubt(result, changes, kept, Rule.REMOVED_STILL_USED)


def _with_targets_names(
    base: bytes, changed: bytes, target: bytes, result: CarryResult, python: tuple[int, int] | None
) -> CarryResult | None:
    if not may_rename(base, changed, target):
        return None
    texts = [text.decode("utf-8", "surrogateescape") for text in (base, changed, target)]
    changes = renames(*texts)
    if not changes:
        return None
    mine = carried_names(base, changed, changes)
    if mine is None:
        return _in_doubt(result, changes, frozenset(), Rule.STALE_REFERENCE)
    if not (mine.is_renamed or mine.is_doubtful) and result.content is not None:
        # What the patch puts in under the old name is something else: the lines stand as they are.
        return None
    old = with_names(texts[0], changes).encode("utf-8", "surrogateescape")
    other = None if mine.is_doubtful else Carrying(old, mine.text, target, result.path, python=python).result()
    if other is None or other.content is None or any(_left(other.content, changes, mine.kept)):
        return _in_doubt(result, changes, mine.kept, Rule.STALE_REFERENCE)
    lines = split_lines(other.content)
    return msgspec.structs.replace(other, hunks=tuple(_told(hunk, changes, lines) for hunk in other.hunks))


def _left(content: bytes, changes: Sequence[Rename], kept: Set[bytes]) -> Iterator[tuple[int, Rename]]:
    """Yield the 1-based lines with an old name that is left, in a string say, which is for a person."""
    for change in changes:
        word = re.compile(rb"\b%b\b" % change.old.encode())
        if word.search(content):
            for number, line in enumerate(split_lines(content), 1):
                if line.strip() not in kept and word.search(line):
                    yield number, change


def _in_doubt(result: CarryResult, changes: Sequence[Rename], kept: Set[bytes], rule: Rule) -> CarryResult | None:
    """Return an answer that is clean for review, where it has an old name that may be what a side renamed."""
    if result.content is None or result.status is not Status.CLEAN:
        return None
    side = "target" if rule is Rule.STALE_REFERENCE else "patch"
    left = sorted({(line, change.old, change.new) for line, change in _left(result.content, changes, kept)})
    alarms = [Alarm(rule, line, old, f"{old} is {new} in the {side}, perhaps here too") for line, old, new in left]
    if not alarms:
        return None
    inside = [
        tuple(alarm for alarm in alarms if hunk.new and hunk.new.first <= alarm.line <= hunk.new.last)
        for hunk in result.hunks
    ]
    hunks = tuple(
        msgspec.structs.replace(hunk, alarms=hunk.alarms + mine)
        for hunk, mine in zip(result.hunks, inside, strict=True)
    )
    known = {alarm for mine in inside for alarm in mine}
    rest = tuple(alarm for alarm in alarms if alarm not in known)
    return msgspec.structs.replace(result, status=Status.REVIEW, hunks=hunks, alarms=result.alarms + rest)


def _told(hunk: CarriedHunk, changes: Sequence[Rename], lines: Sequence[bytes]) -> CarriedHunk:
    """Return a hunk that says which names in its lines are the target's."""
    if hunk.new is None or hunk.verdict is Verdict.UPSTREAMED:
        return hunk
    text = b"".join(lines[hunk.new.first - 1 : hunk.new.last])
    here = [change for change in changes if re.search(rb"\b%b\b" % change.new.encode(), text)]
    if not here:
        return hunk
    names = ", ".join(dict.fromkeys(f"{change.old} is {change.new} in the target" for change in here))
    verdict = Verdict.RESTRUCTURED if hunk.verdict in _BETTER else hunk.verdict
    return msgspec.structs.replace(hunk, verdict=verdict, reason=f"{hunk.reason}; {names}")
