"""lock.yaml: what follows from the sources of a series."""

from __future__ import annotations

from pathlib import Path

import msgspec

from patchkit.core.series import LockDocument
from patchkit.errors import StoreError
from patchkit.store.documents import load_document
from patchkit.store.series import Series

LOCK = "lock.yaml"
GENERATED = "generated"

_COMMENT = "Written by `patchkit regenerate` from series.yaml, patch.yaml and variants/. Do not edit."


def load_lock(series: Series) -> LockDocument:
    """Read the lock of ``series``. Raises StoreError when it is malformed, or older than the sources."""
    path = series.folder / LOCK
    lock = load_document(LockDocument, path)
    if lock.series != series.digest:
        changed = [patch.name for patch in series.patches if lock.patches.get(patch.name) != patch.digest]
        raise StoreError(
            str(path),
            "series",
            f"the lock does not belong to these sources (changed: {', '.join(changed) or 'series.yaml'})",
            hint="run `patchkit regenerate`",
        )
    return lock


def read_lock(folder: Path) -> LockDocument | None:
    """Read a lock whether or not it is up to date; None when there is none."""
    path = folder / LOCK
    return load_document(LockDocument, path) if path.is_file() else None


def print_lock(lock: LockDocument) -> bytes:
    """Print the lock; the same value always gives the same bytes."""
    from patchkit.store.yaml_text import print_yaml  # noqa: PLC0415 - only regenerate needs it

    return print_yaml(msgspec.to_builtins(lock), _COMMENT)
