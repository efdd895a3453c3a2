"""What stands in the way of a file that a patch makes: a tree has a path as a file, or as a folder, and not as both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from patchkit.trees.interface import SourceTree


def obstacles(before: Mapping[str, bytes | None], tree: SourceTree) -> dict[str, str]:
    """Return by path why no file can be made there, for those of ``before`` that are no file of ``tree``."""
    found = {path: _obstacle(path, tree) for path, content in before.items() if content is None}
    return {path: reason for path, reason in found.items() if reason}


def _obstacle(path: str, tree: SourceTree) -> str:
    if next(iter(tree.paths(path)), None) is not None:
        return "the target has a folder there"
    for parent in PurePosixPath(path).parents[:-1]:
        if tree.read(str(parent)) is not None:
            return f"the target has a file {parent}, and no folder"
    return ""
