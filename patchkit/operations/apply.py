"""apply: put patches into a tree."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from patchkit.core.report import CheckReport, Report
from patchkit.core.state import State
from patchkit.core.upstream import Target
from patchkit.operations.answer import (
    Answer,
    applied_after,
    applied_by_others,
    failed_checks,
    make_manifest,
    read_manifest,
    uncarried,
)
from patchkit.operations.checks import run_checks
from patchkit.operations.plan import Plan, assess, plan_forward
from patchkit.operations.shadowing import shadowed
from patchkit.operations.sources import Workspace
from patchkit.operations.survey import Survey, refuse_torn_reading, survey
from patchkit.operations.undo import undo_interrupted
from patchkit.progress import Reporter, silent
from patchkit.trees.interface import SourceTree, WritableTree


class Ready(msgspec.Struct, frozen=True):
    """An apply that may be written."""

    answer: Answer
    found: Survey
    target: Target
    selected: tuple[str, ...]
    """The patches asked for, with those they depend on."""
    plan: Plan
    checks: tuple[CheckReport, ...]
    edits: dict[str, bytes | None]
    """All files, the record included where there is to be one; empty when there is nothing to do."""

    @property
    def idle_verdict(self) -> str:
        """What to say when there is nothing to do."""
        states = {patch.state for patch in self.plan.patches if patch.name in self.selected}
        return "not-needed" if states == {State.NOT_NEEDED.value} else "already-applied"

    def report(self, verdict: str, *, made: str | None = None, notes: Sequence[str] = ()) -> Report:
        """Return the report of the finished (or dry) run."""
        return self.answer.report(
            verdict,
            ok=True,
            patches=self.plan.patches,
            checks=self.checks,
            written=self.edits,
            made=made,
            notes=notes,
        )


def prepare(
    workspace: Workspace,
    tree: SourceTree,
    *,
    asked: str | None,
    patches: Sequence[str] = (),
    recorded: bool = True,
) -> Ready | Report:
    """Plan to apply ``patches`` (none: all) to ``tree`` and check the planned result; a Report is the answer no.

    ``asked`` is the target that the tree must be; None: whatever its files say. With ``recorded`` off there is no
    record among the edits, and that of another series is in nobody's way.
    """
    sources = workspace.sources
    selected = sources.series.with_dependencies(patches)
    # A tree refuses to write over what changed since it was read: so the record of another apply is not lost, nor is
    # a file of somebody else's that stands in its place.
    record = read_manifest(tree)
    found = survey(sources, tree, asked)
    commit = getattr(tree, "commit", None)
    answer = Answer("apply", workspace, tree.label, found)
    if found.target is None or found.problems:
        refuse_torn_reading(tree, found)
        return answer.report("refused", ok=False, problems=found.problems)
    target = workspace.named(found.target)
    plan = plan_forward(sources, found, target.name, selected)
    if recorded and (plan.steps or plan.problems):
        plan.problems.extend(applied_by_others(record, tree, sources.series))
    plan.problems.extend(uncarried(workspace, target, (patch.name for patch in selected), tree))
    if plan.problems:
        refuse_torn_reading(tree, found)
        states = assess(sources, found, target.name)
        return answer.report("refused", ok=False, patches=states, problems=plan.problems)
    applied = applied_after(plan.patches)
    planned = plan.edits
    relevant = [patch for patch in sources.series.patches if patch.name in applied]
    checks = run_checks(relevant, target, tree, planned)
    files = (file.path for patch in plan.patches if patch.name in applied for file in patch.files)
    failed = [*failed_checks(checks), *shadowed(tree, files)]
    if failed:
        refuse_torn_reading(tree, found)
        states = assess(sources, found, target.name)
        return answer.report("refused", ok=False, patches=states, checks=checks, problems=failed)
    edits = dict(planned)
    if planned and recorded:
        edits[tree.manifest_path] = make_manifest(workspace, found, target.name, applied, commit)
    return Ready(answer, found, target, tuple(patch.name for patch in selected), plan, checks, edits)


def apply_in(
    workspace: Workspace,
    tree: WritableTree,
    *,
    asked: str | None = None,
    patches: Sequence[str] = (),
    dry_run: bool = False,
    reporter: Reporter = silent,
) -> Report:
    """Apply to a tree where it is."""
    notes = undo_interrupted(tree, dry_run=dry_run, reporter=reporter)
    ready = prepare(workspace, tree, asked=asked, patches=patches)
    if isinstance(ready, Report):
        return replace(ready, notes=(*notes, *ready.notes))
    if not ready.edits:
        return ready.report(ready.idle_verdict, notes=notes)
    if dry_run:
        return ready.report("would-apply", notes=notes)
    tree.write(ready.edits, operation="apply")
    return ready.report("applied", notes=notes)
