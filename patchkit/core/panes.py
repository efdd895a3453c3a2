"""Three versions of the same lines next to each other: the base, what the patch makes of it, and what upstream made."""

# No postponed annotations here: msgspec would compile each one again at every start.
from collections.abc import Sequence
from typing import NamedTuple

from patchkit.core.merging.alignment import Edit, edits
from patchkit.core.report import Item


class PaneLine(Item, frozen=True):
    """One line of one version, without its ending."""

    number: int
    """1-based."""
    text: str
    same: bool
    """Whether it is the base's line."""


class PaneRow(Item, frozen=True):
    """One row of the three panes; None where a version has no line there. Without any it stands for rows left out."""

    base: PaneLine | None
    patch: PaneLine | None
    target: PaneLine | None


class _Cell(NamedTuple):
    """Lines of the two sides that belong to a stretch of base lines; half-open ranges of 0-based lines."""

    base: tuple[int, int]
    patch: tuple[int, int]
    target: tuple[int, int]
    patch_same: bool
    target_same: bool


LEFT_OUT = PaneRow(None, None, None)
"""Stands for rows that are left out."""


def pane_rows(
    base: Sequence[str],
    patch: Sequence[str],
    target: Sequence[str],
    first: int,
    last: int,
    *,
    theirs: Sequence[Edit] | None = None,
    most: int | None = None,
) -> tuple[PaneRow, ...]:
    """Return the rows for the base lines ``first`` to ``last`` (1-based, inclusive), and for what was put between them.

    Lines that a side changed are beside those that they replace; where a side has more lines than the base, the others
    have gaps. What was put in right above the first or right below the last of them is left out, and so is what a
    change that reaches out of them has more than the base. The texts are lines without endings; numbers beyond them are
    cut. ``theirs`` are the edits from base to target, where they are not to be those of the whole texts. Of more than
    ``most`` rows the first ones are made.
    """
    begin = min(max(0, first - 1), len(base))
    end = max(begin, min(last, len(base)))
    rows: list[PaneRow] = []
    for cell in _cells(edits(base, patch), edits(base, target) if theirs is None else theirs, len(base)):
        edge = cell.base[0] == cell.base[1] and (0 < begin == cell.base[0] or cell.base[0] == end < len(base))
        if edge or cell.base[1] < begin or cell.base[0] > end:
            continue
        height = max(stop - start for start, stop in cell[:3])
        for at in range(height):
            place = cell.base[0] + at
            inside = place < cell.base[1]
            if inside and not begin <= place < end:
                continue
            if not inside and cell.base[0] < cell.base[1] and not begin < cell.base[1] <= end:
                break
            if len(rows) == most:
                return tuple(rows)
            rows.append(
                PaneRow(
                    _line(base, cell.base, at, same=True),
                    _line(patch, cell.patch, at, same=cell.patch_same),
                    # Edits that are given may match lines with other blanks.
                    _line(
                        target,
                        cell.target,
                        at,
                        same=cell.target_same and inside and target[cell.target[0] + at] == base[place],
                    ),
                )
            )
    return tuple(rows)


def readable(rows: Sequence[PaneRow], around: int, most: int) -> tuple[PaneRow, ...]:
    """Return the rows if they are no more than ``most``, else those up to ``around`` from what the patch changed.

    Of more than ``most`` those nearer to it, and at last the first and the last lines that it changed. ``LEFT_OUT``
    stands for the others, which does not count.
    """
    if len(rows) <= most:
        return tuple(rows)
    # Where neither base nor patch has a line, the target alone does.
    own = [at for at, row in enumerate(rows) if not (row.patch.same if row.patch is not None else row.base is None)]
    kept: list[int] = []
    for reach in range(around, -1, -1):
        kept = sorted({at for middle in own for at in range(middle - reach, middle + reach + 1) if 0 <= at < len(rows)})
        if len(kept) <= most:
            break
    if len(kept) > most:
        kept = kept[: most - most // 2] + kept[len(kept) - most // 2 :]
    kept = kept or [*range(most)]
    out: list[PaneRow] = []
    before = -1
    for at in kept:
        out += [LEFT_OUT] * (at > before + 1)
        out.append(rows[at])
        before = at
    return (*out, *[LEFT_OUT] * (before + 1 < len(rows)))


def _line(lines: Sequence[str], span: tuple[int, int], at: int, *, same: bool) -> PaneLine | None:
    place = span[0] + at
    return PaneLine(place + 1, lines[place], same) if place < span[1] else None


def _cells(ours: Sequence[Edit], theirs: Sequence[Edit], length: int) -> list[_Cell]:
    """Cut the base at every edge of a change, and say what each side has for each piece.

    A change that runs over several pieces gives each as many lines as the base has there, and the last one the rest.
    """
    edges = sorted({0, length, *(at for side in (ours, theirs) for edit in side for at in (edit.old, edit.old_end))})
    put_in = {edit.old for side in (ours, theirs) for edit in side if edit.old == edit.old_end}
    pieces: list[tuple[int, int]] = []
    for start, stop in zip(edges, [*edges[1:], length], strict=True):
        if start in put_in:
            pieces.append((start, start))
        if stop > start:
            pieces.append((start, stop))
    left, right = _Side(ours), _Side(theirs)
    found: list[_Cell] = []
    for piece in pieces:
        mine, mine_same = left.piece(*piece)
        other, other_same = right.piece(*piece)
        found.append(_Cell(piece, mine, other, mine_same, other_same))
    return found


class _Side:
    """Where one side stands while the base is gone through piece by piece."""

    def __init__(self, changes: Sequence[Edit]) -> None:
        self._changes = changes
        self._next = 0
        """The first change that does not end before the piece."""
        self._at = 0

    def piece(self, start: int, stop: int) -> tuple[tuple[int, int], bool]:
        """Return this side's lines for the base's ``[start, stop)``, and whether they are the base's."""
        first = self._at
        while self._next < len(self._changes) and self._is_over(self._changes[self._next], start):
            self._next += 1
        # What is put in at the beginning of the piece comes before a change of its lines.
        for edit in self._changes[self._next : self._next + 2]:
            insertion = edit.old == edit.old_end
            if start == stop and insertion and edit.old == start:
                self._at = edit.new_end
                return (first, self._at), False
            if start < stop and not insertion and edit.old <= start and stop <= edit.old_end:
                self._at = edit.new_end if stop == edit.old_end else min(first + stop - start, edit.new_end)
                return (first, self._at), False
        self._at = first + stop - start
        return (first, self._at), True

    @staticmethod
    def _is_over(edit: Edit, start: int) -> bool:
        return edit.old_end < start or edit.old < edit.old_end == start
