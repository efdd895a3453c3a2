"""Resolutions of conflicts: a YAML file each below resolutions/ in the folder of a series."""

from __future__ import annotations

from pathlib import Path

import msgspec

from patchkit.core.rebasing.memory import Resolution
from patchkit.reading import Together
from patchkit.store.documents import parse_document, read_files

RESOLUTIONS = "resolutions"

_COMMENT = (
    "A conflict that a person has solved, kept by `patchkit rebase`. It is used again only where the conflict and the\n"
    "lines around it are the same. Delete the file to be asked again."
)


def load_resolutions(folder: Path) -> dict[str, Resolution]:
    """Return the resolutions of the series (or edit directory) in ``folder`` by key, which is the file's name.

    Raises StoreError that names file, key and line.
    """
    files = sorted((folder / RESOLUTIONS).glob("*.yaml"))
    texts = read_files(files, Together(folder))
    return {file.stem: parse_document(Resolution, text, str(file)) for file, text in texts.items()}


def resolution_file(key: str) -> Path:
    """Return where a resolution lies, relative to the folder of the series."""
    return Path(RESOLUTIONS) / f"{key}.yaml"


def print_resolution(resolution: Resolution) -> bytes:
    """Print a resolution; texts of several lines are printed as such, so that they can be reviewed."""
    from patchkit.store.yaml_text import print_yaml  # noqa: PLC0415 - only writing needs it

    value = msgspec.to_builtins(resolution)
    order = ["schema", "patch", "hunks", "file", "author", "reason", "base", "target"]
    return print_yaml({key: value[key] for key in [*order, *sorted(value.keys() - {*order})]}, _COMMENT, blocks=True)
