"""The report on every hunk of a file that was carried."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from patchkit.core.carried import CarriedHunk, Place, Verdict
from patchkit.core.comparison import Comparison
from patchkit.core.gating.alarm import Alarm
from patchkit.core.gating.drift import Drift, drifts
from patchkit.core.merging.merge import Region
from patchkit.core.merging.obsolete import why_obsolete
from patchkit.core.merging.pieces import Spans
from patchkit.core.merging.resolved import Span
from patchkit.core.merging.surroundings import outline

CONTEXT: Final = 3
"""Lines on each side that must be the base's for a change to count as exact or moved, as in a unified diff."""

SIGNATURE: Final = 40
"""Lines that a signature may have, for the question whether the target touched it."""


class HunkReports:
    """What became of each region that the patch changes."""

    def __init__(self, compared: Comparison) -> None:
        self._compared = compared

    def of(self, spans: Sequence[Span], content: bytes | None, alarms: Sequence[Alarm]) -> tuple[CarriedHunk, ...]:
        """Return the reports, in order; ``content`` is the result, None on a conflict, ``alarms`` are of it by line."""
        compared, known = self._compared, Spans(spans)
        result = None if content is None else outline(content)
        drifted = self._drifts()
        hunks: list[CarriedHunk] = []
        for number, region in enumerate(compared.regions):
            scope = compared.scope(compared.of_base, region.base, region.base_end)
            old = Place(scope, region.base + 1, region.base_end)
            drift = drifted.get(scope, ())
            span = known.worst(region)
            if span is None:
                reason = "nothing is left of it: the target means the same already"
                hunks.append(CarriedHunk(number, Verdict.UPSTREAMED, old, None, reason, drift))
            elif span.verdict == Verdict.CONFLICT.value:
                there = compared.scope(compared.of_target, span.first, span.end)
                verdict, reason = self._refused(region, span)
                new, conflict = Place(there, span.first + 1, span.end), compared.conflict(region)
                hunks.append(CarriedHunk(number, verdict, old, new, reason, drift, conflict=conflict))
            else:
                place = None
                if result is not None:
                    place = Place(compared.scope(result, span.first, span.end), span.first + 1, span.end)
                mine = _within(place, alarms) if place else ()
                hunks.append(CarriedHunk(number, Verdict(span.verdict), old, place, span.reason, drift, mine))
        return tuple(hunks)

    def _refused(self, region: Region, span: Span) -> tuple[Verdict, str]:
        """Tell a hunk that has no place in the target from one that could not be brought together with it."""
        compared = self._compared
        mine = compared.ours_within(region.base, region.base_end)
        first, end = mine[0].old, mine[-1].old_end
        around = compared.of_base.around(first, end) if compared.is_python else []
        # What stands outside of the innermost scope says nothing about it.
        top, bottom = (around[-1].line, compared.of_base.end(around[-1])) if around else (0, len(compared.sides.base))
        lines = compared.sides.base[max(top, first - CONTEXT) : min(bottom, end + CONTEXT)]
        scope = ".".join(header.name for header in around) if around else None
        there = compared.sides.target[region.target : region.target_end]
        reason = why_obsolete(lines, scope, compared.of_target, self._in_target, there)
        return (Verdict.OBSOLETE, reason) if reason else (Verdict.CONFLICT, span.reason)

    @cached_property
    def _in_target(self) -> frozenset[bytes]:
        return frozenset(line.strip() for line in self._compared.sides.target)

    def _drifts(self) -> dict[str, tuple[Drift, ...]]:
        """Return the drift of each scope with a hunk in it; a scope that the target left alone needs no second look."""
        compared = self._compared
        if not compared.is_python or not compared.theirs:
            return {}
        names: dict[str, None] = {}
        for region in compared.regions:
            around = compared.of_base.around(region.base, region.base_end)
            if around and (
                compared.is_touched(around[-1].line, compared.of_base.end(around[-1]))
                or any(compared.is_touched(header.line - 1, header.line + SIGNATURE) for header in around[:-1])
            ):
                names[".".join(header.name for header in around)] = None
        return drifts(compared.base, compared.target, names) if names else {}


def _within(place: Place, alarms: Sequence[Alarm]) -> tuple[Alarm, ...]:
    first = bisect_left(alarms, place.first, key=lambda alarm: alarm.line)
    return tuple(alarms[first : bisect_right(alarms, place.last, key=lambda alarm: alarm.line)])
