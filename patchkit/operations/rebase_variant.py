"""From a carried patch to the text of its new variant, each hunk with the id that it has always had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from patchkit.core.carry import Verdict
from patchkit.core.difference import difference
from patchkit.core.foreign.enclosing import enclosing_scopes
from patchkit.core.lines import split_lines
from patchkit.core.merging.surroundings import Outline
from patchkit.core.model import FilePatch, Hunk, LineKind, Patch
from patchkit.core.placement import FilePlaced, place_file
from patchkit.core.rebasing.lineage import Run, labelled_hunks, twice
from patchkit.core.rebasing.rebased import LEFT_OUT, HunkRebase
from patchkit.core.report import Problem
from patchkit.operations.rebase_carried import CarriedFile, CarriedPatch

_CORRECTED = "the target changed much around it; what it adds is in the result"
_GONE = "nothing of it is left in the result: the target has it already"


class Variant(msgspec.Struct, frozen=True):
    """A patch's text for the new target."""

    patch: Patch
    hunks: tuple[HunkRebase, ...]
    """The answers, each brought in line with the text: a hunk that is left out is not in it, every other one is."""
    scopes: Mapping[str, str]
    """The scope in which a hunk now stands, by id, where patch.yaml names another one."""
    places: Mapping[str, tuple[int, int]] = {}
    """First and last line of each hunk's changes in the result, 1-based, inclusive; by id."""
    problems: tuple[Problem, ...] = ()
    """Why there can be no such variant."""


def make_variant(carried: CarriedPatch, after: Mapping[str, bytes | None]) -> Variant:
    """Return the variant that makes ``after`` (by path) of the target, and what is to be said of each hunk."""
    files: list[FilePatch] = []
    scopes: dict[str, str] = {}
    problems: list[Problem] = []
    for file in carried.files:
        found = _file_patch(file, after[file.path])
        if isinstance(found, Problem):
            problems.append(replace(found, patch=carried.layer.patch.name))
        elif found is not None:
            files.append(found)
            scopes.update(_moved_scopes(carried, found, file.texts.before, after[file.path]))
    present = {hunk.id for file in files for hunk in file.hunks}
    # Of a file whose text cannot be said nobody knows what is in it.
    unsaid = {problem.path for problem in problems}
    hunks = tuple(hunk if hunk.path in unsaid else _in_line(hunk, present) for hunk in carried.hunks)
    places = {hunk.id: _place(hunk) for file in files for hunk in file.hunks}
    return Variant(Patch(tuple(files), carried.layer.text.preamble), hunks, scopes, places, tuple(problems))


def _place(hunk: Hunk) -> tuple[int, int]:
    kinds = [line.kind for line in hunk.lines if line.kind is not LineKind.REMOVED]
    added = [at for at, kind in enumerate(kinds) if kind is LineKind.ADDED]
    first = hunk.new_start if kinds else hunk.new_start + 1
    if added:
        return first + added[0], first + added[-1]
    lead = next(at for at, line in enumerate(hunk.lines) if line.kind is LineKind.REMOVED)
    return first + lead, first + lead - 1


def _in_line(hunk: HunkRebase, present: set[str]) -> HunkRebase:
    if hunk.verdict == Verdict.CONFLICT.value:
        return hunk
    if hunk.id in present and hunk.left_out:
        review = tuple(line for line in hunk.review if not line.startswith(f"{hunk.verdict}:"))
        return replace(hunk, verdict=Verdict.RESTRUCTURED.value, reason=_CORRECTED, review=review)
    if hunk.id not in present and not hunk.left_out:
        verdict = Verdict.UPSTREAMED.value
        review = (*hunk.review, f"{verdict}: the variant would not have it")
        return replace(hunk, verdict=verdict, reason=_GONE, new=None, review=review)
    return hunk


def _file_patch(file: CarriedFile, after: bytes | None) -> FilePatch | Problem | None:
    before = file.texts.before
    if before == after:
        return None
    if before is None or after is None:
        ids = [hunk.id for hunk in file.hunks]
        whole = difference(before, after, file.path)
        assert whole is not None  # noqa: S101 - they differ
        return replace(whole, hunks=tuple(replace(hunk, id=ids[0]) for hunk in whole.hunks))
    runs = _adopted(file.lineage().label(before, after, file.traced), before, after)
    stray = next((run for run in runs if not run.ids), None)
    if stray is not None:
        return Problem(
            "this change belongs to no hunk of the patch",
            file.path,
            line=stray.new[0] + 1,
            hint="make it part of a change next to it, or leave it out and add it with `patchkit capture` afterwards",
        )
    hunks = labelled_hunks(before, after, [replace(run, ids=run.ids[:1]) for run in runs])
    again = twice(hunks)
    if again:
        second = [hunk for hunk in hunks if hunk.id == again[0]][1]
        return Problem(
            f"hunk {again[0]} would stand at two places with another hunk between them, which a variant cannot say",
            file.path,
            hunk=again[0],
            line=second.new_start,
        )
    return FilePatch(file.path, file.path, hunks)


def _adopted(runs: Sequence[Run], before: bytes, after: bytes) -> list[Run]:
    """Give changes that belong to no hunk to the nearest one in the same class or function."""
    known = [run for run in runs if run.ids]
    if len(known) == len(runs):
        return list(runs)
    old, new = Outline(split_lines(before)), Outline(split_lines(after))

    def scope(run: Run) -> str:
        return new.scope(*run.new) if run.new[0] < run.new[1] else old.scope(*run.old)

    adopted: list[Run] = []
    for run in runs:
        if not run.ids:
            near = [other for other in known if scope(other) == scope(run)]
            if near:
                nearest = min(near, key=lambda other, run=run: abs(other.new[0] - run.new[0]))  # type: ignore[misc]  # mypy sees no default in a lambda
                run = replace(run, ids=nearest.ids)  # noqa: PLW2901 - the same run with a name
        adopted.append(run)
    return adopted


def _moved_scopes(carried: CarriedPatch, file: FilePatch, before: bytes | None, after: bytes | None) -> dict[str, str]:
    """Return the new scope of each hunk that patch.yaml has in another one."""
    scopes = carried.layer.patch.scopes
    placed = place_file(file, before, scopes)
    if isinstance(placed, FilePlaced):
        if placed.content != after:
            raise RuntimeError(f"{file.path}: the variant gives another text than the one that was carried")
        return {}
    found = zip(file.hunks, enclosing_scopes(file.path, before, after, file.hunks), strict=True)
    return {hunk.id: scope for hunk, scope in found if not _stands(file, hunk, before, scopes)}


def _stands(file: FilePatch, hunk: Hunk, before: bytes | None, scopes: Mapping[str, str]) -> bool:
    return isinstance(place_file(replace(file, hunks=(hunk,)), before, scopes), FilePlaced)


def left_out(hunks: Sequence[HunkRebase]) -> dict[str, str]:
    """Return why each hunk that the variant lacks is not in it, by id."""
    return {hunk.id: f"{hunk.verdict}: {hunk.reason}" for hunk in hunks if hunk.verdict in LEFT_OUT}
