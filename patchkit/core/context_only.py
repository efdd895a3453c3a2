"""Carrying a patch whose base is not at hand: all that is known of the base are the old lines of the hunks.

A base is made up: the target, with the old lines of each hunk where they belong. Where that is has to be beyond doubt:
the old lines stand there, or the new ones, or most of the old ones do, in their order, and nowhere else. The patch on
the made-up base is then carried like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from patchkit.core.carried import CarriedHunk, CarryResult, Conflict, Place, Status, Verdict
from patchkit.core.carrying import Carrying
from patchkit.core.gating import gates
from patchkit.core.gating.alarm import Alarm
from patchkit.core.lines import split_lines
from patchkit.core.merging.alignment import edits
from patchkit.core.merging.obsolete import why_obsolete
from patchkit.core.merging.surroundings import Outline
from patchkit.core.model import FilePatch, Hunk
from patchkit.core.placement import Placed, Refusal, ScopeRanges, place_hunk
from patchkit.core.scopes import MODULE
from patchkit.core.versioned import carried_with_version

MOST: Final = 0.6
"""Share of a hunk's old lines, blank ones aside, that the target must have for the hunk to belong there."""


class Spot(NamedTuple):
    """The lines ``[first, end)`` of the target (0-based) for which a hunk's old lines stand in the base."""

    first: int
    end: int
    offset: int
    """Lines from where the hunk's header said to where its old lines stand; 0 where they do not stand as they are."""


def carry_patch(patch: FilePatch, target: bytes, scopes: Mapping[str, str] | None = None) -> CarryResult:
    """Carry the hunks of ``patch`` over to ``target`` (empty for a file that is not there).

    ``scopes`` has the scope by hunk id for hunks that may stand in that class or function alone. The old places of the
    answer's hunks are those that the patch's headers name, and a place that is not the one named is looked at by the
    gates as far as the target alone allows.
    """
    if patch.old_path is None:
        return _created(patch, target)
    lines = split_lines(target)
    ranges = ScopeRanges(target)
    outline = Outline(lines)
    spots: list[Spot | str] = []
    free = 0
    for hunk in patch.hunks:
        scope = (scopes or {}).get(hunk.id)
        spot = _spot(hunk, lines, scope, ranges)
        if isinstance(spot, Spot) and spot.first < free:
            spot = Refusal.OVERLAP.value
        if isinstance(spot, Spot):
            free = spot.end
        spots.append(spot)
    found = [(hunk, spot) for hunk, spot in zip(patch.hunks, spots, strict=True) if isinstance(spot, Spot)]
    base, changed = _made_up(found, lines, old=True), _made_up(found, lines, old=False)

    def carry(base: bytes, changed: bytes, target: bytes) -> CarryResult:
        return Carrying(base, changed, target, patch.path).result()

    carried = carried_with_version(base, changed, target, patch.path, carry) or carry(base, changed, target)
    hunks = _told(carried.hunks, found)
    refused = [
        _refused(hunk, spot, lines, outline, (scopes or {}).get(hunk.id))
        for hunk, spot in zip(patch.hunks, spots, strict=True)
        if isinstance(spot, str)
    ]
    if refused:
        hunks = sorted([*hunks, *refused], key=lambda each: (each.old.first, each.old.last))
        parts = carried.parts or (carried.content or b"",)
        open_ones = tuple(each.conflict for each in refused if each.conflict is not None)
        numbered = tuple(replace(each, number=number) for number, each in enumerate(hunks))
        return CarryResult(patch.path, Status.CONFLICT, None, numbered, parts=(*parts, *open_ones))
    result = replace(carried, hunks=tuple(hunks))
    is_exact = all(hunk.verdict is Verdict.EXACT for hunk in hunks)
    return result if is_exact or result.content is None else _looked_at(result, target)


def _spot(hunk: Hunk, lines: list[bytes], scope: str | None, ranges: ScopeRanges) -> Spot | str:
    """Return where a hunk belongs, or why that is not known."""
    placed = place_hunk(hunk, lines, scope, ranges.of)
    if isinstance(placed, Placed):
        return Spot(placed.line - 1, placed.line - 1 + len(hunk.old_lines), placed.offset)
    if placed.refusal is not Refusal.NO_MATCH:
        return str(placed.refusal.value)
    there = place_hunk(hunk.reversed(), lines, scope, ranges.of) if hunk.new_lines else placed
    if isinstance(there, Placed):
        return Spot(there.line - 1, there.line - 1 + len(hunk.new_lines), 0)
    if scope is None:
        inside = [(0, len(lines))]
    else:
        inside = [(each.first, each.last + 1) for each in ranges.of(scope)]
        if not inside:
            return str(Refusal.NO_SCOPE.value)
    aligned = [spot for first, end in inside if (spot := _aligned(hunk.old_lines, lines, first, end)) is not None]
    return (
        aligned[0] if len(aligned) == 1 else "too few of its old lines stand in the target, or not in one place alone"
    )


