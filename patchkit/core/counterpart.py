"""Which lines of another version to show beside lines of a base of which the whole texts have none in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from patchkit.core.merging.alignment import Edit, edits, partners

_TELLING = re.compile(r"\w{3}")
"""What a line has that says more than a bracket does."""
_SLACK = 6
"""Lines that the other version may have more among those that belong together."""


def counterpart(
    base: Sequence[str], target: Sequence[str], theirs: Sequence[Edit], lines: tuple[int, int], near: int | None = None
) -> Sequence[Edit]:
    """Return the edits from base to target by which the base lines ``lines`` (0-based, half-open) are shown.

    Those are ``theirs``, the edits of the whole texts, where they match half of the lines. What moved out of a function
    that was dissolved, or past other text, they may match with nothing: then the part of the target that has the most
    of these lines, however it indents them, is put beside them, and all before and behind is one edit. Of parts with
    equally many it is the one nearest to line ``near`` (0-based) of the target. Where no part has more lines than
    ``theirs`` match, it is those all the same.
    """
    first, end = lines
    told = {at: text for at, line in enumerate(base[first:end]) if _TELLING.search(text := line.strip())}
    partner = partners(theirs, len(base))
    matched = sum(partner[first + at] >= 0 for at in told)
    if 2 * matched >= len(told):
        return theirs
    part = _best_part(told, end - first, target, near)
    if part is None or part[0] <= matched:
        return theirs
    _, begin, stop = part
    mine, other = ([line.strip() for line in text] for text in (base[first:end], target[begin:stop]))
    among = [
        Edit(each.old + first, each.old_end + first, each.new + begin, each.new_end + begin)
        for each in edits(mine, other)
    ]
    return _joined_insertions([Edit(0, first, 0, begin), *among, Edit(end, len(base), stop, len(target))])


def _joined_insertions(found: Iterable[Edit]) -> list[Edit]:
    """Return edits that may touch each other; of what is put in at one place there is one."""
    out: list[Edit] = []
    for edit in found:
        if edit.old == edit.old_end and edit.new == edit.new_end:
            continue
        if out and edit.old == edit.old_end == out[-1].old:
            out[-1] = Edit(edit.old, edit.old_end, out[-1].new, edit.new_end)
        else:
            out.append(edit)
    return out


def _best_part(
    told: dict[int, str], length: int, target: Sequence[str], near: int | None
) -> tuple[int, int, int] | None:
    """Return how many of the lines ``told``, by their number of ``length``, a part of the target has, and the part."""
    numbers: dict[str, list[int]] = {}
    for at, text in told.items():
        numbers.setdefault(text, []).append(at)
    hits = [(place, found) for place, line in enumerate(target) if (found := numbers.get(line.strip())) is not None]
    best: tuple[int, int, int, int] | None = None
    counts: dict[int, int] = {}
    left = 0
    for place, found in hits:
        counts[found[0]] = counts.get(found[0], 0) + 1
        while hits[left][0] <= place - length - _SLACK:
            gone = hits[left][1][0]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            left += 1
        begin = max(0, hits[left][0] - hits[left][1][0])
        stop = min(len(target), place + length - found[-1])
        away = abs((begin + stop) // 2 - near) if near is not None else 0
        if best is None or (-len(counts), away) < best[:2]:
            best = -len(counts), away, begin, stop
    return (-best[0], *best[2:]) if best is not None else None
