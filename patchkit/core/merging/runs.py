"""Runs of statements that the target moved within a function, put where it has them so that a merge finds them there.

To a merge they are taken out and put in elsewhere, and what the patch changes inside of them has no place. What counts
as moved is told by the text alone: several lines in a row, word for word and only there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, groupby, islice
from typing import Final, NamedTuple

from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.lexemes import LineKind, LogicalLine
from patchkit.core.merging.logical import logical_lines
from patchkit.core.merging.original import original
from patchkit.core.merging.resolve import resolve_all
from patchkit.core.merging.resolved import Resolved
from patchkit.core.merging.sides import Version
from patchkit.core.merging.words import says_something

FEW: Final = 25
"""Words that a run must have at least to be known by them."""

_MOST_STEPS: Final = 2_000_000
"""Lines that are compared at most: where like lines stand everywhere, no run is known by them."""


class _TooManyError(Exception):
    """More lines would have to be compared than ``_MOST_STEPS``."""


class _Run(NamedTuple):
    """Lines ``[begin, end)`` of the base that the target has from ``there`` on, indented by ``columns`` more."""

    begin: int
    end: int
    there: int
    columns: int


def resolve_runs(base: str, changed: str, target: str) -> Resolved | None:
    """Merge three versions of a source of which the target moved runs of lines that the patch changes.

    None when there are none, when something cannot be brought together, or when it is not clear what belongs to one:
    the patch inserts at its edge, takes its first or last line out, or inserts where the target has it. None too where
    so many lines are alike that finding one would take seconds.
    """
    # A last line without an ending has no other place.
    if any(text and not text.endswith("\n") for text in (base, changed)):
        return None
    mine, yours = Version.of(base, changed), Version.of(base, target)
    edits = mine.pairing.edits
    try:
        moved = _Search(yours).moved(edits)
    except _TooManyError:
        return None
    runs = [run for run in moved if any(_is_inside(edit, run) for edit in edits)]
    if not runs:
        return None
    places = [_place(run, mine, yours) for run in runs]
    if any(place is None for place in places):
        return None
    old, ours = logical_lines(base), logical_lines(changed)
    old_order, our_order = list(range(len(old))), list(range(len(ours)))
    for run, place in zip(runs, places, strict=True):
        assert place is not None  # noqa: S101 - looked at above
        first, last = mine.to_new[run.begin], mine.to_new[run.end - 1]
        _move(old_order, range(run.begin, run.end), place)
        _move(our_order, range(first, last + 1), mine.to_new[place])
    columns = {at: run.columns for run in runs for at in range(run.begin, run.end)}
    our_columns = {
        at: run.columns for run in runs for at in range(mine.to_new[run.begin], mine.to_new[run.end - 1] + 1)
    }
    old = [old[at].moved(columns.get(at, 0)) for at in old_order]
    ours = [ours[at].moved(our_columns.get(at, 0)) for at in our_order]
    merged = resolve_all(_text(old), _text(ours), target)
    return merged and Resolved(merged.parts, list(original(merged.spans, old)))


def _is_inside(edit: Edit, run: _Run) -> bool:
    return (edit.old < run.end and run.begin < edit.old_end) or run.begin <= edit.old == edit.old_end <= run.end


class _Search:
    """The search for runs that a side moved. What it takes is counted: raises _TooManyError when it is too much."""

    def __init__(self, side: Version) -> None:
        self._side = side
        self._taken = set(side.to_new)
        self._steps = 0

    def moved(self, edits: Sequence[Edit]) -> list[_Run]:
        """Return the runs, in the order of the base, as far as ``edits`` could change one of them.

        A run lies in a row of lines that have no line on that side, so that a row that no edit touches, or that has
        too few words for a run, need not be read.
        """
        side = self._side
        rows = [[*row] for is_gone, row in groupby(range(len(side.base)), lambda at: side.to_new[at] < 0) if is_gone]
        rows = [row for row in rows if any(edit.old <= row[-1] + 1 and row[0] <= edit.old_end for edit in edits)]
        rows = [row for row in rows if _has_few(side.base[row[0] : row[-1] + 1])]
        wanted = {side.base[at].key for row in rows for at in row}
        spots: dict[str, list[int]] = {}
        for at, line in enumerate(side.lines) if wanted else ():
            if at not in self._taken and line.key in wanted:
                spots.setdefault(line.key, []).append(at)
        found: list[_Run] = []
        for row in rows:
            at = row[0]
            while at <= row[-1]:
                there = spots.get(side.base[at].key, []) if side.base[at].text else []
                runs = [self._longest(at, spot) for spot in there]
                best = max(runs, key=lambda run: run.end, default=None)
                if best is not None and sum(run.end == best.end for run in runs) == 1 and self._is_telling(best):
                    found.append(best)
                    at = best.end
                else:
                    at += 1
        return found

    def _longest(self, begin: int, there: int) -> _Run:
        side, taken = self._side, self._taken
        columns = side.lines[there].indent - side.base[begin].indent
        end, spot = begin, there
        while (
            end < len(side.base)
            and spot < len(side.lines)
            and side.to_new[end] < 0
            and spot not in taken
            and side.base[end].key == side.lines[spot].key
            # The lines of a string may have stayed where they were.
            and (side.base[end].is_inside or side.lines[spot].indent - side.base[end].indent == columns)
        ):
            end, spot = end + 1, spot + 1
        self._step(1 + end - begin)
        return _Run(begin, end, there, columns)

    def _is_telling(self, run: _Run) -> bool:
        side = self._side
        lines = side.base[run.begin : run.end]
        keys = [line.key for line in lines]
        return (
            _has_few(lines)
            and not any(line.definition for line in lines)
            and side.is_home(run.begin, run.there)
            and self._is_once(keys, side.base)
            and self._is_once(keys, side.lines)
        )

    def _is_once(self, keys: Sequence[str], lines: Sequence[LogicalLine]) -> bool:
        found = 0
        for at in range(len(lines) - len(keys) + 1):
            if lines[at].key == keys[0]:
                self._step(len(keys))
                found += [line.key for line in lines[at : at + len(keys)]] == keys
        return found == 1

    def _step(self, lines: int) -> None:
        self._steps += lines
        if self._steps > _MOST_STEPS:
            raise _TooManyError


def _has_few(lines: Sequence[LogicalLine]) -> bool:
    """Tell whether lines say as much as a run must: two statements and ``FEW`` words."""
    code = (line for line in lines if line.kind is LineKind.CODE and says_something(line.key))
    words = accumulate(len(line.words) for line in lines)
    return len([*islice(code, 2)]) == 2 and any(count >= FEW for count in words)


def _place(run: _Run, mine: Version, yours: Version) -> int | None:
    """Return the base's line behind which the target has a run; None when it is not clear what the patch has there."""
    to_base = {there: at for at, there in enumerate(yours.to_new) if there >= 0}
    before = next((to_base[spot] for spot in range(run.there - 1, -1, -1) if spot in to_base), None)
    if before is None or mine.to_new[before] < 0 or mine.to_new[run.begin] < 0 or mine.to_new[run.end - 1] < 0:
        return None
    if any(edit.old == edit.old_end and edit.old in (run.begin, run.end, before + 1) for edit in mine.pairing.edits):
        return None
    inside = range(mine.to_new[run.begin], mine.to_new[run.end - 1] + 1)
    partners = [mine.to_new[at] for at in range(run.begin, run.end) if mine.to_new[at] >= 0]
    return before if all(at in inside for at in partners) else None


def _move(order: list[int], block: range, behind: int) -> None:
    """Put the lines of a block behind the line ``behind``."""
    rest = [at for at in order if at not in block]
    spot = rest.index(behind) + 1
    order[:] = [*rest[:spot], *block, *rest[spot:]]


def _text(lines: Sequence[LogicalLine]) -> str:
    return "".join(line.full for line in lines)
