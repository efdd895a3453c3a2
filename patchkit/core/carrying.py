"""One file's change on its way: the line merge, what is left of it to be settled, and a report on every hunk."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from patchkit.core.carried import CarriedHunk, CarryResult, Conflict, Place, Status, Verdict
from patchkit.core.gating import gates
from patchkit.core.gating.alarm import Alarm, Rule
from patchkit.core.gating.drift import Drift, drifts
from patchkit.core.lines import split_lines
from patchkit.core.merging.alignment import edits_of_numbers, numbered
from patchkit.core.merging.merge import Kind, Region, combine
from patchkit.core.merging.obsolete import why_obsolete
from patchkit.core.merging.repeated import stands_twice
from patchkit.core.merging.resolve import Span
from patchkit.core.merging.surroundings import Outline
from patchkit.core.merging.windows import Piece, Sides, moved, reordered, structured
from patchkit.core.scopes import MODULE

CONTEXT = 3
"""Lines on each side that must be the base's for a change to count as exact or moved, as in a unified diff."""

SIGNATURE = 40
"""Lines that a signature may have, for the question whether the target touched it."""

_BADNESS = {verdict.value: number for number, verdict in enumerate(Verdict)}


_HEADER = re.compile(rb"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w")


class Carrying:
    """The change from ``base`` to ``changed`` on its way to ``target``."""

    def __init__(
        self, base: bytes, changed: bytes, target: bytes, path: str, *, python: tuple[int, int] | None = None
    ) -> None:
        self._texts = base, changed, target
        self._sides = Sides(split_lines(base), split_lines(changed), split_lines(target))
        numbers = numbered(*self._sides)
        self._ours, self._theirs = edits_of_numbers(numbers[0], numbers[1]), edits_of_numbers(numbers[0], numbers[2])
        self._regions = combine(self._ours, self._theirs, self._sides.changed, self._sides.target)
        self._path = path
        self._python = python
        self._is_python = path.endswith((".py", ".pyi"))
        # Lines of two kinds of endings are no versions of each other to a merge of statements.
        self._is_structured = self._is_python and len({b"\r\n" in text for text in self._texts}) == 1

    def result(self) -> CarryResult:
        """Return the answer."""
        by_lines = self._by_lines()
        pieces = by_lines
        if self._is_python and self._takes_the_targets_place():
            pieces = self._in_one_order()
        elif self._is_structured and _conflicts(pieces):
            pieces = [self._accounted(piece) for piece in structured(pieces, self._sides, self._theirs)]
        content = _content(pieces)
        alarms = self._alarms(content)
        if pieces is not by_lines and self._is_doubtful(content, alarms):
            pieces, content, alarms = self._refused_whole(by_lines), None, ()
        parts, spans = _put_together(pieces)
        hunks = self._hunks(spans, content, alarms)
        if content is None:
            return CarryResult(self._path, Status.CONFLICT, None, hunks, parts=_joined(parts))
        inside = {alarm for hunk in hunks for alarm in hunk.alarms}
        status = Status.CLEAN if all(alarm.harmless for alarm in alarms) else Status.REVIEW
        return CarryResult(self._path, status, content, hunks, tuple(alarm for alarm in alarms if alarm not in inside))

    def _is_doubtful(self, content: bytes | None, alarms: Sequence[Alarm]) -> bool:
        """Tell whether a merge of statements came to no Python, or to a statement that stands there twice."""
        if content is None:
            return False
        if any(alarm.rule is Rule.SYNTAX for alarm in alarms):
            return True
        *sides, merged = (text.decode("utf-8", "surrogateescape") for text in (*self._texts, content))
        return stands_twice(sides, merged)

    def _refused_whole(self, by_lines: list[Piece]) -> list[Piece]:
        """Return the line merge with its conflicts, or one conflict where it has none."""
        if _conflicts(by_lines):
            return by_lines
        return [self._whole("both sides brought the same statement, at places that do not meet")]

    def _whole(self, reason: str) -> Piece:
        places = (0, len(self._sides.base)), (0, len(self._sides.changed)), (0, len(self._sides.target))
        span = Span(*places[0], *places[2], Verdict.CONFLICT.value, reason)
        return Piece(*places, [Conflict(*self._texts)], [span])

    def _alarms(self, content: bytes | None) -> tuple[Alarm, ...]:
        if content is None or not self._is_python:
            return ()
        return gates.alarms(*self._texts, content, python=self._python)

    def _by_lines(self) -> list[Piece]:
        """Return the target in pieces: what stays as it is, and what became of each region."""
        pieces: list[Piece] = []
        base_at = changed_at = target_at = 0
        for region in self._regions:
            pieces.append(self._kept((base_at, region.base), (changed_at, region.changed), (target_at, region.target)))
            pieces.append(self._settled(region))
            base_at, changed_at, target_at = region.base_end, region.changed_end, region.target_end
        base, changed, target = map(len, self._sides)
        pieces.append(self._kept((base_at, base), (changed_at, changed), (target_at, target)))
        return pieces

    def _kept(self, base: tuple[int, int], changed: tuple[int, int], target: tuple[int, int]) -> Piece:
        return Piece(base, changed, target, [b"".join(self._sides.target[slice(*target)])], [])

    def _settled(self, region: Region) -> Piece:
        place = (region.base, region.base_end), (region.changed, region.changed_end), (region.target, region.target_end)
        three = self._conflict(region)
        displaced = region.kind is Kind.APPLIED and self._is_displaced(region)
        if region.kind is Kind.CONFLICT or displaced:
            reason = "both sides changed these lines, or lines side by side"
            if displaced:
                reason = "the lines around it stand in another class or function in the target"
            span = Span(region.base, region.base_end, region.target, region.target_end, Verdict.CONFLICT.value, reason)
            return Piece(*place, [three], [span])
        lines, (first, end) = (three.changed, place[1]) if region.kind is Kind.APPLIED else (three.target, place[2])
        verdict, reason = self._untouched(region)
        return Piece(*place, [lines], [Span(region.base, region.base_end, 0, end - first, verdict.value, reason)])

    def _is_displaced(self, region: Region) -> bool:
        """Tell whether like lines of another class or function took the place of those around a region.

        A class or function that the target calls by another name is none of this: the old name is gone then.
        """
        if not self._is_python or not self._theirs:
            return False
        scope = self._of_base.scope(region.base, region.base_end)
        if scope == MODULE or scope == self._of_target.scope(region.target, region.target_end):
            return False
        return self._of_target.has(scope)

    def _takes_the_targets_place(self) -> bool:
        """Tell whether a change of the target would land in another class or function: the patch moved its own."""
        gone = (self._sides.base[at] for edit in self._ours for at in range(edit.old, edit.old_end))
        if not self._theirs or not any(map(_HEADER.match, gone)):
            return False
        of_changed = Outline(self._sides.changed)
        mine = shift = 0
        for edit in self._theirs:
            while mine < len(self._ours) and self._ours[mine].old_end <= edit.old:
                shift = self._ours[mine].new_end - self._ours[mine].old_end
                mine += 1
            if any(region.base <= edit.old and edit.old_end <= region.base_end for region in self._regions):
                continue
            scope = self._of_base.scope(edit.old, edit.old_end)
            if scope not in (MODULE, of_changed.scope(edit.old + shift, edit.old_end + shift)) and of_changed.has(
                scope
            ):
                return True
        return False

    def _in_one_order(self) -> list[Piece]:
        """Return the file merged with its definitions in one order; as one conflict where that does not go."""
        piece = reordered(self._sides)
        if piece is not None and not piece.conflicts:
            return [self._accounted(piece)]
        return [self._whole("the patch moves a definition, and a change of the target would land in another one")]

    def _conflict(self, region: Region) -> Conflict:
        return Conflict(
            b"".join(self._sides.base[region.base : region.base_end]),
            b"".join(self._sides.changed[region.changed : region.changed_end]),
            b"".join(self._sides.target[region.target : region.target_end]),
        )

    def _untouched(self, region: Region) -> tuple[Verdict, str]:
        if region.kind is Kind.SAME:
            return Verdict.UPSTREAMED, "the target has the same change"
        base, _, target = self._sides
        before = base[max(0, region.base - CONTEXT) : region.base]
        after = base[region.base_end : region.base_end + CONTEXT]
        there = target[max(0, region.target - CONTEXT) : region.target]
        behind = target[region.target_end : region.target_end + CONTEXT]
        if (before, after) != (there, behind):
            return Verdict.MERGED, "the target changed lines nearby"
        if region.base == region.target:
            return Verdict.EXACT, "the target has the same lines at the same place"
        return Verdict.MOVED, f"the same lines stand {region.target - region.base:+d} lines away"

    def _accounted(self, piece: Piece) -> Piece:
        """Return a piece with a span for the regions of which it says nothing although it is not the target's."""
        begin, end = piece.base
        inside = [region for region in self._regions if begin <= region.base and region.base_end <= end]
        told = {region: _span_of(region, piece.spans) for region in inside}
        if piece.conflicts:
            is_told = any(span is not None and span.verdict == Verdict.CONFLICT.value for span in told.values())
        else:
            is_told = _content([piece]) == b"".join(self._sides.target[slice(*piece.target)])
        if is_told:
            return piece
        rows = sum(part.count(b"\n") for part in piece.parts if isinstance(part, bytes))
        spans = list(piece.spans)
        for region in (region for region, span in told.items() if span is None):
            place, verdict, reason = (0, rows), Verdict.RESTRUCTURED, "both sides changed these lines"
            if piece.conflicts:
                place, verdict = (region.target, region.target_end), Verdict.CONFLICT
            spans.append(Span(region.base, region.base_end, *place, verdict.value, reason))
        return piece._replace(spans=spans)

    # the report

    def _hunks(self, spans: Sequence[Span], content: bytes | None, alarms: Sequence[Alarm]) -> tuple[CarriedHunk, ...]:
        result = None if content is None else Outline(split_lines(content))
        drifted = self._drifts()
        hunks: list[CarriedHunk] = []
        for number, region in enumerate(self._regions):
            old = Place(self._scope(self._of_base, region.base, region.base_end), region.base + 1, region.base_end)
            drift = drifted.get(old.scope, ())
            span = _span_of(region, spans)
            if span is None:
                reason = "nothing is left of it: the target means the same already"
                hunks.append(CarriedHunk(number, Verdict.UPSTREAMED, old, None, reason, drift))
            elif span.verdict == Verdict.CONFLICT.value:
                new = Place(self._scope(self._of_target, span.first, span.end), span.first + 1, span.end)
                verdict, reason = self._refused(region, span)
                conflict = self._conflict(region)
                hunks.append(CarriedHunk(number, verdict, old, new, reason, drift, conflict=conflict))
            else:
                place = None
                if result is not None:
                    place = Place(self._scope(result, span.first, span.end), span.first + 1, span.end)
                mine = tuple(alarm for alarm in alarms if place and place.first <= alarm.line <= place.last)
                hunks.append(CarriedHunk(number, Verdict(span.verdict), old, place, span.reason, drift, mine))
        return tuple(hunks)

    def _refused(self, region: Region, span: Span) -> tuple[Verdict, str]:
        """Tell a hunk that has no place in the target from one that could not be brought together with it."""
        mine = [edit for edit in self._ours if region.base <= edit.old and edit.old_end <= region.base_end]
        first, end = mine[0].old, mine[-1].old_end
        around = self._of_base.around(first, end) if self._is_python else []
        # What stands outside of the innermost scope says nothing about it.
        top, bottom = (around[-1].line, self._of_base.end(around[-1])) if around else (0, len(self._sides.base))
        lines = self._sides.base[max(top, first - CONTEXT) : min(bottom, end + CONTEXT)]
        scope = ".".join(header.name for header in around) if around else None
        there = self._sides.target[region.target : region.target_end]
        reason = why_obsolete(lines, scope, self._of_target, self._sides.target, there)
        return (Verdict.OBSOLETE, reason) if reason else (Verdict.CONFLICT, span.reason)

    @cached_property
    def _of_base(self) -> Outline:
        return Outline(self._sides.base)

    @cached_property
    def _of_target(self) -> Outline:
        return Outline(self._sides.target)

    def _scope(self, outline: Outline, first: int, end: int) -> str:
        return outline.scope(first, end) if self._is_python else MODULE

    def _drifts(self) -> dict[str, tuple[Drift, ...]]:
        """Return the drift of each scope with a hunk in it; a scope that the target left alone needs no second look."""
        if not self._is_python or not self._theirs:
            return {}
        names: dict[str, None] = {}
        for region in self._regions:
            around = self._of_base.around(region.base, region.base_end)
            if around and (
                self._touched(around[-1].line, self._of_base.end(around[-1]))
                or any(self._touched(header.line - 1, header.line + SIGNATURE) for header in around[:-1])
            ):
                names[".".join(header.name for header in around)] = None
        return drifts(self._texts[0], self._texts[2], names) if names else {}

    def _touched(self, first: int, last: int) -> bool:
        """Tell whether the target changed something from one 0-based line of the base to another, both included."""
        at = bisect_left(self._theirs, first, key=lambda edit: edit.old_end)
        return at < len(self._theirs) and self._theirs[at].old <= last


