"""Which hunk of a patch each change of a carried file comes from, and the text of the variant that says so.

A *run* is what a unified diff shows between two context lines: neighbouring lines of which some are removed and some
added. A hunk of a variant has one or several, all of them with the hunk's id.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from patchkit.core.difference import CONTEXT
from patchkit.core.lines import lines_of
from patchkit.core.merging.alignment import line_edits
from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind
from patchkit.core.rebasing.spots import mapped

Lines = tuple[int, int]
"""A half-open range of 0-based lines."""


class Run(msgspec.Struct, frozen=True):
    """Neighbouring lines that change together."""

    old: Lines
    new: Lines
    ids: tuple[str, ...] = ()
    """The hunk it belongs to. Several where hunks grew together, none where it belongs to no hunk of the patch."""


class Traced(msgspec.Struct, frozen=True):
    """Lines of the base that the patch replaces, and what the carried text has for them."""

    base: Lines
    carried: Lines


def runs_of(file: FilePatch, starts: Iterable[int]) -> tuple[Run, ...]:
    """Return the runs of a file patch; ``starts`` has the 0-based line at which the old side of each hunk stands."""
    found: list[Run] = []
    shift = 0
    for hunk, start in zip(file.hunks, starts, strict=True):
        old, new = start, start + shift
        first: tuple[int, int] | None = None
        for line in (*hunk.lines, None):
            if line is None or line.kind is LineKind.CONTEXT:
                if first is not None:
                    found.append(Run((first[0], old), (first[1], new), (hunk.id,)))
                    first = None
            elif first is None:
                first = old, new
            old += line is not None and line.kind is not LineKind.ADDED
            new += line is not None and line.kind is not LineKind.REMOVED
        shift += len(hunk.new_lines) - len(hunk.old_lines)
    return tuple(found)


def changed_runs(before: bytes, after: bytes) -> tuple[Run, ...]:
    """Return the runs in which two texts differ, without ids, where git would show them."""
    found = line_edits(before, after)
    return tuple(Run((edit.old, edit.old_end), (edit.new, edit.new_end)) for edit in found)


class Lineage:
    """The hunks of a patch on its base, by which changes elsewhere are recognised.

    ``runs`` are the patch's own, with ids, from ``base`` to ``changed``.
    """

    def __init__(self, base: bytes, changed: bytes, runs: Sequence[Run]) -> None:
        self._base = base
        self._changed = lines_of(changed)
        # By hunk and number of added lines: what is asked for is one of these, and may be one of thousands.
        self._written: dict[tuple[tuple[str, ...], int], list[Sequence[bytes]]] = {}
        for run in runs:
            added = self._changed[slice(*run.new)]
            self._written.setdefault((run.ids, len(added)), []).append(added)
        # Whoever carries compares the texts anew, and may see a run begin at another line than its author wrote.
        self._runs = [msgspec.structs.replace(run, ids=_nearest_ids(run, runs)) for run in changed_runs(base, changed)]
        self._words = [_words(self._changed[slice(*run.new)]) for run in self._runs]

    def ids_in(self, lines: Lines) -> tuple[str, ...]:
        """Return the hunks with changes in the base's ``lines``, or if there are none the nearest to them, in order.

        Whoever carries may begin a change at a blank line above or below the one at which its author saw it begin.
        """
        found = [run for run in self._runs if _overlap(run.old, lines)]
        if not found:
            least = min((_gap(run.old, lines) for run in self._runs), default=0)
            found = [run for run in self._runs if _gap(run.old, lines) == least]
        return tuple(dict.fromkeys(name for run in found for name in run.ids))

    def label(self, before: bytes, after: bytes, traced: Sequence[Traced] = ()) -> tuple[Run, ...]:
        """Return the runs from ``before`` to ``after``, a carried text, each with the hunk it comes from.

        In this order: what was ``traced`` by whoever carried it; the lines of the base that stand at the same place; a
        hunk that adds the same lines (half of them at least), wherever it stands; a hunk at most three lines away.
        """
        to_base = line_edits(self._base, before)
        lines = lines_of(after)
        found: list[Run] = []
        free = 0
        for run in changed_runs(before, after):
            places = [trace.base for trace in traced if _overlap(trace.carried, run.new)]
            places = places or [(mapped(to_base, run.old[0]), _mapped_end(to_base, run.old))]
            ids = tuple(dict.fromkeys(name for place in places for name in self._touched(place, run, lines)))
            labelled = msgspec.structs.replace(run, ids=ids or self._alike(run, lines) or self._beside(places))
            found.append(self._as_written(labelled, lines, free))
            free = run.new[1]
        return tuple(found)

    def _as_written(self, run: Run, lines: Sequence[bytes], free: int) -> Run:
        """Slide an insertion up to where it adds the very lines that the hunk adds on its base.

        Where an insertion begins is a matter of taste if it ends as the text above it does; its author's is kept.
        ``free`` is the line of the carried text up to which the run may be slid.
        """
        if run.old[0] != run.old[1]:
            return run
        first, end = run.new
        wanted = self._written.get((run.ids, end - first), ())
        if not wanted:
            return run
        for up in range(first - free + 1):
            if up and lines[first - up] != lines[end - up]:
                break
            if lines[first - up : end - up] in wanted:
                old = run.old[0] - up
                return msgspec.structs.replace(run, old=(old, old), new=(first - up, end - up))
        return run

    def _touched(self, place: Lines, run: Run, lines: Sequence[bytes]) -> tuple[str, ...]:
        near = self._near(place)
        inside = [known for known in self._runs[near.start : near.stop] if _overlap(known.old, place)]
        if inside:
            return tuple(name for known in inside for name in known.ids)
        # Beside each other only: the one that says the same, or else the first.
        words = _words(lines[slice(*run.new)])
        best = max(near, key=lambda known: _likeness(words, self._words[known]), default=None)
        return () if best is None else self._runs[best].ids

    def _near(self, place: Lines) -> range:
        """Return the numbers of the runs that overlap lines of the base, or touch them."""
        # The runs stand in their order, and none overlaps another.
        first = bisect_left(self._runs, place[0], key=lambda known: known.old[1])
        return range(first, bisect_right(self._runs, place[1], lo=first, key=lambda known: known.old[0]))

    def _alike(self, run: Run, lines: Sequence[bytes]) -> tuple[str, ...]:
        words = _words(lines[slice(*run.new)])
        best = max(range(len(self._runs)), key=lambda known: _likeness(words, self._words[known]), default=None)
        return () if best is None or _likeness(words, self._words[best]) < 0.5 else self._runs[best].ids

    def _beside(self, places: Sequence[Lines]) -> tuple[str, ...]:
        """Return the nearest hunk, if it would have the place in its context: what is around is part of solving it."""
        gaps = [(_gap(known.old, place), number) for place in places for number, known in enumerate(self._runs)]
        gap, number = min(gaps, default=(CONTEXT + 1, 0))
        return self._runs[number].ids if gap <= CONTEXT else ()


def labelled_hunks(before: bytes, after: bytes, runs: Sequence[Run]) -> tuple[Hunk, ...]:
    """Return the hunks of a variant: neighbouring runs with the same id are one, whatever lies between them.

    Each run has one id at most. Where hunks stand close together they share the context between them, the first one
    taking more, so that none begins before the one above it ends.
    """
    old, new = lines_of(before), lines_of(after)
    groups: list[list[Run]] = []
    for run in runs:
        if groups and groups[-1][-1].ids == run.ids:
            groups[-1].append(run)
        else:
            groups.append([run])
    hunks: list[Hunk] = []
    for at, group in enumerate(groups):
        lead = min(CONTEXT, group[0].old[0])
        if at:
            lead = min(CONTEXT, _gap(groups[at - 1][-1].old, group[0].old) - _tail(groups[at - 1], group))
        tail = _tail(group, groups[at + 1]) if at + 1 < len(groups) else min(CONTEXT, len(old) - group[-1].old[1])
        hunks.append(_hunk(group, lead, tail, old, new))
    return tuple(hunks)


def twice(hunks: Sequence[Hunk]) -> list[str]:
    """Return the ids that more than one hunk has: a variant cannot say that."""
    return [name for name, count in Counter(hunk.id for hunk in hunks).items() if count > 1]


def _hunk(group: Sequence[Run], lead: int, tail: int, old: Sequence[bytes], new: Sequence[bytes]) -> Hunk:
    first, last = group[0], group[-1]
    start, new_start = first.old[0] - lead, first.new[0] - lead
    end, new_end = last.old[1] + tail, last.new[1] + tail
    lines: list[HunkLine] = []
    at = start
    for run in group:
        lines += [HunkLine(LineKind.CONTEXT, text) for text in old[at : run.old[0]]]
        lines += [HunkLine(LineKind.REMOVED, text) for text in old[slice(*run.old)]]
        lines += [HunkLine(LineKind.ADDED, text) for text in new[slice(*run.new)]]
        at = run.old[1]
    lines += [HunkLine(LineKind.CONTEXT, text) for text in old[at:end]]
    # An empty side is numbered by the line before it (the unified format of diff(1)).
    return Hunk(
        "".join(first.ids[:1]),
        start + 1 if end > start else start,
        new_start + 1 if new_end > new_start else new_start,
        tuple(lines),
    )


def _tail(group: Sequence[Run], following: Sequence[Run]) -> int:
    gap = _gap(group[-1].old, following[0].old)
    return min(CONTEXT, (gap + 1) // 2)


def _nearest_ids(run: Run, known: Sequence[Run]) -> tuple[str, ...]:
    inside = [other for other in known if _overlap(other.old, run.old) and _overlap(other.new, run.new)]
    if inside:
        return tuple(dict.fromkeys(name for other in inside for name in other.ids))
    nearest = min(known, key=lambda other: _gap(other.old, run.old) + _gap(other.new, run.new), default=None)
    return nearest.ids if nearest else ()


def _gap(one: Lines, two: Lines) -> int:
    """Return how many lines lie between two ranges; 0 when they touch or overlap."""
    return max(0, two[0] - one[1], one[0] - two[1])


def _overlap(one: Lines, two: Lines) -> bool:
    """Tell whether two ranges share a line, or are empty at the same place or one inside the other."""
    if one[0] == one[1] or two[0] == two[1]:
        return one[0] <= two[1] and two[0] <= one[1] and (one == two or _inside(one, two) or _inside(two, one))
    return one[0] < two[1] and two[0] < one[1]


def _inside(one: Lines, two: Lines) -> bool:
    return two[0] < one[0] and one[1] < two[1]


def _mapped_end(to_base: Sequence[tuple[int, int, int, int]], lines: Lines) -> int:
    first, end = lines
    return mapped(to_base, first) if end == first else mapped(to_base, end - 1) + 1


class _Words(NamedTuple):
    """What lines say, blanks around each aside."""

    counts: Counter[bytes]
    total: int


def _words(lines: Iterable[bytes]) -> _Words:
    counts = Counter(text for line in lines if (text := line.strip()))
    return _Words(counts, counts.total())


def _likeness(one: _Words, other: _Words) -> float:
    """Return which part of what two texts say both say, from 0 to 1."""
    # The first of two counters is gone through, and one may be of a hundred thousand lines.
    few, many = sorted((one.counts, other.counts), key=len)
    return 2 * (few & many).total() / max(1, one.total + other.total)
