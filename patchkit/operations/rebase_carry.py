"""Carrying one patch of a series from its base to a target, file by file, with what people have solved before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from patchkit.core.carry import CarriedHunk, CarryResult, Conflict, Status, Verdict, carry_file
from patchkit.core.gating.gates import Alarm, alarms
from patchkit.core.rebasing.lineage import Lineage, Traced, runs_of
from patchkit.core.rebasing.memory import Resolution, fits, offered, replayed, seen
from patchkit.core.rebasing.rebased import IN_PART, HunkRebase, alarm_report, one_hunk
from patchkit.core.rebasing.renames import Rename
from patchkit.core.rebasing.spots import Spot, joined, spots
from patchkit.core.upstream import Target
from patchkit.operations.layers import Layer
from patchkit.operations.rebase_carried import CarriedFile, CarriedPatch, Met, Texts
from patchkit.operations.rebase_whole import obstructed, whole_file

_OLDEST = re.compile(r">=\s*3\.(\d+)")


def carry_layer(
    layer: Layer,
    base: Target,
    target: Target,
    before: Mapping[str, bytes | None],
    known: Mapping[str, Resolution],
    *,
    renames: Mapping[str, Rename] | None = None,
    in_the_way: Mapping[str, str] | None = None,
    accept_resolutions: bool = False,
) -> CarriedPatch:
    """Carry a patch as it lies on its base to the texts of ``before``, by path; ``known`` are resolutions by key.

    ``renames`` says of files that the target has not where they went; None when nobody has looked. ``in_the_way``
    says why no file can be made there.
    """
    python = oldest_python(target)
    files = []
    for file in layer.text.files:
        path = file.path
        starts = [max(0, placed.line - 1) for placed in layer.placed[path]]
        texts = Texts(path, layer.before[path], layer.after[path], before[path], runs_of(file, starts))
        ids = [hunk.id for hunk in file.hunks]
        if in_the_way and path in in_the_way and texts.base is None:
            files.append(obstructed(texts, ids, in_the_way[path]))
            continue
        carried = whole_file(texts, ids, (renames or {}).get(path), sought=renames is not None)
        if carried is None:
            carrying = _Carrying(layer.patch.name, texts, known, python)
            carried = carrying.file(accept_resolutions=accept_resolutions)
        files.append(carried)
    return CarriedPatch(layer, base, tuple(files))


def oldest_python(target: Target) -> tuple[int, int] | None:
    """Return the oldest Python that a release promises to run on; None when it does not say."""
    oldest = _OLDEST.search(target.release.python) if target.release else None
    return (3, int(oldest[1])) if oldest else None


class _Carrying:
    """One file that is there on all sides."""

    def __init__(
        self, patch: str, texts: Texts, known: Mapping[str, Resolution], python: tuple[int, int] | None
    ) -> None:
        assert texts.base is not None  # noqa: S101 - whole_file answered for the others
        assert texts.changed is not None  # noqa: S101 - as above
        assert texts.before is not None  # noqa: S101 - as above
        self._patch = patch
        self._texts = texts
        self._path = texts.path
        self._base, self._changed, self._before = texts.base, texts.changed, texts.before
        self._runs = texts.runs
        self._known = known
        self._python = python
        self._lineage = Lineage(self._base, self._changed, self._runs)

    def file(self, *, accept_resolutions: bool) -> CarriedFile:
        result = carry_file(self._base, self._changed, self._before, self._path, python=self._python)
        parts, met, used = self._remembered(*self._parts(result))
        found, outside = list(result.hunks), list(result.alarms)
        if used and not met:
            # The engine looked at no result, as there was none.
            content = b"".join(part for part in parts if isinstance(part, bytes))
            outside += self._alarms(content)
        hunks = self._hunks(found, used, met, accept=accept_resolutions)
        return CarriedFile(
            self._texts,
            parts,
            tuple(
                Traced((hunk.old.first - 1, hunk.old.last), (hunk.new.first - 1, hunk.new.last))
                for hunk in found
                if result.content is not None and hunk.new is not None
            ),
            met,
            hunks,
            tuple(alarm_report(alarm) for alarm in outside),
        )

    def _parts(self, result: CarryResult) -> tuple[tuple[bytes | Conflict, ...], tuple[Spot, ...]]:
        """Return the file cut at its conflicts, and where each of those is."""
        if result.status is not Status.CONFLICT:
            return () if result.content is None else (result.content,), ()
        # Refused as a whole, no part of the file could be looked at.
        parts = result.parts or tuple(hunk.conflict for hunk in result.hunks if hunk.conflict is not None)
        places = spots(parts, self._base, self._before)
        together = joined(parts, [self._lineage.ids_in(spot.base) for spot in places]) if result.parts else parts
        return together, places if together == parts else spots(together, self._base, self._before)

    def _remembered(
        self, parts: tuple[bytes | Conflict, ...], places: Sequence[Spot]
    ) -> tuple[tuple[bytes | Conflict, ...], tuple[Met, ...], dict[str, str]]:
        """Put resolutions in the place of conflicts that they fit.

        Returns the parts, the conflicts that are left, and the key of the resolution used by hunk id.
        """
        spot_of = iter(places)
        out: list[bytes | Conflict] = []
        met: list[Met] = []
        used: dict[str, str] = {}
        for part in parts:
            if isinstance(part, bytes):
                out.append(part)
                continue
            spot = next(spot_of)
            ids = self._lineage.ids_in(spot.base)
            look = partial(seen, spot, self._base, self._before, patch=self._patch, hunks=ids, file=self._path)
            how = look() if self._known else None
            solved = self._known.get(how.key) if how else None
            if how is not None and solved is not None and fits(solved, how):
                out.append(replayed(solved, how))
                used.update(dict.fromkeys(ids, how.key))
                continue
            out.append(part)
            offers = tuple(key for key, other in self._known.items() if how is not None and offered(other, how))
            met.append(Met(spot, ids, look, offers))
        return tuple(out), tuple(met), used

    def _alarms(self, content: bytes) -> tuple[Alarm, ...]:
        if not self._path.endswith((".py", ".pyi")):
            return ()
        return alarms(self._base, self._changed, self._before, content, python=self._python)

    def _hunks(
        self, found: Sequence[CarriedHunk], used: Mapping[str, str], met: Sequence[Met], *, accept: bool
    ) -> tuple[HunkRebase, ...]:
        carried: dict[str, list[CarriedHunk]] = {
            name: [] for name in dict.fromkeys(name for run in self._runs for name in run.ids)
        }
        for hunk in found:
            for name in self._lineage.ids_in((hunk.old.first - 1, hunk.old.last)):
                carried[name].append(hunk)
        open_ids = {name for each in met for name in each.ids}
        return tuple(self._hunk(name, mine, used, open_ids, accept=accept) for name, mine in carried.items() if mine)

    def _hunk(
        self,
        name: str,
        carried: Sequence[CarriedHunk],
        used: Mapping[str, str],
        open_ids: set[str],
        *,
        accept: bool,
    ) -> HunkRebase:
        report = one_hunk(name, self._path, carried)
        if name in open_ids and report.verdict == Verdict.OBSOLETE.value:
            # There is a conflict to be looked at; that nothing is left to change is what the engine says of it.
            told = tuple(line for line in report.review if not line.startswith(f"{report.verdict}:"))
            return replace(report, review=(*told, "obsolete: --skip leaves it out, if that is right"))
        if name in open_ids and report.verdict != Verdict.CONFLICT.value:
            # Its own lines were brought together, and lie in a conflict all the same.
            told = tuple(line for line in report.review if line.startswith(IN_PART))
            return replace(report, verdict=Verdict.CONFLICT.value, reason="both sides changed these lines", review=told)
        if report.verdict != Verdict.CONFLICT.value or name in open_ids or name not in used:
            return report
        solved = self._known[used[name]]
        reason = f"resolution {used[name]} by {solved.author}: {' '.join(solved.reason.split())}"
        review = report.review if accept else (*report.review, f"solved as before: {used[name]}")
        return replace(report, verdict=Verdict.MERGED.value, reason=reason, resolution=used[name], review=review)
