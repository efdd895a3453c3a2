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
    first, second = numbered(old, new)
    return edits_of_numbers(first, second)


def numbered(*sequences: Sequence[Hashable]) -> list[list[int]]:
    """Return the sequences with small numbers for their elements: equal if and only if the elements are."""
    numbers = {element: number for number, element in enumerate(set().union(*sequences))}
    return [list(map(numbers.__getitem__, sequence)) for sequence in sequences]


def edits_of_numbers(first: Sequence[int], second: Sequence[int]) -> list[Edit]:
    """Return what ``edits`` does, of sequences out of one call of ``numbered``: for who compares one with several."""
    head = _common_head(first, second)
    tail = _common_tail(first, second, head)
    last, last_new = len(first) - tail, len(second) - tail
    if head == last and head == last_new:
        return []
    return _slid(_joined_up(_changes(first, second, Edit(head, last, head, last_new))), first, second)


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


def _slid(found: list[Edit], first: Sequence[int], second: Sequence[int]) -> list[Edit]:
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


def _common_head(first: Sequence[int], second: Sequence[int]) -> int:
    # Slices are compared in C, which makes halving quicker than a loop.
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(first: Sequence[int], second: Sequence[int], head: int) -> int:
    low, high = 0, min(len(first), len(second)) - head
    while low < high:
        middle = (low + high + 1) // 2
        if first[len(first) - middle : len(first) - low] == second[len(second) - middle : len(second) - low]:
            low = middle
        else:
            high = middle - 1
    return low
