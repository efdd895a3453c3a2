"""Making a patched release somewhere new: a folder, a wheel, a git branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from patchkit.core.authorship import objections
from patchkit.core.blobs import blob_id
from patchkit.core.printing import printable
from patchkit.core.report import Report
from patchkit.core.series import PatchDocument
from patchkit.core.upstream import Target
from patchkit.errors import StoreError, TreeError
from patchkit.operations.answer import make_manifest
from patchkit.operations.apply import Ready, prepare
from patchkit.operations.existing import Made, is_occupied, what_differs
from patchkit.operations.sources import Workspace
from patchkit.trees.interface import Edits, SourceTree
from patchkit.trees.layout import of_wheel, open_folder, seen

if TYPE_CHECKING:
    from patchkit.trees.archive import WheelTree


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

    archive = WheelTree(wheel)
    tree = seen(archive, workspace.versions.upstream)
    return _make_folder(
        workspace,
        tree,
        destination,
        lambda ready: unpack(archive, destination, of_wheel(tree, ready.edits)),
        lambda ready: _made_of_wheel(archive, of_wheel(tree, ready.edits)),
        asked=asked,
        patches=patches,
        dry_run=dry_run,
    )


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
    from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for
    from patchkit.trees.git_write import export  # noqa: PLC0415 - as above

    tree = GitTree(repository, revision)
    report = _make_folder(
        workspace,
        tree,
        destination,
        lambda ready: export(tree, destination, ready.edits),
        lambda ready: Made(tree.blob_ids(), ready.edits, tree.manifest_path),
        asked=asked,
        patches=patches,
        dry_run=dry_run,
    )
    return _with_recorded_commit(workspace, report, tree.commit)


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
    from patchkit.trees.archive import WheelTree, copy_wheel, rewrite_wheel  # noqa: PLC0415 - zipfile only where a wheel is read

    archive = WheelTree(wheel)
    tree = seen(archive, workspace.versions.upstream)
    ready = prepare(workspace, tree, asked=asked, patches=patches)
    if isinstance(ready, Report):
        return ready
    if dry_run:
        return ready.report("would-apply" if ready.edits else ready.idle_verdict, made=str(folder))
    if not ready.edits:
        # Who asked for a wheel in this folder gets one, be it the same.
        return ready.report(ready.idle_verdict, made=str(copy_wheel(archive, folder)))
    made = rewrite_wheel(archive, folder, of_wheel(tree, ready.edits), local_version(workspace, patches))
    return ready.report("applied", made=str(made))


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
    from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for
    from patchkit.trees.git_write import CommitSpec, commit_series  # noqa: PLC0415 - as above

    tree = GitTree(repository, revision)
    ready = prepare(workspace, tree, asked=asked, patches=patches)
    if isinstance(ready, Report):
        return _with_recorded_commit(workspace, ready, tree.commit)
    if not ready.edits:
        return ready.report(ready.idle_verdict)
    _refuse_authors(workspace, [step.patch for step in ready.plan.steps])
    if dry_run:
        return ready.report("would-apply", made=branch)
    commits: list[CommitSpec] = []
    applied = {patch.name for patch in ready.plan.patches if patch.state == "applied"}
    for step in ready.plan.steps:
        applied.add(step.patch)
        document = workspace.sources.series.patch(step.patch).document
        edits = {
            **step.edits,
            tree.manifest_path: make_manifest(workspace, ready.found, ready.target.name, applied, tree.commit),
        }
        commits.append(
            CommitSpec(
                message=_commit_message(document, ready.target),
                author_name=printable(" ".join(document.author.replace("\0", " ").split())),
                author_email="patchkit@localhost",
                author_date=f"{document.last_update}T00:00:00+00:00",
                edits=edits,
            )
        )
    commit_series(repository, tree.commit, branch, commits)
    return ready.report("applied", made=branch)


def _make_folder(
    workspace: Workspace,
    tree: SourceTree,
    destination: Path,
    make: Callable[[Ready], None],
    made: Callable[[Ready], Made],
    *,
    asked: str | None,
    patches: Sequence[str],
    dry_run: bool,
) -> Report:
    """Make a new folder from ``tree``; one in which there is nothing to patch is made all the same.

    A folder that is what would be made is left as it is: there is nothing to do any more. Raises TreeError for any
    other that exists.
    """
    ready = prepare(workspace, tree, asked=asked, patches=patches)
    if isinstance(ready, Report):
        return ready
    if is_occupied(destination):
        return _existing(workspace, destination, made(ready), patches)
    if dry_run:
        return ready.report("would-apply" if ready.edits else ready.idle_verdict, made=str(destination))
    make(ready)
    return ready.report("applied" if ready.edits else ready.idle_verdict, made=str(destination))


def _with_recorded_commit(workspace: Workspace, report: Report, commit: str) -> Report:
    """Replace the advice in a refusal: nobody can restore a file of a git revision, but one can choose another."""
    target = workspace.named(report.target) if report.target else None
    if report.ok or target is None or target.commit in (None, commit):
        return report
    hint = f"this is commit {commit[:10]}; for {target.title} the series was made for {target.commit}: name that one"
    return replace(report, problems=tuple(replace(problem, hint=hint) for problem in report.problems))


def local_version(workspace: Workspace, patches: Sequence[str]) -> str:
    """Return the local version suffix of a patched wheel: the same for the same series and selection."""
    names = [patch.name for patch in workspace.sources.series.with_dependencies(patches)]
    short = workspace.sources.series.digest.removeprefix("sha256:")[:8]
    if len(names) == len(workspace.sources.series.patches):
        return f"patchkit.{short}"
    return f"patchkit.{short}.{'.'.join(name.replace('-', '.') for name in names)}"


def _existing(workspace: Workspace, destination: Path, made: Made, patches: Sequence[str]) -> Report:
    """Answer for a folder that is what would be made. Raises TreeError for another one."""
    upstream = workspace.versions.upstream
    difference = what_differs(destination, made, upstream)
    if difference is None:
        done = prepare(workspace, open_folder(destination, upstream), asked=None, patches=patches)
        if isinstance(done, Ready) and not done.edits:
            return done.report(done.idle_verdict, made=str(destination))
        difference = "it was changed while it was looked at"
    raise TreeError(
        f"{destination} exists already, and is not what would be made there: {difference}",
        hint="--to makes a new folder; use --in to patch a folder that exists",
    )


def _made_of_wheel(archive: WheelTree, edits: Edits) -> Made:
    blobs = {path: blob_id(archive.read(path) or b"") for path in archive.paths()}
    return Made(blobs, {**edits, archive.record_path: archive.record(edits)}, archive.manifest_path)


def _refuse_authors(workspace: Workspace, names: Sequence[str]) -> None:
    """Raise StoreError for a patch of which git makes no commit, with the key that is in the way."""
    for name in names:
        document = workspace.sources.series.patch(name).document
        file = str(workspace.sources.series.folder / name / "patch.yaml")
        for objection in objections(document.author, document.last_update):
            raise StoreError(file, objection.key, objection.message, hint=objection.hint)


def _commit_message(document: PatchDocument, target: Target) -> str:
    text = (
        f"{document.name}: {document.description}\n\n{document.why.strip()}\n\n"
        f"Origin: {document.origin}\nForwarded: {document.forwarded}\nPatchkit-Patch: {document.name}\n"
        f"Patchkit-Target: {target.name}\n"
    )
    # YAML can hold a NUL; no argument or message of git's can. And a log is read in a terminal, or where marks of
    # direction turn words around.
    return printable(text.replace("\0", " "), but="\n\t")
