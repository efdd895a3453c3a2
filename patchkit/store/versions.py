"""upstream_versions.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patchkit.core.upstream import VersionsDocument
from patchkit.errors import StoreError
from patchkit.store.documents import load_document, read_file


def load_versions(path: Path) -> VersionsDocument:
    """Read the file. Raises StoreError that names file, key and line."""
    document = load_document(VersionsDocument, path)
    names: set[str] = set()
    megatron = document.megatron
    for section, key, items in (
        ("releases", "version", [release.version for release in megatron.releases]),
        ("branches", "name", [branch.name for branch in megatron.branches]),
        ("commits", "name", [commit.name for commit in megatron.commits]),
    ):
        for position, name in enumerate(items):
            if name in names:
                raise StoreError(str(path), f"megatron.{section}[{position}].{key}", f"{name!r} is there twice")
            names.add(name)
    return document


def add_blobs(path: Path, blobs: Mapping[str, Mapping[str, str]]) -> bytes:
    """Return the text of the file with blob ids added: target name to path to id. Comments and order are kept.

    Ids that are recorded already are never changed: they say what a release *is*.
    """
    from patchkit.store.yaml_text import add_entry, rewrite_yaml  # noqa: PLC0415 - only regenerate needs it

    def change(document: Any) -> None:
        megatron = document["megatron"]
        for section, key in (("releases", "version"), ("branches", "name"), ("commits", "name")):
            for entry in megatron.get(section) or ():
                for file, blob in sorted(blobs.get(str(entry[key]), {}).items()):
                    add_entry(entry, "blobs", file, blob)

    return rewrite_yaml(read_file(path), str(path), change)
