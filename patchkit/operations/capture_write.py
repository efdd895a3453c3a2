"""Writing what capture found: variant texts, hunks in patch.yaml, and variants for the targets where an edit holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from patchkit.core.model import FilePatch
from patchkit.core.series import SCHEMA, HunkSpec, PatchDocument, SeriesEntry, VariantSpec
from patchkit.core.unified import parse_patch
from patchkit.core.unwritten import TODO
from patchkit.core.upstream import Target
from patchkit.errors import PatchkitError
from patchkit.operations.applicability import applicability, split_variant
from patchkit.operations.capture_draft import Draft, called, drafted, ids, names_for, spec_for
from patchkit.operations.capture_edits import PatchChange
from patchkit.operations.capture_report import CapturedHunk, CapturedVariant
from patchkit.operations.coverage import variants_for
from patchkit.operations.regenerate import OpenSource, build_target
from patchkit.store.new_patch import extended_patch, extended_series, not_carried, patch_text, variant_text
from patchkit.store.series import Series, load_series


@dataclass(frozen=True, slots=True)
class Writing:
    """Where and for what is written."""

    folder: Path
    """The copy of the series."""
    series: Series
    """As it was read."""
    target: Target
    known: tuple[Target, ...]
    open_source: OpenSource
    today: str
    new: str | None
    """Name of the patch to make, if there is one to make."""


@dataclass(slots=True)
class Written:
    """What was written into the copy."""

    hunks: list[CapturedHunk] = field(default_factory=list)
    variants: list[CapturedVariant] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def write_changes(writing: Writing, changes: Mapping[str, PatchChange]) -> Written:
    """Write ``changes`` into the copy; the lock and the generated files are regenerate's. Raises UsageError."""
    written = Written()
    touched = [patch for patch in writing.series.patches if patch.name in changes]
    pairs = [drafted(patch, changes[patch.name], writing.target) for patch in touched]
    drafts = [one for one, _ in pairs]
    written.hunks.extend(hunk for _, told in pairs for hunk in told)
    if writing.new is not None and writing.new in changes:
        _new_patch(writing, changes[writing.new], written)
    # First as if every target took the new texts: building shows on which of them they hold.
    for draft in drafts:
        _write_draft(writing.folder, draft, document=_extended(draft, ()))
    fits, reasons = _fitting(writing, drafts)
    for draft in drafts:
        _settle(writing, draft, fits, reasons, written)
    return written


def describe(written: Written) -> tuple[tuple[CapturedHunk, ...], tuple[CapturedVariant, ...]]:
    """Return what a report says about it."""
    return tuple(written.hunks), tuple(written.variants)


def _extended(draft: Draft, variants: Sequence[VariantSpec]) -> bytes:
    file = draft.patch.folder / "patch.yaml"
    told = [msgspec.to_builtins(variant) for variant in variants]
    kept = draft.dropped if not variants else []
    return extended_patch(file.read_bytes(), str(file), draft.specs, dropped=kept, variants=told)


def _write_draft(folder: Path, draft: Draft, *, document: bytes) -> None:
    place = folder / draft.patch.name
    (place / "variants" / draft.variant.file).write_bytes(draft.text)
    (place / "patch.yaml").write_bytes(document)


def _fitting(writing: Writing, drafts: Sequence[Draft]) -> tuple[set[str], dict[str, str]]:
    """Return the targets on which the series with the new texts holds, and why it does not on the others."""
    if not drafts:
        return set(), {}
    series = load_series(writing.folder)
    fits = {writing.target.name}
    reasons: dict[str, str] = {}
    for target in writing.known:
        served = any(draft.variant in variants_for(draft.patch.document, target) for draft in drafts)
        if not served or target.name == writing.target.name:
            continue
        try:
            tree = writing.open_source(target)
            if tree is None:
                reasons[target.name] = "no source at hand"
                continue
            build_target(series, target, tree)
        except PatchkitError as error:
            reasons[target.name] = error.message
            continue
        fits.add(target.name)
    return fits, reasons


def _settle(writing: Writing, draft: Draft, fits: set[str], reasons: Mapping[str, str], written: Written) -> None:
    """Write a patch as it stays: its variant for all targets, or a new one for those where the new text holds."""
    document = draft.patch.document
    served = [target for target in writing.known if draft.variant in variants_for(document, target)]
    moved = [target.name for target in served if target.name in fits]
    file = draft.variant.file
    variants: tuple[VariantSpec, ...] = ()
    why = ""
    if len(moved) < len(served):
        file = _free_file(draft, writing.target)
        variants = split_variant(document, draft.variant, file, moved, writing.known)
        left = [target.name for target in served if target.name not in fits]
        why = "; ".join(f"{name}: {reasons.get(name, '')}" for name in left[:3]) + ("; ..." if len(left) > 3 else "")
    place = writing.folder / draft.patch.name
    if variants:
        (place / "variants" / draft.variant.file).write_bytes(draft.patch.texts[draft.variant.file])
        (place / "variants" / file).write_bytes(draft.text)
    written.variants.append(CapturedVariant(draft.patch.name, file, tuple(moved), why))
    (place / "patch.yaml").write_bytes(_restricted(writing, draft, variants, file, written))


