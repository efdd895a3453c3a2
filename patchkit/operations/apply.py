"""apply: put patches into a tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from patchkit.core.report import CheckReport, Problem, Report
from patchkit.core.series import PatchDocument
from patchkit.core.upstream import Target
from patchkit.errors import TreeError
from patchkit.operations.answer import Answer, applied_after, failed_checks, make_manifest
from patchkit.operations.checks import run_checks
from patchkit.operations.plan import Plan, assess, plan_forward, survey
from patchkit.operations.sources import Workspace
from patchkit.operations.undo import undo_interrupted
from patchkit.progress import Reporter, silent
from patchkit.trees.interface import SourceTree, WritableTree


class Ready(msgspec.Struct, frozen=True):
    """An apply that may be written."""

    answer: Answer
    target: Target
    plan: Plan
    checks: tuple[CheckReport, ...]
    edits: dict[str, bytes | None]
    """All files, the record included."""

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
    workspace: Workspace, tree: SourceTree, *, asked: str | None, patches: Sequence[str] = ()
) -> Ready | Report:
    """Plan to apply ``patches`` (none: all) to ``tree`` and check the planned result; a Report is the answer no.

    ``asked`` is the target that the tree must be; None: whatever its files say.
    """
    sources = workspace.sources
    selected = sources.series.with_dependencies(patches)
    found = survey(sources, tree, asked)
    answer = Answer("apply", workspace, tree.label, found)
    if found.target is None or found.problems:
        return answer.report("refused", ok=False, problems=found.problems)
    target = workspace.named(found.target)
    plan = plan_forward(sources, found, target.name, selected)
    if plan.problems:
        states = assess(sources, found, target.name)
        return answer.report("refused", ok=False, patches=states, problems=plan.problems)
    applied = applied_after(plan.patches)
    planned = plan.edits
    relevant = [patch for patch in sources.series.patches if patch.name in applied]
    checks = run_checks(relevant, target, tree, planned)
    failed = failed_checks(checks)
    if failed:
        states = assess(sources, found, target.name)
        return answer.report("refused", ok=False, patches=states, checks=checks, problems=failed)
    if not any(patch.state != "not-needed" for patch in plan.patches if patch.name in {p.name for p in selected}):
        nothing = Problem(f"{target.title} needs none of these patches")
        return answer.report("not-needed", ok=True, patches=plan.patches, checks=checks, notes=(nothing.message,))
    edits = dict(planned)
    if planned:
        edits[tree.manifest_path] = make_manifest(workspace, target.name, applied)
    return Ready(answer, target, plan, checks, edits)


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
        return ready.report("already-applied", notes=notes)
    if dry_run:
        return ready.report("would-apply", notes=notes)
    tree.write(ready.edits, operation="apply")
    return ready.report("applied", notes=notes)


def apply_to(
    workspace: Workspace,
    wheel: Path,
    destination: Path,
    *,
    asked: str | None,
    patches: Sequence[str] = (),
    dry_run: bool = False,
) -> Report:
    """Unpack a release's wheel into the new folder ``destination``, patched."""
    from patchkit.trees.archive import WheelTree, unpack  # noqa: PLC0415 - zipfile only where a wheel is read

    existing = _existing(workspace, destination, asked, patches)
    if existing is not None:
        return existing
    tree = WheelTree(wheel)
    ready = prepare(workspace, tree, asked=asked, patches=patches)
    if isinstance(ready, Report):
        return ready
    if not dry_run:
        unpack(tree, destination, ready.edits)
    return ready.report("would-apply" if dry_run else "applied", made=str(destination))


def apply_export(
    workspace: Workspace,
    repository: Path,
    revision: str,
    destination: Path,
    *,
    asked: str | None,
    patches: Sequence[str] = (),
    dry_run: bool = False,
) -> Report:
    """Write a git revision into the new folder ``destination``, patched."""
    from patchkit.trees.git import GitTree, export  # noqa: PLC0415 - git only where it is asked for

    existing = _existing(workspace, destination, asked, patches)
    if existing is not None:
        return existing
    tree = GitTree(repository, revision)
    ready = prepare(workspace, tree, asked=asked, patches=patches)
    if isinstance(ready, Report):
        return ready
    if not dry_run:
        export(tree, destination, ready.edits)
    return ready.report("would-apply" if dry_run else "applied", made=str(destination))


