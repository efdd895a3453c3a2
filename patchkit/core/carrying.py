"""One file's change on its way: the line merge, what is left of it to be settled, and a report on every hunk."""

from __future__ import annotations

from collections.abc import Sequence

from patchkit.core.apart import Apart, left_apart
from patchkit.core.carried import CarryResult, Conflict, Status, Verdict
from patchkit.core.comparison import Comparison
from patchkit.core.gating import gates
from patchkit.core.gating.alarm import Alarm, Rule
from patchkit.core.gating.kinship import strangers
from patchkit.core.hunk_reports import CONTEXT, HunkReports
from patchkit.core.lines import split_lines
from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.between import HEADER, moves_header, puts_between
from patchkit.core.merging.merge import Kind, Region
from patchkit.core.merging.pieces import Piece, Range, Spans, conflicts, content, joined, put_together
from patchkit.core.merging.repeated import stands_twice
from patchkit.core.merging.resolved import Span
from patchkit.core.merging.surroundings import outline
from patchkit.core.merging.windows import Sides, reordered, structured
from patchkit.core.scopes import MODULE


class Carrying:
    """The change from ``base`` to ``changed`` on its way to ``target``."""

    def __init__(
        self, base: bytes, changed: bytes, target: bytes, path: str, *, python: tuple[int, int] | None = None
    ) -> None:
        self._compared = Comparison(base, changed, target, path)
        self._sides = self._compared.sides
        self._texts = base, changed, target
        self._python = python

    def result(self) -> CarryResult:
        """Return the answer."""
        by_lines = self._by_lines()
        pieces = by_lines
        if self._compared.is_python and (misplaced := self._misplaced()):
            pieces = self._in_one_order(misplaced)
        elif self._compared.is_structured and conflicts(pieces):
            of_both = self._compared.ours, self._compared.theirs
            pieces = [self._accounted(piece) for piece in structured(pieces, self._sides, *of_both)]
        merged = content(pieces)
        alarms = self._alarms(merged)
        if pieces is not by_lines and self._is_doubtful(merged, alarms):
            pieces, merged, alarms = self._refused_whole(by_lines), None, ()
        if merged is not None and self._is_torn():
            pieces = [self._whole("one side puts a statement between two definitions that changed places on the other")]
            merged, alarms = None, ()
        parts, spans = put_together(pieces)
        hunks = HunkReports(self._compared).of(spans, merged, alarms)
        path = self._compared.path
        if merged is None:
            return CarryResult(path, Status.CONFLICT, None, hunks, parts=joined(parts))
        inside = {alarm for hunk in hunks for alarm in hunk.alarms}
        status = Status.CLEAN if all(alarm.harmless for alarm in alarms) else Status.REVIEW
        return CarryResult(path, status, merged, hunks, tuple(alarm for alarm in alarms if alarm not in inside))

    def _is_doubtful(self, merged: bytes | None, alarms: Sequence[Alarm]) -> bool:
        """Tell whether a merge of statements came to no Python that can be read, or to one that nobody wrote.

        That is a decorator at another definition, or a statement that stands there twice.
        """
        if merged is None:
            return False
        if any(alarm.rule in (Rule.SYNTAX, Rule.MISPLACED, Rule.UNCHECKED) for alarm in alarms):
            return True
        *sides, result = (text.decode("utf-8", "surrogateescape") for text in (*self._texts, merged))
        return stands_twice(sides, result)

    def _is_torn(self) -> bool:
        """Tell whether a side put a statement between two definitions that the other side has in the other order."""
        if not self._compared.is_python:
            return False
        by_patch = moves_header(self._compared.ours, self._sides.base, self._sides.changed)
        by_target = moves_header(self._compared.theirs, self._sides.base, self._sides.target)
        if not (by_patch or by_target):
            return False
        base, changed, target = (text.decode("utf-8", "surrogateescape") for text in self._texts)
        return (by_patch and puts_between(base, target, changed)) or (by_target and puts_between(base, changed, target))

    def _refused_whole(self, by_lines: list[Piece]) -> list[Piece]:
        """Return the line merge with its conflicts, or one conflict where it has none."""
        if conflicts(by_lines):
            return by_lines
        return [self._whole("both sides brought the same statement, at places that do not meet")]

    def _whole(self, reason: str) -> Piece:
        places = (0, len(self._sides.base)), (0, len(self._sides.changed)), (0, len(self._sides.target))
        span = Span(*places[0], *places[2], Verdict.CONFLICT.value, reason)
        return Piece(*places, [Conflict(*self._texts)], [span])

    def _alarms(self, merged: bytes | None) -> tuple[Alarm, ...]:
        if merged is None:
            return ()
        base, changed, target = self._texts
        if not self._compared.is_python:
            stranger = strangers(base, target, merged) if target not in (base, merged) and changed != base else None
            return (stranger,) if stranger is not None else ()
        return gates.alarms(base, changed, target, merged, python=self._python)

    def _by_lines(self, apart: Sequence[Apart] = ()) -> list[Piece]:
        """Return the target in pieces: what stays as it is, what is left ``apart``, and what became of each region."""
        pieces: list[Piece] = []
        base_at = changed_at = target_at = 0
        regions = (region for region in self._compared.regions if not any(_is_in(region, each) for each in apart))
        found = [*map(self._settled, regions), *map(self._left, apart)]
        for piece in sorted(found, key=lambda piece: piece.base):
            begin = piece.base[0], piece.changed[0], piece.target[0]
            pieces.append(self._kept((base_at, begin[0]), (changed_at, begin[1]), (target_at, begin[2])))
            pieces.append(piece)
            base_at, changed_at, target_at = piece.base[1], piece.changed[1], piece.target[1]
        base, changed, target = map(len, self._sides)
        pieces.append(self._kept((base_at, base), (changed_at, changed), (target_at, target)))
        return pieces

    def _kept(self, base: Range, changed: Range, target: Range) -> Piece:
        return Piece(base, changed, target, [b"".join(self._sides.target[slice(*target)])], [])

    def _left(self, apart: Apart) -> Piece:
        """Return lines that are one conflict, whatever the sides changed in them."""
        sides = (b"".join(lines[slice(*there)]) for lines, there in zip(self._sides, apart, strict=True))
        span = Span(*apart.base, *apart.target, Verdict.CONFLICT.value, _MISPLACED)
        return Piece(*apart, [Conflict(*sides)], [span])

    def _settled(self, region: Region) -> Piece:
        place = (region.base, region.base_end), (region.changed, region.changed_end), (region.target, region.target_end)
        three = self._compared.conflict(region)
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
        if not self._compared.is_python or not self._compared.theirs:
            return False
        scope = self._compared.of_base.scope(region.base, region.base_end)
        if scope == MODULE or scope == self._compared.of_target.scope(region.target, region.target_end):
            return False
        return self._compared.of_target.has(scope)

    def _misplaced(self) -> list[Edit]:
        """Return the changes of the target that would land in another class or function: the patch moved its own."""
        gone = (self._sides.base[at] for edit in self._compared.ours for at in range(edit.old, edit.old_end))
        if not self._compared.theirs or not any(map(HEADER.match, gone)):
            return []
        of_changed = outline(self._texts[1])
        found: list[Edit] = []
        mine = shift = 0
        for edit in self._compared.theirs:
            while mine < len(self._compared.ours) and self._compared.ours[mine].old_end <= edit.old:
                shift = self._compared.ours[mine].new_end - self._compared.ours[mine].old_end
                mine += 1
            if self._compared.is_in_region(edit):
                continue
            scope = self._compared.of_base.scope(edit.old, edit.old_end)
            there = of_changed.scope(edit.old + shift, edit.old_end + shift)
            if scope not in (MODULE, there) and of_changed.has(scope):
                found.append(edit)
        return found

    def _in_one_order(self, misplaced: Sequence[Edit]) -> list[Piece]:
        """Return the file merged with its definitions in one order; where that does not go, these left to a person."""
        piece = reordered(self._sides)
        if piece is not None and not piece.conflicts:
            return [self._accounted(piece)]
        return self._by_lines(left_apart(self._compared, misplaced))

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
        known = Spans(piece.spans)
        # What the patch inserts at an edge lies in one of the two pieces that meet there.
        near = self._compared.regions_within(*piece.base)
        mine = [
            region for region in near if piece.changed[0] <= region.changed and region.changed_end <= piece.changed[1]
        ]
        told = {region: known.worst(region) for region in mine or near}
        if piece.conflicts:
            is_told = any(span is not None and span.verdict == Verdict.CONFLICT.value for span in told.values())
        else:
            is_told = content([piece]) == b"".join(self._sides.target[slice(*piece.target)])
        if is_told:
            return piece
        spans = list(piece.spans)
        silent = [region for region, span in told.items() if span is None]
        if piece.conflicts and told and not silent:
            # The conflict is in lines of the target's beside the patch's: the nearest hunk has to tell of it.
            clashes = (span.base for span in piece.spans if span.verdict == Verdict.CONFLICT.value)
            at = next(clashes, piece.base[0])
            silent = [min(told, key=lambda region: max(region.base - at, at - region.base_end))]
        rows = _NewRows(piece, self._sides) if silent and not piece.conflicts else None
        for region in silent:
            verdict, reason = Verdict.RESTRUCTURED, "both sides changed these lines"
            if rows is None:
                place, verdict = (region.target, region.target_end), Verdict.CONFLICT
            else:
                place = rows.of(region)
            spans.append(Span(region.base, region.base_end, *place, verdict.value, reason))
        return piece._replace(spans=spans)


