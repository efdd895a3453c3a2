"""The sources that import writes: patch.yaml and variant of each new patch, series.yaml, upstream_versions.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from patchkit.core.blobs import blob_id
from patchkit.core.foreign.diffs import ForeignPatch, Message
from patchkit.core.foreign.fitting import FittedPatch
from patchkit.core.foreign.split import added_names
from patchkit.core.marks import first_mark
from patchkit.core.model import LineKind
from patchkit.core.scopes import MODULE
from patchkit.core.series import SCHEMA, HunkSpec, PatchDocument, SeriesEntry, VariantSpec
from patchkit.core.unwritten import PROPOSED, TODO
from patchkit.core.upstream import PinnedCommit, Target, targets
from patchkit.errors import PatchFormatError, UsageError
from patchkit.operations.import_base import Base
from patchkit.operations.import_units import Unit
from patchkit.operations.known import Known
from patchkit.operations.layers import Layer
from patchkit.store.location import VERSIONS, versions_file
from patchkit.store.new_patch import (
    extended_series,
    extended_versions,
    not_carried,
    patch_text,
    series_text,
    variant_text,
    versions_text,
)
from patchkit.store.series import Series

_KEY = re.compile(rb"([a-z][a-z-]*):")


class Header(msgspec.Struct, frozen=True):
    """What new patches say in their headers where their files do not."""

    today: str
    """Date, YYYY-MM-DD."""
    author: str = ""
    """Empty: it waits for a person."""
    forwarded: str = ""
    """Whether upstream was asked to take them; empty: it waits for a person."""


def write_sources(
    folder: Path,
    series: Series | None,
    known: Known,
    base: Base,
    *,
    units: Sequence[Unit],
    patches: Sequence[ForeignPatch],
    fitted: FittedPatch,
    header: Header,
    below: Sequence[Layer] = (),
) -> list[str]:
    """Write the new patches of ``units`` into the series in ``folder`` (None: there is none yet); return notes.

    The lock and the generated files are regenerate's. ``below`` are the patches that the new ones were made on top of.
    """
    notes: list[str] = []
    mine = targets(known.own.upstream) if known.own else ()
    others = [target for target in mine if target.name != base.target.name]
    if others:
        listed = ", ".join(target.title for target in others)
        notes.append(f"not carried to {listed} yet; patchkit rebase makes variants for them")
    groups = {unit.proposal.name: PROPOSED + unit.proposal.reason for unit in units}
    if series is not None:
        groups = {name: text for name, text in groups.items() if name not in series.document.groups}
    entries = [SeriesEntry(unit.proposal.name, (*_touching(below, unit), *unit.proposal.depends)) for unit in units]
    for unit in units:
        place = folder / unit.proposal.name
        variant = f"{base.target.title}.patch"
        document = _document(unit, base.target, others, patches=patches, fitted=fitted, header=header)
        if place.exists():
            raise UsageError(f"{place} exists, and is no patch of the series", hint="remove it, or give another --name")
        (place / "variants").mkdir(parents=True)
        text = patch_text(document)
        _refuse_marks(text, _message(unit, fitted))
        (place / "patch.yaml").write_bytes(text)
        (place / "variants" / variant).write_bytes(variant_text(unit.files))
    file = folder / "series.yaml"
    if series is None:
        file.write_bytes(series_text(known.upstream.package, known.upstream.short, groups, entries))
    else:
        file.write_bytes(extended_series(file.read_bytes(), str(file), groups, entries))
    if all(target.name != base.target.name for target in mine):
        blobs = {path: blob_id(text) for path, text in sorted(fitted.base.items()) if text is not None}
        entry = msgspec.structs.replace(base.entry, blobs=blobs)
        if known.own is None:
            (folder / VERSIONS).write_bytes(versions_text(known.built_in, (entry,)))
        else:
            place = versions_file(folder)
            place.write_bytes(extended_versions(place.read_bytes(), str(place), entry))
        if isinstance(entry, PinnedCommit):
            notes.append(f"{entry.name} is new in {VERSIONS} (as of {entry.as_of})")
    return notes


def _touching(below: Sequence[Layer], unit: Unit) -> tuple[str, ...]:
    """Return the patches that change a file of a new one: it stands on what they leave."""
    paths = {file.path for file in unit.files}
    return tuple(layer.patch.name for layer in below if paths & set(layer.after))


def _document(
    unit: Unit,
    target: Target,
    others: Sequence[Target],
    *,
    patches: Sequence[ForeignPatch],
    fitted: FittedPatch,
    header: Header,
) -> PatchDocument:
    message = _message(unit, fitted)
    name = unit.proposal.name
    subject = message.subject if message else ""
    said = subject or f"{unit.proposal.reason}."
    return PatchDocument(
        schema=SCHEMA,
        name=name,
        description=PROPOSED + said,
        origin=_origin(patches, message),
        author=(message.author if message else "") or header.author or TODO + "who wrote it",
        forwarded=header.forwarded or TODO + "no, not-needed, or the address of the pull request",
        applied_upstream="",
        last_update=(message.date if message else "") or header.today,
        why=PROPOSED + message.body if message and message.body else TODO + "what goes wrong without it",
        needed_when=TODO + "who needs it",
        drop_when=TODO + "what upstream must do before it can go",
        hunks=_specs(unit),
        variants=(VariantSpec(file=f"{target.title}.patch", targets=(target.name,)),),
        not_needed=not_carried(name, target, [other.name for other in others]),
    )


def _message(unit: Unit, fitted: FittedPatch) -> Message | None:
    """Return the mail, or bare diff, that a new patch is made of; None when it is made of several."""
    alone = unit.message is not None or len(fitted.messages) == 1
    return fitted.messages[unit.message or 0].message if alone else None


def _refuse_marks(text: bytes, message: Message | None) -> None:
    """Raise PatchFormatError for a mail whose words would mark a conflict in patch.yaml, which is not read with one."""
    line = first_mark(text)
    if line is None or message is None:
        return
    above = text.split(b"\n")[:line]
    key = next((found[1] for each in reversed(above) if (found := _KEY.match(each))), b"").decode()
    what = {"author": "its From", "description": "its Subject", "why": "its message"}.get(key, f"what becomes {key!r}")
    hint = "take the marks out of the mail; they look like those of a conflict that nobody solved"
    raise PatchFormatError(message.patch, message.line, f"a conflict is marked in {what}", hint=hint)


def _origin(patches: Sequence[ForeignPatch], message: Message | None) -> str:
    if message is not None and message.commit:
        return f"Commit {message.commit}, imported from {Path(message.patch).name}."
    names = ", ".join(f"{Path(patch.name).name}" for patch in patches)
    return f"Imported from {names}."


def _specs(unit: Unit) -> tuple[HunkSpec, ...]:
    """Return what patch.yaml says of each hunk."""
    ranks = {name: rank for rank, name in enumerate(unit.proposal.names)}
    found: list[HunkSpec] = []
    for hunk_id, scoped in unit.scoped.items():
        added = sum(line.kind is LineKind.ADDED for line in scoped.hunk.lines)
        removed = sum(line.kind is LineKind.REMOVED for line in scoped.hunk.lines)
        mine = sorted(added_names(scoped) & ranks.keys(), key=ranks.__getitem__)
        what = f"add {', '.join(mine[:3])}" if mine else f"change {added} added and {removed} removed lines"
        where = "at module level" if scoped.scope == MODULE else f"in {scoped.scope}"
        intent = f"{PROPOSED}{what} {where}"
        found.append(
            HunkSpec(id=hunk_id, group=unit.proposal.name, file=scoped.path, scope=scoped.scope, intent=intent)
        )
    return tuple(found)
