"""Lines that a side moved: into another part of the file, and away from what the other side puts beside them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.lexemes import LineKind, LogicalLine
from patchkit.core.merging.pairing import likeness
from patchkit.core.merging.sides import MOST_PAIRS, Version
from patchkit.core.merging.words import says_something

Lines = Sequence[bytes]
Range = tuple[int, int]
"""Half-open, of 0-based lines."""

_FEW: Final = 8
"""Characters up to which a line says too little to be known again, such as ``return``."""


class Crossing(NamedTuple):
    """One line that a side moved: where it stood in the base and stands on that side, 0-based."""

    old: int
    new: int


def crossings(edits: Sequence[Edit], base: Sequence[bytes], side: Sequence[bytes]) -> list[Crossing]:
    """Return the lines that a side took out and put in elsewhere, in the order of the base.

    Only those that both texts have once, however indented: of others nobody knows which is which.
    """
    gone = {base[at].strip(): at for edit in edits for at in range(edit.old, edit.old_end)}
    come = {side[at].strip(): at for edit in edits for at in range(edit.new, edit.new_end)}
    both = {line for line in gone.keys() & come.keys() if len(line) > _FEW and not line.startswith(b"#")}
    if not both:
        return []
    for text in (base, side):
        times = Counter(filter(both.__contains__, map(bytes.strip, text)))
        both = {line for line in both if times[line] == 1}
    return sorted(Crossing(gone[line], come[line]) for line in both)


class Crossings:
    """What both sides moved from one part of the file into another, so that a part alone tells it wrong."""

    def __init__(
        self, ours: Sequence[Edit], theirs: Sequence[Edit], base: Lines, changed: Lines, target: Lines
    ) -> None:
        self._ours, self._theirs = crossings(ours, base, changed), crossings(theirs, base, target)
        self._ours_back, self._theirs_back = _back(self._ours), _back(self._theirs)
        self._near_ours, self._near_theirs = _near(ours), _near(theirs)

    def mislead(self, base: Range, changed: Range, target: Range) -> bool:
        """Tell whether a part looks there as if a line was gone that the other side changes, or inserts beside.

        Or as if both sides brought lines anew that both moved there, of which one side may have taken some out.
        """
        mine = {each.old for each in _left(self._ours, base, changed)}
        yours = {each.old for each in _left(self._theirs, base, target)}
        if not (mine.isdisjoint(self._near_theirs) and yours.isdisjoint(self._near_ours)):
            return True
        # Backwards: what came from elsewhere.
        come = {each.new for each in _left(self._ours_back, changed, base)}
        return any(each.new in come for each in _left(self._theirs_back, target, base))


def _near(edits: Sequence[Edit]) -> set[int]:
    """Return the lines of the base that a side changes, and those beside which it inserts."""
    inserted = {edit.old - below for edit in edits if edit.old == edit.old_end for below in (0, 1)}
    return inserted.union(at for edit in edits for at in range(edit.old, edit.old_end))


def _left(found: Sequence[Crossing], old: Range, new: Range) -> Iterator[Crossing]:
    """Yield those of the crossings, in order of their old lines, that go from ``old`` to elsewhere than ``new``."""
    for at in range(bisect_left(found, old[0], key=lambda each: each.old), len(found)):
        if found[at].old >= old[1]:
            return
        if not new[0] <= found[at].new < new[1]:
            yield found[at]


def _back(found: Sequence[Crossing]) -> list[Crossing]:
    return sorted(Crossing(each.new, each.old) for each in found)


def moved(side: Version, other: Version, edit: Edit) -> bool:
    """Tell whether ``side`` inserts beside a line that ``other`` moved past the place, or the other way round."""
    if edit.old == edit.old_end:
        return _moved_past(other, edit.old, side.lines[edit.new : edit.new_end])
    if not side.moved_lines.intersection(range(edit.old, edit.old_end)):
        return False
    return any(
        two.old == two.old_end
        and two.old in (edit.old, edit.old_end)
        and _moved_past(side, two.old, other.lines[two.new : two.new_end])
        for two in other.pairing.edits
    )


def _moved_past(mover: Version, place: int, inserted: Sequence[LogicalLine]) -> bool:
    """Tell whether a line beside ``place`` was moved and does not stand where it still comes before, or after, it.

    The order of imports says nothing.
    """
    imports = all(line.is_import for line in inserted)
    return any(
        spot in mover.moved_lines
        and not (imports and mover.base[spot].is_import)
        and not mover.keeps_order(spot, stays)
        for spot, stays in ((place - 1, place), (place, place - 1))
    )


def both_moved(one: Version, two: Version, ours: Sequence[LogicalLine], theirs: Sequence[LogicalLine]) -> bool:
    """Tell whether lines that both sides put in could be two versions of one line that both took out elsewhere."""
    gone = [
        line
        for at, line in enumerate(one.base)
        if one.to_new[at] < 0 and two.to_new[at] < 0 and line.kind is LineKind.CODE and says_something(line.key)
    ]
    if len(gone) * (len(ours) + len(theirs)) > MOST_PAIRS:
        return bool(gone)
    return any(any(likeness(line, new) for new in ours) and any(likeness(line, new) for new in theirs) for line in gone)


def import_went(side: Version, begin: int, end: int, place: Range) -> bool:
    """Tell whether a side has an import of the base's ``[begin, end)`` elsewhere than in ``place``, its lines for them.

    With other names too, as long as it imports one of them from the same module.
    """
    if not side.moved_lines.isdisjoint(range(begin, end)):
        return True
    taken = (_imported(side.base[at]) for at in range(begin, end) if side.to_new[at] < 0)
    gone = [one for one in taken if one[0]]
    if not gone:
        return False
    come = [
        _imported(side.lines[at])
        for edit in side.pairing.edits
        for at in range(edit.new, edit.new_end)
        if not place[0] <= at < place[1]
    ]
    return any(one[0] == two[0] and not one[1].isdisjoint(two[1]) for one in gone for two in come)


def _imported(line: LogicalLine) -> tuple[Sequence[str], frozenset[str]]:
    """Return the words of a module and the names that a line imports from it; empty for any other line."""
    words = line.words
    if not line.is_import or words[0] != "from" or "import" not in words:
        return (), frozenset()
    at = words.index("import")
    return words[1:at], frozenset(word for word in words[at + 1 :] if word.isidentifier() and word != "as")
