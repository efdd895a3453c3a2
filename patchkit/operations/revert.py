"""revert: take patches out of a tree."""

from __future__ import annotations

from collections.abc import Sequence

from patchkit.core.report import Report
from patchkit.operations.answer import Answer, applied_after, applied_by_others, make_manifest, read_manifest
from patchkit.operations.plan import assess, plan_backward
from patchkit.operations.sources import Workspace
from patchkit.operations.survey import refuse_torn_reading, survey
from patchkit.operations.undo import undo_interrupted
from patchkit.progress import Reporter, silent
from patchkit.trees.interface import WritableTree


def revert_in(
    workspace: Workspace,
    tree: WritableTree,
    *,
    asked: str | None = None,
    patches: Sequence[str] = (),
    dry_run: bool = False,
    reporter: Reporter = silent,
) -> Report:
    """Take ``patches`` (none: all) and what depends on them out of ``tree``; every file gets its old bytes back.

    The old bytes are computed from the patched ones and compared with the lock, so no copy is kept anywhere. Raises
    TreeError when something else than a record stands in its place.
    """
    notes = undo_interrupted(tree, dry_run=dry_run, reporter=reporter)
    sources = workspace.sources
    selected = sources.series.with_dependents(patches)
    # As in apply.prepare: the record must not have changed by the time it is written.
    recorded = read_manifest(tree)
    has_record = recorded is not None
    found = survey(sources, tree, asked)
    answer = Answer("revert", workspace, tree.label, found)
    if found.target is None or found.problems:
        refuse_torn_reading(tree, found)
        return answer.report("refused", ok=False, problems=found.problems, notes=notes)
    plan = plan_backward(sources, found, found.target, selected)
    plan.problems.extend(applied_by_others(recorded, tree, sources.series))
    if plan.problems:
        refuse_torn_reading(tree, found)
        states = assess(sources, found, found.target)
        return answer.report("refused", ok=False, patches=states, problems=plan.problems, notes=notes)
    edits = plan.edits
    if edits or has_record:
        record = make_manifest(workspace, found, found.target, applied_after(plan.patches))
        if has_record or record is not None:
            edits[tree.manifest_path] = record
    if not plan.steps and edits.get(tree.manifest_path) is not None:
        edits = {}
    if not edits:
        return answer.report("nothing-to-revert", ok=True, patches=plan.patches, notes=notes)
    if dry_run:
        return answer.report("would-revert", ok=True, patches=plan.patches, written=edits, notes=notes)
    tree.write(edits, operation="revert")
    return answer.report("reverted", ok=True, patches=plan.patches, written=edits, notes=notes)
