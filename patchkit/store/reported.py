"""The state file of check-upstream: what has been reported already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from patchkit.core.reported import parse_reported, print_reported
from patchkit.errors import StoreError
from patchkit.store.files import write_files

STATE = "reported.txt"
"""Name of the file in the folder of the series."""


def load_reported(path: Path) -> dict[str, frozenset[str]]:
    """Read the fingerprints by target; no file is an empty one. Raises StoreError that names file and line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(str(path), None, f"cannot be read: {error}") from error
    return parse_reported(text, str(path))


def write_reported(path: Path, known: Mapping[str, Iterable[str]]) -> None:
    """Write the fingerprints, all or nothing. Raises WriteFailedError."""
    write_files({path: print_reported(known).encode()})
