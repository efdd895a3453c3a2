"""Building the report that a command gives back."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from patchkit import __version__
from patchkit.core.blobs import blob_id_if_any
from patchkit.core.manifest import MANIFEST_SCHEMA, AppliedPatch, Manifest, parse_manifest, print_manifest
from patchkit.core.report import CheckReport, PatchReport, Problem, Report
from patchkit.core.state import State
from patchkit.core.upstream import Target
from patchkit.operations.commands import carry_to
from patchkit.operations.coverage import is_uncarried, why_not_needed
from patchkit.operations.sources import Workspace
from patchkit.operations.survey import Survey, is_edition, short
from patchkit.store.series import Series
from patchkit.trees.interface import SourceTree
from patchkit.trees.layout import tree_option

NOT_CARRIED = "not-carried"
"""The state of a patch that has no variant for a target, and of which nobody has said that it needs none there."""


class Answer(msgspec.Struct, frozen=True):
    """What every report of one command on one tree has in common."""

    command: str
    workspace: Workspace
    tree: str
    found: Survey | None

    def report(
        self,
        verdict: str,
        *,
        ok: bool,
        patches: Iterable[PatchReport] = (),
        checks: tuple[CheckReport, ...] = (),
        problems: Iterable[Problem] = (),
        written: Iterable[str] = (),
        made: str | None = None,
        notes: Iterable[str] = (),
    ) -> Report:
        """Return the report."""
        target = self.found.target if self.found else None
        return Report(
            tool=__version__,
            command=self.command,
            ok=ok,
            verdict=verdict,
            tree=self.tree,
            target=target,
            recognised=self.found is not None and target is not None and not self.found.strange,
            same_as=self.found.same if self.found else (),
            series=self.workspace.sources.series.digest,
            patches=tuple(_with_upstream(self.workspace, patch, target) for patch in patches),
            checks=checks,
            problems=tuple(problems),
            written=tuple(sorted(written)),
            made=made,
            notes=tuple(notes),
        )


def failed_checks(checks: Iterable[CheckReport]) -> list[Problem]:
    """Return a problem for each check that does not hold."""
    return [
        Problem(
            f"check {check.id} expects {check.expected} matches and finds {check.found}"
            + (f" ({', '.join(check.at)})" if check.at else ""),
            patch=check.patch,
            hint=check.intent,
        )
        for check in checks
        if not check.ok
    ]


def uncarried(
    workspace: Workspace, target: Target, names: Iterable[str], tree: SourceTree | None = None
) -> list[Problem]:
    """Return a problem for each of the patches that nobody has carried to ``target`` yet: it does nothing there.

    ``tree`` is the one that was looked at; a clone that it is of has the target's text.
    """
    series = workspace.sources.series
    hint = f"carry it there: `{carry_to(target, series.folder, getattr(tree, 'repository', None))}`"
    return [
        Problem(f"it is not carried to {target.title} yet", patch=name, hint=hint)
        for name in names
        if is_uncarried(series.patch(name).document, target)
    ]


def make_manifest(
    workspace: Workspace, found: Survey, target: str, applied: Iterable[str], commit: str | None = None
) -> bytes | None:
    """Return the record for a tree in which the patches ``applied`` are; None when there are none.

    ``commit`` is the tree's own where it is known. Otherwise the target's is taken, unless other targets have the same
    files: the tree could then be any of them.
    """
    names = set(applied)
    locked = workspace.sources.lock.targets[target]
    patches: list[AppliedPatch] = []
    for name, lock in locked.patches.items():
        if name in names and lock.variant is not None:
            digest = workspace.sources.series.patch(name).digest
            patches.append(AppliedPatch(name, digest, lock.variant, lock.files))
    if not patches:
        return None
    if commit is None and not found.same:
        commit = workspace.named(target).commit
    series = workspace.sources.series.digest
    return print_manifest(Manifest(MANIFEST_SCHEMA, __version__, target, commit, series, tuple(patches)))


def read_manifest(tree: SourceTree) -> Manifest | None:
    """Return the record that patchkit left in ``tree``, or None. Raises TreeError when it is malformed."""
    content = tree.read(tree.manifest_path)
    return None if content is None else parse_manifest(content, f"{tree.label}: {tree.manifest_path}")


def applied_by_others(record: Manifest | None, tree: SourceTree, series: Series) -> list[Problem]:
    """Return a problem for each recorded patch that is in the tree and changes a file which ``series`` does not touch.

    It is the work of another series, or of an edition with another patch: without its record nobody could tell that it
    is there. A patch counts as long as one of those files is as it left it.
    """
    problems: list[Problem] = []
    own = frozenset(series.files)
    for patch in record.patches if record else ():
        beyond = {path: pair.after for path, pair in patch.files.items() if pair.before != pair.after}
        left = [path for path, blob in beyond.items() if path not in own and _has(tree, path, blob)]
        if record is not None and left:
            which = "another edition of it" if is_edition(record, series) else "another series"
            problems.append(
                Problem(
                    f"the series {short(record.series)} (patchkit {record.tool}, for {record.target}) has applied it, "
                    f"and the tree has its record: {series.folder} ({short(series.digest)}) is {which}",
                    path=left[0],
                    patch=patch.name,
                    hint="one tree takes one series: take that one out first, "
                    f"`patchkit revert{tree_option(tree)} --patches` with its folder",
                )
            )
    return problems


def _has(tree: SourceTree, path: str, blob: str | None) -> bool:
    return blob_id_if_any(tree.read(path)) == blob


def applied_after(patches: Iterable[PatchReport]) -> set[str]:
    """Return the patches that are in the tree once the planned actions are done."""
    return {
        patch.name
        for patch in patches
        if patch.action == "apply" or (patch.action == "none" and patch.state == State.APPLIED.value)
    }


def _with_upstream(workspace: Workspace, patch: PatchReport, target: str | None) -> PatchReport:
    """Add what upstream has of the patch on this target, and why a patch is not needed there."""
    if target is None:
        return patch
    document = workspace.sources.series.patch(patch.name).document
    known = workspace.named(target)
    groups = {group: text for has in document.upstream if has.target == target for group, text in has.groups.items()}
    state, reason = patch.state, patch.reason
    if state == State.NOT_NEEDED.value:
        reason = why_not_needed(document.not_needed, known) or ""
        if is_uncarried(document, known):
            # What stands there tells its author what to write.
            state, reason = NOT_CARRIED, "carry it there, or say in patch.yaml, below not-needed, why it needs none"
    return PatchReport(patch.name, state, patch.action, patch.variant, reason, patch.files, groups or patch.upstream)