def apply_wheel(
    workspace: Workspace,
    wheel: Path,
    folder: Path,
    *,
    asked: str | None,
    patches: Sequence[str] = (),
    dry_run: bool = False,
) -> Report:
    """Write a patched wheel, its version suffixed with ``+patchkit.<series digest>``, into ``folder``."""
    from patchkit.trees.archive import WheelTree, rewrite_wheel  # noqa: PLC0415 - zipfile only where a wheel is read

    tree = WheelTree(wheel)
    ready = prepare(workspace, tree, asked=asked, patches=patches)
    if isinstance(ready, Report):
        return ready
    if not ready.edits:
        return ready.report("already-applied")
    made = str(folder)
    if not dry_run:
        made = str(rewrite_wheel(tree, folder, ready.edits, local_version(workspace, patches)))
    return ready.report("would-apply" if dry_run else "applied", made=made)


def apply_branch(
    workspace: Workspace,
    repository: Path,
    revision: str,
    branch: str,
    *,
    asked: str | None,
    patches: Sequence[str] = (),
    dry_run: bool = False,
) -> Report:
    """Make ``branch`` at ``revision`` with one commit per patch; nothing is checked out."""
    from patchkit.trees.git import CommitSpec, GitTree, commit_series  # noqa: PLC0415 - git only where it is asked for

    tree = GitTree(repository, revision)
    ready = prepare(workspace, tree, asked=asked, patches=patches)
    if isinstance(ready, Report):
        return ready
    if not ready.edits:
        return ready.report("already-applied")
    commits: list[CommitSpec] = []
    applied = {patch.name for patch in ready.plan.patches if patch.state == "applied"}
    for step in ready.plan.steps:
        applied.add(step.patch)
        document = workspace.sources.series.patch(step.patch).document
        edits = {**step.edits, tree.manifest_path: make_manifest(workspace, ready.target.name, applied)}
        commits.append(
            CommitSpec(
                message=_commit_message(document, ready.target),
                author_name=document.author,
                author_email="patchkit@localhost",
                author_date=f"{document.last_update}T00:00:00+00:00",
                edits=edits,
            )
        )
    if not dry_run:
        commit_series(repository, tree.commit, branch, commits)
    return ready.report("would-apply" if dry_run else "applied", made=branch)


def local_version(workspace: Workspace, patches: Sequence[str]) -> str:
    """Return the local version suffix of a patched wheel: the same for the same series and selection."""
    names = [patch.name for patch in workspace.sources.series.with_dependencies(patches)]
    short = workspace.sources.series.digest.removeprefix("sha256:")[:8]
    if len(names) == len(workspace.sources.series.patches):
        return f"patchkit.{short}"
    return f"patchkit.{short}.{'.'.join(name.replace('-', '.') for name in names)}"


def _existing(workspace: Workspace, destination: Path, asked: str | None, patches: Sequence[str]) -> Report | None:
    """Answer for a destination that is not new: already applied, or an error; None when it may be made."""
    if not destination.exists() or (destination.is_dir() and not any(destination.iterdir())):
        return None
    if (destination / "megatron" / "core").is_dir():
        from patchkit.trees.directory import open_directory  # noqa: PLC0415 - as the imports above

        tree = open_directory(destination)
        interrupted = tree.interrupted()
        ready = prepare(workspace, tree, asked=asked, patches=patches) if interrupted is None else None
        if isinstance(ready, Ready) and not ready.edits:
            return ready.report("already-applied", made=str(destination))
    raise TreeError(
        f"{destination} exists already",
        hint="--to makes a new folder; use --in to patch a folder that exists",
    )


def _commit_message(document: PatchDocument, target: Target) -> str:
    return (
        f"{document.name}: {document.description}\n\n{document.why.strip()}\n\n"
        f"Origin: {document.origin}\nForwarded: {document.forwarded}\nPatchkit-Patch: {document.name}\n"
        f"Patchkit-Target: {target.name}\n"
    )
