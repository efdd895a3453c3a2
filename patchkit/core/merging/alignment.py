"""Which elements of one sequence stand in another: the matching that every merge begins with.

The matching is a longest common subsequence (bit-parallel, from rapidfuzz), so it depends on the two sequences alone.
Among equally long ones, runs of changed elements are then slid as far down as they go, or to where they meet a change
of the other side: the rule by which git settles the same question, so that a merge here and there agree.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rapidfuzz.distance import LCSseq

from patchkit.core.lines import lines_of
from patchkit.core.remembered import remembered

MOST_PAIRS: Final = 64_000_000
"""Old times new elements up to which all of them are matched at once, which takes a bit of memory for each pair.

Larger sequences are first cut at elements that both have once, as in a patience diff; where there are none they count
as changed throughout.
"""


class Edit(NamedTuple):
    """Elements ``[old, old_end)`` of one sequence became ``[new, new_end)`` of another; 0-based, both may be empty."""

    old: int
    old_end: int
    new: int
    new_end: int


def edits(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Edit]:
    """Return what changed from ``old`` to ``new``, in order; between two edits at least one element is common."""
    head = common_head(old, new)
    tail = common_tail(old, new, head)
    last, last_new = len(old) - tail, len(new) - tail
    if head == last and head == last_new:
        return []
    first, second = _numbered(old[head:last], new[head:last_new])
    found = _joined_up(_changes(first, second, Edit(0, len(first), 0, len(second))))
    return _slid([Edit(*(place + head for place in edit)) for edit in found], old, new)


@remembered(most=2_000_000)
def line_edits(old: bytes, new: bytes) -> tuple[Edit, ...]:
    """Return what ``edits`` does of the lines of two texts: a patch is the same wherever it is carried to."""
    return tuple(edits(lines_of(old), lines_of(new)))


@remembered(most=2_000_000)
def edited_lines(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Return the lines of two texts that only the old one, and only the new one has at their place."""
    found, lines, others = line_edits(old, new), lines_of(old), lines_of(new)
    gone = b"".join([b"".join(lines[edit.old : edit.old_end]) for edit in found])
    return gone, b"".join([b"".join(others[edit.new : edit.new_end]) for edit in found])


def _numbered(first: Sequence[Hashable], second: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Return the sequences with small numbers for their elements: equal if and only if the elements are."""
    elements = {*first, *second}
    numbers = dict(zip(elements, range(len(elements)), strict=True))
    return list(map(numbers.__getitem__, first)), list(map(numbers.__getitem__, second))


def _joined_up(found: Iterable[Edit]) -> list[Edit]:
    joined: list[Edit] = []
    for edit in found:
        meets = bool(joined) and joined[-1].old_end == edit.old and joined[-1].new_end == edit.new
        joined.append(_joined(joined.pop(), edit) if meets else edit)
    return joined


def _changes(first: Sequence[int], second: Sequence[int], box: Edit) -> Iterator[Edit]:
    """Yield what changed inside of ``box``."""
    old, old_end, new, new_end = box
    if old == old_end or new == new_end:
        if old < old_end or new < new_end:
            yield box
    elif (old_end - old) * (new_end - new) <= MOST_PAIRS:
        for opcode in LCSseq.opcodes(first[old:old_end], second[new:new_end]):
            if opcode.tag != "equal":
                yield Edit(old + opcode.src_start, old + opcode.src_end, new + opcode.dest_start, new + opcode.dest_end)
    else:
        anchors = _anchors(first, second, box)
        if not anchors:
            yield box
            return
        for one, two in [*anchors, (old_end, new_end)]:
            yield from _changes(first, second, Edit(old, one, new, two))
            old, new = one + 1, two + 1


def _anchors(first: Sequence[int], second: Sequence[int], box: Edit) -> list[tuple[int, int]]:
    """Return most elements that stand once on both sides of ``box`` such that both sides have them in one order."""
    old, old_end, new, new_end = box
    counts, others = Counter(first[old:old_end]), Counter(second[new:new_end])
    there = {second[at]: at for at in range(new, new_end) if others[second[at]] == 1}
    pairs = [(at, there[first[at]]) for at in range(old, old_end) if counts[first[at]] == 1 and first[at] in there]
    # The longest increasing run of the second numbers, by patience sorting.
    tops: list[int] = []
    ends: list[int] = []
    above: list[int] = []
    for number, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        tops[pile : pile + 1] = [place]
        ends[pile : pile + 1] = [number]
        above.append(ends[pile - 1] if pile else -1)
    found: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        found.append(pairs[at])
        at = above[at]
    return found[::-1]


def partners(found: Sequence[Edit], length: int) -> list[int]:
    """Return for each of ``length`` old elements the new element it stands for; -1 where it was changed."""
    to_new = [-1] * length
    at = shift = 0
    for edit in found:
        to_new[at : edit.old] = range(at + shift, edit.old + shift)
        at, shift = edit.old_end, edit.new_end - edit.old_end
    to_new[at:length] = range(at + shift, length + shift)
    return to_new


def _slid(found: list[Edit], first: Sequence[Hashable], second: Sequence[Hashable]) -> list[Edit]:
    """Slide each edit that only removes or only adds: onto a neighbour that it meets, else down as far as it goes."""
    settled: list[Edit] = []
    waiting = found[::-1]
    while waiting:
        edit = waiting.pop()
        if edit.old != edit.old_end and edit.new != edit.new_end:
            settled.append(edit)
            continue
        elements, start, end = second, edit.new, edit.new_end
        if edit.new == edit.new_end:
            elements, start, end = first, edit.old, edit.old_end
        below = waiting[-1].old - edit.old_end if waiting else len(first) - edit.old_end
        down = 0
        while down < below and elements[start + down] == elements[end + down]:
            down += 1
        if waiting and down == below:
            waiting.append(_joined(_shifted(edit, down), waiting.pop()))
            continue
        if settled:
            above = edit.old - settled[-1].old_end
            up = 0
            while up < above and elements[start - up - 1] == elements[end - up - 1]:
                up += 1
            if up == above:
                waiting.append(_joined(settled.pop(), _shifted(edit, -up)))
                continue
        settled.append(_shifted(edit, down))
    return settled


def _shifted(edit: Edit, by: int) -> Edit:
    return Edit(edit.old + by, edit.old_end + by, edit.new + by, edit.new_end + by)


def _joined(one: Edit, two: Edit) -> Edit:
    return Edit(one.old, two.old_end, one.new, two.new_end)


def common_head(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Return how many elements both sequences begin with."""
    # Slices are compared in C, which makes halving quicker than a loop.
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_tail(first: Sequence[Hashable], second: Sequence[Hashable], head: int) -> int:
    """Return how many elements both sequences end with, the first ``head`` of them left out."""
    low, high = 0, min(len(first), len(second)) - head
    while low < high:
        middle = (low + high + 1) // 2
        if first[len(first) - middle : len(first) - low] == second[len(second) - middle : len(second) - low]:
            low = middle
        else:
            high = middle - 1
    return low
