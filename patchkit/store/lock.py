"""lock.yaml: what follows from the sources of a series."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from patchkit.core.series import LockDocument, TargetLock
from patchkit.errors import StoreError
from patchkit.store.documents import load_document
from patchkit.store.location import series_option
from patchkit.store.series import Series

LOCK = "lock.yaml"
GENERATED = "generated"

_COMMENT = "Written by `patchkit regenerate` from series.yaml, patch.yaml and variants/. Do not edit."


def load_lock(series: Series) -> LockDocument:
    """Read the lock of ``series``. Raises StoreError when it is malformed, or older than the sources."""
    path = series.folder / LOCK
    hint = f"run `patchkit regenerate{series_option(series.folder)}`"
    if not os.path.lexists(path):
        raise StoreError(str(path), None, "there is no lock yet", hint=hint)
    lock = load_document(LockDocument, path)
    if lock.series != series.digest:
        changed = [patch.name for patch in series.patches if lock.patches.get(patch.name) != patch.digest]
        raise StoreError(
            str(path),
            "series",
            f"the lock does not belong to these sources (changed: {', '.join(changed) or 'series.yaml'})",
            hint=hint,
        )
    for name, target in lock.targets.items():
        _refuse_foreign(str(path), f"targets.{name}", target, series, hint)
    return lock


def text_digest(text: bytes) -> str:
    """Return the digest of a variant's or a generated patch's text."""
    return f"sha256:{hashlib.sha256(text).hexdigest()}"


def _refuse_foreign(file: str, key: str, target: TargetLock, series: Series, hint: str) -> None:
    """Refuse an entry that does not follow from the series: the rest of patchkit relies on what it says."""
    if tuple(target.patches) != tuple(patch.name for patch in series.patches):
        raise StoreError(file, f"{key}.patches", "these are not the patches of series.yaml in their order", hint=hint)
    last: dict[str, str | None] = {}
    for patch in series.patches:
        locked = target.patches[patch.name]
        where = f"{key}.patches.{patch.name}"
        if locked.variant is None:
            if locked.files:
                raise StoreError(file, f"{where}.files", "there are files, and no variant", hint=hint)
            continue
        if locked.variant not in patch.texts:
            raise StoreError(file, f"{where}.variant", f"the patch has no variant {locked.variant!r}", hint=hint)
        if locked.text != text_digest(patch.texts[locked.variant]):
            raise StoreError(file, f"{where}.text", f"is not the digest of {locked.variant}", hint=hint)
        for path, pair in locked.files.items():
            if last.get(path, pair.before) != pair.before:
                raise StoreError(file, f"{where}.files.{path}.before", "is not what the patch below leaves", hint=hint)
            last[path] = pair.after


def read_lock(folder: Path) -> LockDocument | None:
    """Read a lock whether or not it is up to date; None when there is none."""
    path = folder / LOCK
    return load_document(LockDocument, path) if os.path.lexists(path) else None


def print_lock(lock: LockDocument) -> bytes:
    """Print the lock; the same value always gives the same bytes."""
    from patchkit.store.yaml_text import print_yaml  # noqa: PLC0415 - only regenerate needs it

    return print_yaml(msgspec.to_builtins(lock), _COMMENT)