def _conflicts(pieces: Sequence[Piece]) -> bool:
    return any(piece.conflicts for piece in pieces)


def _content(pieces: Sequence[Piece]) -> bytes | None:
    """Return the result; None when there are conflicts in it."""
    parts = [part for piece in pieces for part in piece.parts]
    texts = [part for part in parts if isinstance(part, bytes)]
    return b"".join(texts) if len(texts) == len(parts) else None


def _put_together(pieces: Sequence[Piece]) -> tuple[list[bytes | Conflict], list[Span]]:
    """Return all parts in order, and all spans with lines of the whole result instead of their piece's."""
    parts: list[bytes | Conflict] = []
    spans: list[Span] = []
    row = 0
    for piece in pieces:
        spans.extend(moved(span, 0, 0 if span.verdict == Verdict.CONFLICT.value else row) for span in piece.spans)
        parts.extend(piece.parts)
        row += sum(part.count(b"\n") for part in piece.parts if isinstance(part, bytes))
    return parts, spans


def _span_of(region: Region, spans: Sequence[Span]) -> Span | None:
    """Return what became of a region: of the spans that share lines of the base with it the worst."""
    touching = [
        span
        for span in spans
        if (span.base < region.base_end and region.base < span.base_end)
        or (
            (span.base == span.base_end or region.base == region.base_end)
            and span.base <= region.base_end
            and region.base <= span.base_end
        )
    ]
    # A hunk of which the target has a part only is not upstreamed.
    kept = [span for span in touching if span.verdict != Verdict.UPSTREAMED.value]
    return max(kept or touching, key=lambda span: _BADNESS[span.verdict], default=None)


def _joined(parts: Sequence[bytes | Conflict]) -> tuple[bytes | Conflict, ...]:
    joined: list[bytes | Conflict] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, bytes) and isinstance(last, bytes):
            joined[-1] = last + part
        else:
            joined.append(part)
    return tuple(joined)
