"""Where the conflicts of a carried file stand in its base and in its target."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from patchkit.core.carry import Conflict
from patchkit.core.lines import lines_of, split_lines
from patchkit.core.merging.alignment import edits


class Spot(msgspec.Struct, frozen=True):
    """One conflict and its lines; half-open ranges of 0-based lines."""

    conflict: Conflict
    base: tuple[int, int]
    target: tuple[int, int]


def spots(parts: Sequence[bytes | Conflict], base: bytes, target: bytes) -> tuple[Spot, ...]:
    """Return the place of each conflict in ``parts``, in order."""
    in_base = _ranges(parts, [part.base for part in parts if isinstance(part, Conflict)], base)
    in_target = _ranges(parts, [part.target for part in parts if isinstance(part, Conflict)], target)
    found = [part for part in parts if isinstance(part, Conflict)]
    return tuple(Spot(*each) for each in zip(found, in_base, in_target, strict=True))


def joined(parts: Sequence[bytes | Conflict], whose: Sequence[tuple[str, ...]]) -> tuple[bytes | Conflict, ...]:
    """Return the parts with conflicts that touch each other made one, where ``whose``, of each conflict, is the same.

    The engine cuts finer than a person does: who solves two conflicts with nothing between them writes one text in
    their place, which could not be told to belong to either. Those of different hunks may be decided differently.
    """
    out: list[bytes | Conflict] = []
    owners = iter(whose)
    before: tuple[str, ...] = ()
    for part in parts:
        if isinstance(part, bytes):
            out.append(part)
            continue
        own = next(owners)
        last = out[-1] if out else None
        if isinstance(last, Conflict) and own == before:
            out[-1] = Conflict(last.base + part.base, last.changed + part.changed, last.target + part.target)
        else:
            out.append(part)
        before = own
    return tuple(out)


def _ranges(parts: Sequence[bytes | Conflict], sides: Sequence[bytes], text: bytes) -> list[tuple[int, int]]:
    """Return where each of ``sides`` stands in ``text``, which differs from the parts' text outside of them."""
    only = [_only_place(side, text) for side in sides]
    if None not in only:
        # Wherever the edits lead, no other place has these lines.
        return [
            (first, first + len(split_lines(side)))
            for first, side in zip(only, sides, strict=True)
            if first is not None
        ]
    whole: list[bytes] = []
    own: list[tuple[int, int]] = []
    given = iter(sides)
    for part in parts:
        first = len(whole)
        whole += split_lines(part if isinstance(part, bytes) else next(given))
        if isinstance(part, Conflict):
            own.append((first, len(whole)))
    lines = lines_of(text)
    changed = edits(lines, whole)
    found: list[tuple[int, int]] = []
    for first, end in own:
        begin = mapped(changed, first)
        length = end - first
        # The lines of a conflict stand in the text together, so that where the first one is says where all are.
        if [*lines[begin : begin + length]] != whole[first:end]:
            begin = _nearest(lines, whole[first:end], begin)
        found.append((begin, begin + length))
    return found


def _only_place(side: bytes, text: bytes) -> int | None:
    """Return the line at which the lines of ``side`` stand in ``text``; None for no lines, and unless they do once."""
    found: int | None = None
    at = text.find(side) if side else -1
    while at >= 0:
        begins = at == 0 or text[at - 1 : at] == b"\n"
        # A line without an ending is the last one.
        if begins and (side.endswith(b"\n") or at + len(side) == len(text)):
            if found is not None:
                return None
            found = at
        at = text.find(side, at + 1)
    return None if found is None else text.count(b"\n", 0, found)


def mapped(changed: Sequence[tuple[int, int, int, int]], line: int) -> int:
    """Return the old line that the new ``line`` stands for; ``changed`` has the edits from old to new.

    Inside of an edit it is the line as far from the edit's end, but not before its start.
    """
    shift = 0
    for old, old_end, new, new_end in changed:
        if line < new:
            break
        if line < new_end:
            return max(old, old_end - (new_end - line))
        shift = old_end - new_end
    return line + shift


def _nearest(lines: Sequence[bytes], wanted: Sequence[bytes], near: int) -> int:
    """Return where ``wanted`` stands nearest to ``near``; ``near`` when it stands nowhere."""
    places = [at for at in range(len(lines) - len(wanted) + 1) if list(lines[at : at + len(wanted)]) == list(wanted)]
    return min(places, key=lambda at: abs(at - near), default=near)