_MISPLACED = "the patch moves or rewrites a definition, and a change of the target would land in another one"


def _is_in(region: Region, apart: Apart) -> bool:
    return apart.base[0] <= region.base and region.base_end <= apart.base[1]


class _NewRows:
    """The lines of a piece without conflicts that neither the base nor the target has there."""

    def __init__(self, piece: Piece, sides: Sides) -> None:
        self._sides = sides
        lines = split_lines(content([piece]) or b"")
        self._height = len(lines)
        known = {line.strip() for line in sides.base[slice(*piece.base)]}
        known.update(line.strip() for line in sides.target[slice(*piece.target)])
        self._rows: dict[bytes, list[int]] = {}
        for row, line in enumerate(map(bytes.strip, lines)):
            if line not in known:
                self._rows.setdefault(line, []).append(row)

    def of(self, region: Region) -> Range:
        """Return where the piece has what the patch adds in a region; all of it where that is unknown.

        Lines count from the piece's beginning.
        """
        added = {line.strip() for line in self._sides.changed[region.changed : region.changed_end]}
        added.difference_update(line.strip() for line in self._sides.base[region.base : region.base_end])
        rows = [row for line in added for row in self._rows.get(line, ())]
        return (min(rows), max(rows) + 1) if rows else (0, self._height)
