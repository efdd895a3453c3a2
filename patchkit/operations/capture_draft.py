"""The new text of a patch that was edited in a tree, with ids and descriptions for its new hunks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from patchkit.core.foreign.enclosing import enclosing_scopes
from patchkit.core.foreign.split import ScopedHunk, hunk_ids, propose
from patchkit.core.lines import split_lines
from patchkit.core.model import FilePatch, Hunk, Patch
from patchkit.core.refreshing.variant_text import refreshed_text, renumbered_text
from patchkit.core.series import HunkSpec, VariantSpec
from patchkit.core.unwritten import PROPOSED
from patchkit.core.upstream import Target
from patchkit.operations.capture_edits import PatchChange
from patchkit.operations.capture_report import CapturedHunk
from patchkit.operations.coverage import variants_for
from patchkit.store.series import SeriesPatch


@dataclass(slots=True)
class Draft:
    """One patch's new text, and the hunks that are new in it."""

    patch: SeriesPatch
    variant: VariantSpec
    text: bytes
    specs: list[HunkSpec]
    dropped: list[str]


def drafted(patch: SeriesPatch, change: PatchChange, target: Target) -> tuple[Draft, list[CapturedHunk]]:
    """Return a patch's new text for ``target``, and what happens to which hunk. At least one hunk is left."""
    variant = variants_for(patch.document, target)[0]
    taken = {hunk.id for hunk in patch.document.hunks}
    names = names_for(change, taken)
    added = {path: [called(hunk, names, path) for hunk in hunks] for path, hunks in change.added.items()}
    files = [
        FilePatch(file.old_path, file.new_path, tuple(called(hunk, names, file.path) for hunk in file.hunks))
        for file in change.files
    ]
    text = refreshed_text(patch.texts[variant.file], change.replaced, added, files)
    text = renumbered_text(text, change.renumbered) if change.renumbered else text
    new = [(path, hunk) for path, hunks in added.items() for hunk in hunks]
    new += [(file.path, hunk) for file in files for hunk in file.hunks]
    dropped = [name for name, hunk in change.replaced.items() if hunk is None]
    before = patch.variant(variant.file)
    told: list[CapturedHunk] = []
    for name in dict.fromkeys((*change.replaced, *change.renumbered)):
        path = next(file.path for file in before.files if any(each.id == name for each in file.hunks))
        told.append(CapturedHunk(patch.name, name, path, _action(change, name)))
    told.extend(CapturedHunk(patch.name, hunk.id, path, "new") for path, hunk in new)
    group = patch.document.hunks[0].group
    specs = [spec_for(change, path, hunk, _group(patch, path, group)) for path, hunk in new]
    return Draft(patch, variant, text, specs, dropped), told


def _action(change: PatchChange, name: str) -> str:
    if name not in change.replaced:
        return "renumbered"
    if change.replaced[name] is None:
        return "dropped"
    return "context" if name in change.context else "changed"


def ids(parsed: Patch) -> list[str]:
    """Return the ids of all hunks."""
    return [hunk.id for file in parsed.files for hunk in file.hunks]


def _group(patch: SeriesPatch, path: str, usual: str) -> str:
    """Return the group of another hunk of the same file, or the patch's first."""
    return next((hunk.group for hunk in patch.document.hunks if hunk.file == path), usual)


def names_for(change: PatchChange, taken: Collection[str]) -> dict[tuple[str, int], str]:
    """Return an id for every hunk without one, by path and first old line."""
    hunks = [(path, hunk) for path, several in change.added.items() for hunk in several]
    hunks += [(file.path, hunk) for file in change.files for hunk in file.hunks]
    scoped = [ScopedHunk(path, _scope(change, path, hunk), hunk) for path, hunk in hunks]
    base = {path: change.texts[path][0] for path, _ in hunks}
    made = hunk_ids(scoped, propose(scoped, base), taken)
    return {(path, hunk.old_start): made[at] for at, (path, hunk) in enumerate(hunks)}


def called(hunk: Hunk, names: Mapping[tuple[str, int], str], path: str) -> Hunk:
    """Return the hunk with its id out of ``names``."""
    return msgspec.structs.replace(hunk, id=names[path, hunk.old_start])


def _scope(change: PatchChange, path: str, hunk: Hunk) -> str:
    before, after = change.texts[path]
    # The hunk may be numbered for another target: it is looked for where it stands in this one's text.
    old, new = split_lines(before or b""), split_lines(after or b"")
    starts = [at for at in range(len(old) + 1) if old[at : at + len(hunk.old_lines)] == hunk.old_lines]
    ends = [at for at in range(len(new) + 1) if new[at : at + len(hunk.new_lines)] == hunk.new_lines]
    first = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
    start = min(starts, key=lambda at: abs(at - first), default=first)
    end = min(ends, key=lambda at: abs(at - hunk.new_start + 1), default=hunk.new_start)
    placed = msgspec.structs.replace(
        hunk,
        old_start=start + 1 if hunk.old_lines else start,
        new_start=end + 1 if hunk.new_lines else end,
    )
    return enclosing_scopes(path, before, after, (placed,))[0]


def spec_for(change: PatchChange, path: str, hunk: Hunk, group: str) -> HunkSpec:
    """Return what patch.yaml says about a new hunk until a person says more."""
    added = sum(line.kind.value == "+" for line in hunk.lines)
    removed = sum(line.kind.value == "-" for line in hunk.lines)
    return HunkSpec(
        id=hunk.id,
        group=group,
        file=path,
        scope=_scope(change, path, hunk),
        intent=f"{PROPOSED}captured from an edited tree, {added} added and {removed} removed lines",
    )
