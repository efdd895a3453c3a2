"""status and verify: what is in a tree, and whether that is all of it and right."""

from __future__ import annotations

from collections.abc import Sequence

from patchkit.core.manifest import Manifest
from patchkit.core.report import PatchReport, Problem, Report
from patchkit.core.state import State
from patchkit.operations.answer import NOT_CARRIED, Answer, failed_checks, read_manifest, uncarried
from patchkit.operations.checks import run_checks
from patchkit.operations.commands import on_tree
from patchkit.operations.explain import patch_problems
from patchkit.operations.plan import assess
from patchkit.operations.shadowing import shadowed
from patchkit.operations.sources import Workspace
from patchkit.operations.survey import Survey, is_edition, refuse_torn_reading, short, survey
from patchkit.operations.undo import interrupted_problem
from patchkit.trees.interface import SourceTree, WritableTree

UNKNOWN_RELEASE = "unknown-release"
ANOTHER_RELEASE = "another-release"


def status(workspace: Workspace, tree: SourceTree, *, asked: str | None = None) -> Report:
    """Say per patch and file what is there. ``ok`` is whether every patch is cleanly in or cleanly out."""
    found = survey(workspace.sources, tree, asked)
    answer = Answer("status", workspace, tree.label, found)
    problems = [*_interrupted(workspace, tree), *found.problems]
    if found.target is None:
        return answer.report(UNKNOWN_RELEASE, ok=False, problems=problems)
    patches = assess(workspace.sources, found, found.target)
    for patch in patches if not found.problems else ():
        problems.extend(_in_doubt(workspace, found, found.target, patch))
    verdict = _verdict(found) if found.problems else _overall(workspace, found.target, patches)
    if problems:
        refuse_torn_reading(tree, found)
    notes = _manifest_notes(workspace, read_manifest(tree), patches)
    return answer.report(verdict, ok=not problems, patches=patches, problems=problems, notes=notes)


def verify(workspace: Workspace, tree: SourceTree, *, asked: str | None = None, patches: Sequence[str] = ()) -> Report:
    """Say whether every patch (or those named, with their dependencies) is applied and every check holds."""
    selected = workspace.sources.series.with_dependencies(patches)
    found = survey(workspace.sources, tree, asked)
    answer = Answer("verify", workspace, tree.label, found)
    problems = [*_interrupted(workspace, tree), *found.problems]
    if found.target is None or found.problems:
        return answer.report("not-verified", ok=False, problems=problems)
    names = {patch.name for patch in selected}
    states = [patch for patch in assess(workspace.sources, found, found.target) if patch.name in names]
    for patch in states:
        if patch.state == State.CLEAN.value:
            problems.append(
                Problem(
                    f"{patch.name} is not applied",
                    path=patch.files[0].path,
                    patch=patch.name,
                    hint=f"run `{on_tree('apply', tree, workspace.sources.series.folder)}`",
                )
            )
        problems.extend(_in_doubt(workspace, found, found.target, patch))
    problems.extend(uncarried(workspace, workspace.named(found.target), (patch.name for patch in states), tree))
    record = read_manifest(tree)
    problems.extend(_contradictions(workspace, record, found.target, states))
    # The checks of a patch that is not applied fail, which says nothing that has not been said.
    applied = {patch.name for patch in states if patch.state == State.APPLIED.value}
    ready = [patch for patch in selected if patch.name in applied]
    checks = run_checks(ready, workspace.named(found.target), tree, {})
    problems.extend(failed_checks(checks))
    problems.extend(shadowed(tree, (file.path for patch in states if patch.name in applied for file in patch.files)))
    if problems:
        refuse_torn_reading(tree, found)
    return answer.report(
        "not-verified" if problems else "verified",
        ok=not problems,
        patches=states,
        checks=checks,
        problems=problems,
        notes=_manifest_notes(workspace, record, states),
    )


def _interrupted(workspace: Workspace, tree: SourceTree) -> list[Problem]:
    """Return a problem when an earlier write to a tree that can be written was cut short."""
    if not isinstance(tree, WritableTree):
        return []
    problem = interrupted_problem(tree, workspace.sources.series.folder)
    return [] if problem is None else [problem]


def _in_doubt(workspace: Workspace, found: Survey, target: str, patch: PatchReport) -> list[Problem]:
    if patch.state not in (State.PARTLY.value, State.MODIFIED.value):
        return []
    return patch_problems(workspace.sources, found, target, patch)


def _verdict(found: Survey) -> str:
    """Return the word for a tree that is refused; one that is wholly a target is another one than was asked for."""
    return UNKNOWN_RELEASE if found.strange else ANOTHER_RELEASE


def _overall(workspace: Workspace, target: str, patches: Sequence[PatchReport]) -> str:
    """Return one word for all patches: the worst state, or partly when some are in and some are out.

    After that comes that one is not carried to the target: nothing is said of the tree by it.
    """
    states = {patch.state for patch in patches} - {State.NOT_NEEDED.value}
    for state in (State.MODIFIED.value, State.PARTLY.value):
        if state in states:
            return state
    if len(states) > 1:
        return State.PARTLY.value
    if uncarried(workspace, workspace.named(target), (patch.name for patch in patches)):
        return NOT_CARRIED
    return states.pop() if states else State.NOT_NEEDED.value


def _contradictions(
    workspace: Workspace, record: Manifest | None, target: str, patches: Sequence[PatchReport]
) -> list[Problem]:
    """Return where patchkit's record in the tree and the files disagree."""
    if record is None:
        return []
    recorded = {patch.name for patch in record.patches}
    locked = workspace.sources.lock.targets
    # Releases with the same files are told apart by nothing but the record, which then is right; and another edition of
    # the series may know a target that this one does not.
    other = record.target in locked and locked[record.target].patches != locked[target].patches
    return [
        Problem(
            f"the record in the tree says that {patch.name} was applied (to {record.target}), the files say it is not",
            patch=patch.name,
            hint="something restored the files after patchkit wrote them",
        )
        for patch in patches
        if patch.name in recorded and patch.state == State.CLEAN.value
    ] + (
        [Problem(f"the record in the tree is for {record.target}, the files are those of {target}")]
        if other and all(patch.state in (State.APPLIED.value, State.NOT_NEEDED.value) for patch in patches)
        else []
    )


def _manifest_notes(workspace: Workspace, record: Manifest | None, patches: Sequence[PatchReport]) -> list[str]:
    applied = [patch for patch in patches if patch.state == State.APPLIED.value]
    if record is None:
        return ["there is no patchkit record: the patches were applied by other means"] if applied else []
    if record.series != workspace.sources.series.digest:
        which = "another edition of the series" if is_edition(record, workspace.sources.series) else "another series"
        return [
            f"applied by patchkit {record.tool} from {which} ({short(record.series)}), with the same resulting files"
        ]
    return []
