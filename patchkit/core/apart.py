"""What is left to a person where lines do not say to which definition a change of the target belongs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from patchkit.core.comparison import Comparison
from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.pieces import Range


class Apart(NamedTuple):
    """The lines of the three sides, half-open and 0-based, that are left to a person together."""

    base: Range
    changed: Range
    target: Range


def left_apart(compared: Comparison, misplaced: Iterable[Edit]) -> list[Apart]:
    """Return the definitions of the base around ``misplaced`` changes of the target, in order and apart.

    No end of one lies in what a side changed, so that it has an end in each of the three texts.
    """
    wanted: list[Range] = []
    for edit in misplaced:
        around = compared.of_base.around(edit.old, edit.old_end)
        begin, end = (around[-1].line, compared.of_base.end(around[-1])) if around else (edit.old, edit.old_end)
        while end > begin and not compared.sides.base[end - 1].strip():
            end -= 1
        wanted.append((min(begin, edit.old), max(end, edit.old_end)))
    changed = [(edit.old, edit.old_end) for edit in (*compared.ours, *compared.theirs)]
    changed += [(region.base, region.base_end) for region in compared.regions]
    ranges = _joined([*wanted, *changed])
    begins = [begin for begin, _ in ranges]
    found = [ranges[at] for at in sorted({bisect_right(begins, begin) - 1 for begin, _ in wanted})]
    return list(map(Apart, found, _there(found, compared.ours), _there(found, compared.theirs)))


def _joined(ranges: Iterable[Range]) -> list[Range]:
    """Return the ranges in order, as one where they meet."""
    found: list[Range] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def _there(ranges: Iterable[Range], edits: Sequence[Edit]) -> Iterator[Range]:
    """Yield where a side has lines of the base: what it inserts at either end belongs to them."""
    places = [edit.old for edit in edits]
    growth = [0, *accumulate((edit.new_end - edit.new) - (edit.old_end - edit.old) for edit in edits)]
    for begin, end in ranges:
        yield begin + growth[bisect_left(places, begin)], end + growth[bisect_right(places, end)]