def _aligned(old: Sequence[bytes], lines: Sequence[bytes], first: int, end: int) -> Spot | None:
    """Return where most of ``old`` stands in ``lines[first:end]``, held by lines that stand there once."""
    counts, own = Counter(lines[first:end]), Counter(old)
    anchors = [at for at, line in enumerate(old) if line.strip() and own[line] == 1 and counts[line] == 1]
    places = [lines.index(old[at], first, end) for at in anchors]
    if not anchors or places != sorted(places):
        return None
    begin, last = places[0], places[-1] + 1
    for line in reversed(old[: anchors[0]]):
        if begin == first or lines[begin - 1] != line:
            break
        begin -= 1
    for line in old[anchors[-1] + 1 :]:
        if last == end or lines[last] != line:
            break
        last += 1
    window = lines[begin:last]
    solid = sum(1 for line in old if line.strip())
    gone = sum(1 for edit in edits(old, window) for line in old[edit.old : edit.old_end] if line.strip())
    return Spot(begin, last, 0) if solid - gone >= MOST * solid and len(window) <= 2 * len(old) else None


def _made_up(found: Sequence[tuple[Hunk, Spot]], lines: Sequence[bytes], *, old: bool) -> bytes:
    """Return the target with each hunk's old or new lines where they belong."""
    parts: list[bytes] = []
    at = 0
    for hunk, spot in found:
        parts += lines[at : spot.first]
        parts += hunk.old_lines if old else hunk.new_lines
        at = spot.end
    return b"".join([*parts, *lines[at:]])


def _told(carried: Sequence[CarriedHunk], found: Sequence[tuple[Hunk, Spot]]) -> list[CarriedHunk]:
    """Return the reports with the old places that the patch's headers name."""
    told: list[CarriedHunk] = []
    for report in carried:
        shift = 0
        for hunk, spot in found:
            first = spot.first + shift
            shift += len(hunk.old_lines) - (spot.end - spot.first)
            if first <= report.old.first - 1 <= first + len(hunk.old_lines):
                # An empty old side is numbered by the line before it (the unified format of diff(1)).
                named = max(hunk.old_start - 1, 0) if hunk.old_lines else hunk.old_start
                by = named - first
                place = Place(report.old.scope, report.old.first + by, report.old.last + by)
                verdict, reason = report.verdict, report.reason
                if verdict is Verdict.EXACT and spot.offset:
                    verdict, reason = Verdict.MOVED, f"the same lines stand {spot.offset:+d} lines away"
                told.append(replace(report, old=place, verdict=verdict, reason=reason))
                break
    return told


def _refused(hunk: Hunk, reason: str, lines: Sequence[bytes], outline: Outline, scope: str | None) -> CarriedHunk:
    old = Place(scope or MODULE, hunk.old_start, hunk.old_start + len(hunk.old_lines) - 1)
    gone = why_obsolete(hunk.old_lines, scope, outline, {line.strip() for line in lines}) if hunk.old_lines else None
    conflict = Conflict(b"".join(hunk.old_lines), b"".join(hunk.new_lines), b"")
    return CarriedHunk(0, Verdict.OBSOLETE if gone else Verdict.CONFLICT, old, None, gone or reason, conflict=conflict)


def _looked_at(result: CarryResult, target: bytes) -> CarryResult:
    """Return a result with what is wrong in it and was not in the target: there is no base to vouch for the rest."""
    if result.content is None or not result.path.endswith((".py", ".pyi")):
        return result
    known = {alarm for hunk in result.hunks for alarm in hunk.alarms} | {*result.alarms}
    new = [alarm for alarm in gates.alarms(target, target, target, result.content) if alarm not in known]
    left: list[Alarm] = list(result.alarms)
    hunks = list(result.hunks)
    for alarm in new:
        for at, hunk in enumerate(hunks):
            if hunk.new is not None and hunk.new.first <= alarm.line <= hunk.new.last:
                hunks[at] = replace(hunk, alarms=(*hunk.alarms, alarm))
                break
        else:
            left.append(alarm)
    is_clean = result.status is Status.CLEAN and all(alarm.harmless for alarm in new)
    status = Status.CLEAN if is_clean else Status.REVIEW
    return replace(result, status=status, hunks=tuple(hunks), alarms=tuple(left))


def _created(patch: FilePatch, target: bytes) -> CarryResult:
    content = b"".join(line for hunk in patch.hunks for line in hunk.new_lines)
    old, new = Place(MODULE, 1, 0), Place(MODULE, 1, len(split_lines(content)))
    if target and target != content:
        conflict = Conflict(b"", content, target)
        there = Place(MODULE, 1, len(split_lines(target)))
        hunk = CarriedHunk(0, Verdict.CONFLICT, old, there, Refusal.FILE_EXISTS.value, conflict=conflict)
        return CarryResult(patch.path, Status.CONFLICT, None, (hunk,), parts=(conflict,))
    verdict, reason = Verdict.EXACT, "the file is made"
    if target:
        verdict, reason = Verdict.UPSTREAMED, "the target has this file"
    return CarryResult(patch.path, Status.CLEAN, content, (CarriedHunk(0, verdict, old, new, reason),))