def _free_file(draft: Draft, target: Target) -> str:
    names = {variant.file for variant in draft.patch.document.variants}
    number = 1
    name = f"{target.title}.patch"
    while name in names:
        number += 1
        name = f"{target.title}-{number}.patch"
    return name


def _restricted(writing: Writing, draft: Draft, variants: Sequence[VariantSpec], file: str, written: Written) -> bytes:
    """Return patch.yaml in which each new or dropped hunk is for the targets whose variant has it."""
    document = draft.patch.document
    now = msgspec.structs.replace(document, variants=tuple(variants) or document.variants)
    texts = {**draft.patch.texts, file: draft.text}
    covered = [target for target in writing.known if variants_for(now, target)]
    having = {
        name: [
            target.name
            for target in covered
            if name in ids(parse_patch(texts[variants_for(now, target)[0].file], file))
        ]
        for name in (*(spec.id for spec in draft.specs), *draft.dropped)
    }
    specs: list[HunkSpec] = []
    limits: dict[str, dict[str, object]] = {}
    gone = [name for name in draft.dropped if not having[name]]
    for name, wanted in having.items():
        if not wanted:
            continue
        said = applicability(wanted, covered)
        if said is None:
            written.notes.append(
                f"{draft.patch.name}: say by hand for which targets hunk {name} is: {', '.join(wanted)}"
            )
            continue
        limits[name] = {"releases": said.releases, "not-on": list(said.not_on), "only-on": list(said.only_on)}
    for spec in draft.specs:
        limit = limits.pop(spec.id, {})
        specs.append(
            msgspec.structs.replace(
                spec,
                releases=str(limit.get("releases", "")),
                not_on=tuple(limit.get("not-on", ())),  # type: ignore[arg-type]  # a list of names
                only_on=tuple(limit.get("only-on", ())),  # type: ignore[arg-type]  # as above
            )
        )
    path = draft.patch.folder / "patch.yaml"
    told = [msgspec.to_builtins(variant) for variant in variants]
    return extended_patch(path.read_bytes(), str(path), specs, dropped=gone, variants=told, limits=limits)


def _new_patch(writing: Writing, change: PatchChange, written: Written) -> None:
    """Write a patch that did not exist, for the target alone, at the end of the series."""
    name = str(writing.new)
    names = names_for(change, ())
    files = [
        FilePatch(file.old_path, file.new_path, tuple(called(hunk, names, file.path) for hunk in file.hunks))
        for file in change.files
    ]
    hunks = [(file.path, hunk) for file in files for hunk in file.hunks]
    variant = f"{writing.target.title}.patch"
    others = tuple(target.name for target in writing.known if target.name != writing.target.name)
    document = PatchDocument(
        schema=SCHEMA,
        name=name,
        description=TODO + "what it does",
        origin="Captured from an edited tree.",
        author=TODO + "who wrote it",
        forwarded=TODO + "no, not-needed, or the address of the pull request",
        applied_upstream="",
        last_update=writing.today,
        why=TODO + "what goes wrong without it",
        needed_when=TODO + "who needs it",
        drop_when=TODO + "what upstream must do before it can go",
        hunks=tuple(spec_for(change, path, hunk, name) for path, hunk in hunks),
        variants=(VariantSpec(variant, "", (writing.target.name,)),),
        not_needed=not_carried(name, writing.target, others),
    )
    place = writing.folder / name
    (place / "variants").mkdir(parents=True)
    (place / "patch.yaml").write_bytes(patch_text(document))
    (place / "variants" / variant).write_bytes(variant_text(files))
    file = writing.folder / "series.yaml"
    groups = {} if name in writing.series.document.groups else {name: TODO + "what its hunks are for"}
    touched = {path for path, _ in hunks}
    depends = tuple(
        patch.name for patch in writing.series.patches if touched & {hunk.file for hunk in patch.document.hunks}
    )
    file.write_bytes(extended_series(file.read_bytes(), str(file), groups, [SeriesEntry(name, depends)]))
    written.hunks.extend(CapturedHunk(name, hunk.id, path, "new") for path, hunk in hunks)
    written.variants.append(CapturedVariant(name, variant, (writing.target.name,)))
