"""What a change to a tree would be, computed before the first byte is written.

apply, revert, status and verify all go on here from a survey of the tree: tell the state of each patch, and compute the
bytes that would result.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.placement import FileRefused, NotPlaced, Placed, place_file
from patchkit.core.report import FileReport, HunkReport, PatchReport, Problem
from patchkit.core.series import TargetLock
from patchkit.core.state import State, file_state, patch_state
from patchkit.errors import StoreError
from patchkit.operations.commands import regenerate
from patchkit.operations.explain import modified_hunks, neighbour, patch_problems, stacked, variant_of
from patchkit.operations.locked import Sources
from patchkit.operations.survey import Survey
from patchkit.store.lock import LOCK
from patchkit.store.series import SeriesPatch


class Step(msgspec.Struct, frozen=True):
    """One patch going in or out."""

    patch: str
    edits: Mapping[str, bytes | None]
    """New content by path; None removes the file."""


class Plan(msgspec.Struct):
    """A change to a tree, complete before anything is written."""

    patches: list[PatchReport] = []
    steps: list[Step] = []
    problems: list[Problem] = []

    @property
    def edits(self) -> dict[str, bytes | None]:
        """All steps together."""
        merged: dict[str, bytes | None] = {}
        for step in self.steps:
            merged.update(step.edits)
        return merged


def assess(sources: Sources, found: Survey, target: str) -> list[PatchReport]:
    """Return the state of every patch of the series on a surveyed tree."""
    locked = sources.lock.targets[target]
    _refuse_incomplete(sources, target, locked)
    return [_assess_patch(sources, found, target, sources.series.patch(name)) for name in locked.patches]


def plan_forward(sources: Sources, found: Survey, target: str, selected: tuple[SeriesPatch, ...]) -> Plan:
    """Plan to apply the ``selected`` patches (series order) that are not applied yet."""
    locked = sources.lock.targets[target]
    plan = Plan(problems=list(found.problems))
    moving = _Moving(sources.series.folder, locked, dict(found.contents), dict(found.blobs))
    names = {patch.name for patch in selected}
    for report in assess(sources, found, target):
        if report.name not in names or report.state in (State.NOT_NEEDED.value, State.APPLIED.value):
            plan.patches.append(report)
            continue
        patch = sources.series.patch(report.name)
        if report.state != State.CLEAN.value:
            plan.patches.append(report)
            plan.problems.extend(patch_problems(sources, found, target, report))
            continue
        _step(plan, patch, report, moving, names, backwards=False)
    return plan


def plan_backward(sources: Sources, found: Survey, target: str, selected: tuple[SeriesPatch, ...]) -> Plan:
    """Plan to take out the ``selected`` patches (series order) that are applied, the last one first."""
    locked = sources.lock.targets[target]
    plan = Plan(problems=list(found.problems))
    moving = _Moving(sources.series.folder, locked, dict(found.contents), dict(found.blobs))
    names = {patch.name for patch in selected}
    reports: list[PatchReport] = []
    for report in reversed(assess(sources, found, target)):
        if report.name not in names or report.state in (State.NOT_NEEDED.value, State.CLEAN.value):
            reports.append(report)
            continue
        patch = sources.series.patch(report.name)
        if report.state != State.APPLIED.value:
            reports.append(report)
            plan.problems.extend(patch_problems(sources, found, target, report))
            continue
        _step(plan, patch, report, moving, names, backwards=True)
        reports.append(plan.patches.pop())
    plan.patches = reports[::-1]
    return plan


class _Moving(msgspec.Struct):
    """The tree as it would be after the steps planned so far."""

    series: Path
    """Folder of the series, for what is told."""
    locked: TargetLock
    contents: dict[str, bytes | None]
    blobs: dict[str, str | None]


def _step(
    plan: Plan, patch: SeriesPatch, report: PatchReport, moving: _Moving, selected: set[str], *, backwards: bool
) -> None:
    """Compute one patch; on success record the step and move on."""
    locked, contents, blobs = moving.locked, moving.contents, moving.blobs
    variant = variant_of(patch, locked)
    assert variant is not None  # noqa: S101 - a patch that is clean or applied has a variant
    edits: dict[str, bytes | None] = {}
    files: list[FileReport] = []
    problems: list[Problem] = []
    blocked = False
    for file in report.files:
        pair = locked.patches[patch.name].files[file.path]
        expected, wanted = (pair.after, pair.before) if backwards else (pair.before, pair.after)
        if blobs[file.path] != expected:
            blocked = True
            # Of a patch that was to move first and could not, the reason has been told.
            other = neighbour(patch.name, file.path, locked, backwards=backwards)
            if other not in selected:
                problems.append(stacked(patch.name, other, file.path, backwards=backwards))
            files.append(file)
            continue
        file_patch = variant.file(file.path)
        assert file_patch is not None  # noqa: S101 - _refuse_incomplete compared the files
        direction = file_patch.reversed() if backwards else file_patch
        # Without scopes first, which are slow to find: a result that is the locked one needs no second opinion.
        placed = place_file(direction, contents[file.path], {})
        if isinstance(placed, FileRefused) or blob_id_if_any(placed.content) != wanted:
            placed = place_file(direction, contents[file.path], patch.scopes)
        if isinstance(placed, FileRefused):
            problems.extend(
                Problem(hunk.refusal.value, path=file.path, hunk=hunk.hunk, patch=patch.name)
                for hunk in placed.hunks
                if isinstance(hunk, NotPlaced)
            )
            files.append(file)
            continue
        result = blob_id_if_any(placed.content)
        if result != wanted:
            problems.append(
                Problem(
                    f"the result would be blob {result}, the lock says {wanted}",
                    path=file.path,
                    patch=patch.name,
                    hint="the installed patchkit is damaged, or its series was edited: "
                    f"run `{regenerate(moving.series)}`",
                )
            )
            files.append(file)
            continue
        edits[file.path] = placed.content
        files.append(_with_places(file, placed.hunks))
    plan.problems.extend(problems)
    blocked = blocked or bool(problems)
    action = "none" if blocked else ("revert" if backwards else "apply")
    plan.patches.append(
        PatchReport(report.name, report.state, action, report.variant, report.reason, tuple(files), report.upstream)
    )
    if blocked:
        return
    plan.steps.append(Step(patch.name, edits))
    contents.update(edits)
    blobs.update({path: blob_id_if_any(content) for path, content in edits.items()})


def _with_places(file: FileReport, placed: tuple[Placed, ...]) -> FileReport:
    hunks = tuple(HunkReport(hunk.hunk, hunk.verdict.value, hunk.line, hunk.offset) for hunk in placed)
    return FileReport(file.path, file.state, file.before, file.after, file.found, hunks)


def _refuse_incomplete(sources: Sources, target: str, locked: TargetLock) -> None:
    """Raise StoreError when the lock leaves out files that a variant patches: a lock cut short must not say applied."""
    for name, lock in locked.patches.items():
        variant = variant_of(sources.series.patch(name), locked)
        if variant is not None and {file.path for file in variant.files} != set(lock.files):
            where = str(sources.series.folder / LOCK)
            key = f"targets.{target}.patches.{name}.files"
            raise StoreError(
                where,
                key,
                f"are not those of {lock.variant}",
                hint=f"run `{regenerate(sources.series.folder)}`",
            )


def _assess_patch(sources: Sources, found: Survey, target: str, patch: SeriesPatch) -> PatchReport:
    locked = sources.lock.targets[target]
    lock = locked.patches[patch.name]
    files: list[FileReport] = []
    states: list[State] = []
    for path, pair in lock.files.items():
        state = file_state(locked, patch.name, path, found.blobs.get(path))
        states.append(state)
        hunks = modified_hunks(sources, target, patch, path, found.contents[path]) if state is State.MODIFIED else {}
        reports = tuple(HunkReport(name, hunk.value) for name, hunk in hunks.items())
        files.append(FileReport(path, state.value, pair.before, pair.after, found.blobs.get(path), reports))
    state = patch_state(states)
    return PatchReport(patch.name, state.value, "none", lock.variant, "", tuple(files))
