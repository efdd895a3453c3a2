"""A target that the lock has: every patch is put on it again, and has to give exactly what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.carry import Verdict as Carried
from patchkit.core.carry_report import SKIPPED, CommitReport, PlaceReport
from patchkit.core.placement import Verdict
from patchkit.core.report import CheckReport, Problem
from patchkit.core.scopes import MODULE
from patchkit.core.series import TargetLock
from patchkit.core.upstream import Target
from patchkit.core.upstream_report import HunkAnswer, PatchAnswer
from patchkit.operations.checks import run_checks
from patchkit.operations.commands import regenerate
from patchkit.operations.coverage import applies, left_out_before, why_not_needed
from patchkit.operations.layers import Layer, layers, result
from patchkit.operations.obstacles import obstacles
from patchkit.operations.upstream_answers import groups, hunk_text, with_states
from patchkit.store.series import Series, SeriesPatch
from patchkit.trees.interface import SourceTree


def differs(lock: TargetLock, tree: SourceTree) -> list[str]:
    """Return the touched paths whose text in ``tree`` is not the recorded one."""
    return [path for path in lock.paths if blob_id_if_any(tree.read(path)) != lock.chain(path)[0]]


def recorded(series: Series, target: Target, lock: TargetLock, tree: SourceTree) -> tuple[PatchAnswer, ...]:
    """Return the answer for each patch. Raises StoreError when a variant does not fit: regenerate would say so too."""
    found = {layer.patch.name: layer for layer in layers(series, target, tree.read)}
    applied = [layer.patch for layer in found.values()]
    checks = run_checks(applied, target, tree, result(tuple(found.values())))
    by_patch: dict[str, list[CheckReport]] = {}
    for check in checks:
        by_patch.setdefault(check.patch, []).append(check)
    wrong = {
        name: _not_as_locked(layer, lock.patches[name].files) or _in_the_way(layer, tree)
        for name, layer in found.items()
    }
    return tuple(
        _patch(patch, target, found.get(patch.name), tuple(by_patch.get(patch.name, ())), wrong.get(patch.name, ""))
        for patch in series.patches
    )


def _patch(
    patch: SeriesPatch, target: Target, layer: Layer | None, checks: tuple[CheckReport, ...], wrong: str
) -> PatchAnswer:
    document = patch.document
    if layer is None:
        reason = why_not_needed(document.not_needed, target) or "no variant is for this target"
        return PatchAnswer(name=patch.name, state="fine", verdict="not-needed", reason=reason)
    failed = [check for check in checks if not check.ok]
    hunks = (*_hunks(layer), *_upstreamed(patch, target, layer), *_left_out(patch, target, layer))
    answer = PatchAnswer(
        name=patch.name,
        state="fine",
        verdict="failed" if failed or wrong else "recorded",
        reason=wrong or "; ".join(f"check {check.id}: {check.intent}" for check in failed),
        variant=layer.variant,
        groups=groups(document, target, hunks),
        hunks=hunks,
        checks=checks,
    )
    return with_states(answer, "broken" if failed or wrong else "fine")


def _not_as_locked(layer: Layer, files: Mapping[str, object]) -> str:
    for path, content in layer.after.items():
        pair = files.get(path)
        if pair is None or getattr(pair, "after", None) != blob_id_if_any(content):
            return f"{path} becomes another text than the one in lock.yaml: run `patchkit regenerate`"
    return ""


def _in_the_way(layer: Layer, tree: SourceTree) -> str:
    made = {path: layer.before[path] for path, content in layer.after.items() if content is not None}
    return "; ".join(f"{path}: {reason}" for path, reason in obstacles(made, tree).items())


def _hunks(layer: Layer) -> list[HunkAnswer]:
    document = layer.patch.document
    found: list[HunkAnswer] = []
    for file in layer.text.files:
        for hunk, placed in zip(file.hunks, layer.placed[file.path], strict=True):
            spec = document.hunk(hunk.id)
            scope = spec.scope if spec is not None else MODULE
            moved = placed.verdict is Verdict.MOVED
            old = PlaceReport(scope, hunk.old_start, hunk.old_start + len(hunk.old_lines) - 1)
            first = hunk.new_start + placed.offset
            found.append(
                HunkAnswer(
                    id=hunk.id,
                    group=spec.group if spec is not None else "",
                    path=file.path,
                    state="fine",
                    verdict=placed.verdict.value,
                    intent=spec.intent if spec is not None else "",
                    reason=f"stands {placed.offset:+d} lines from where the variant says" if moved else "",
                    old=old,
                    new=PlaceReport(scope, first, first + len(hunk.new_lines) - 1),
                    diff=hunk_text(file.path, hunk),
                )
            )
    return found


def _upstreamed(patch: SeriesPatch, target: Target, layer: Layer) -> list[HunkAnswer]:
    """Return the hunks that the target's variant lacks because patch.yaml says that upstream has their group."""
    there = {hunk.id for file in layer.text.files for hunk in file.hunks}
    found: list[HunkAnswer] = []
    for has in patch.document.upstream:
        if has.target != target.name:
            continue
        commit = CommitReport(has.commit, " ".join(has.note.split()), has.pull_request) if has.commit else None
        found.extend(
            HunkAnswer(
                id=spec.id,
                group=spec.group,
                path=spec.file,
                state="fine",
                verdict=Carried.UPSTREAMED.value,
                intent=spec.intent,
                reason=has.groups[spec.group],
                commits=(commit,) if commit is not None else (),
            )
            for spec in patch.document.hunks
            if spec.id not in there and spec.group in has.groups and applies(spec, target)
        )
    return found


def _left_out(patch: SeriesPatch, target: Target, layer: Layer) -> Iterator[HunkAnswer]:
    """Yield the hunks that the target's variant lacks because a person decided so in a rebase."""
    there = {hunk.id for file in layer.text.files for hunk in file.hunks}
    for name, why in left_out_before(patch.document, target).items():
        spec = patch.document.hunk(name)
        if spec is not None and name not in there:
            yield HunkAnswer(
                id=name,
                group=spec.group,
                path=spec.file,
                state="fine",
                verdict=SKIPPED,
                intent=spec.intent,
                reason=why,
                drop_when=" ".join(spec.drop_when.split()),
            )


def not_recorded(target: Target, paths: list[str], series: Path) -> Problem:
    """Return what to say, loudly, when a release is not the text that was recorded for it."""
    return Problem(
        f"{target.title} is not what was recorded: {', '.join(paths)} has other text than upstream_versions.yaml says",
        path=paths[0],
        hint=f"find out who changed it, the tag or the wheel, before you use it; then `{regenerate(series)}`",
    )
