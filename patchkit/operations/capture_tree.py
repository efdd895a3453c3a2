"""How a tree differs from what a series makes of a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from patchkit.core.blobs import blob_id
from patchkit.core.rebasing.markers import left_marks
from patchkit.errors import UsageError
from patchkit.trees.interface import SourceTree


class Changed(msgspec.Struct, frozen=True):
    """A file that is not what the series leaves."""

    path: str
    expected: bytes | None
    """None when there should be no such file."""
    found: bytes | None


class Compared(msgspec.Struct, frozen=True):
    """What the comparison gave."""

    files: tuple[Changed, ...]
    """Sorted by path."""
    notes: tuple[str, ...]


@runtime_checkable
class _KnowsIds(Protocol):
    def blob_ids(self, under: str = "") -> dict[str, str]:
        """Return blob id by path."""


class _Upstream:
    """Upstream's files below one folder, from one source."""

    def __init__(self, tree: SourceTree, package: str) -> None:
        self._tree = tree
        self._ids = tree.blob_ids(package) if isinstance(tree, _KnowsIds) else None
        self.paths = frozenset(tree.paths(package) if self._ids is None else self._ids)

    def has(self, path: str, content: bytes | None) -> bool:
        """Tell whether the file is just that here; None stands for no such file."""
        if content is None or path not in self.paths:
            return content is None and path not in self.paths
        if self._ids is not None:
            return self._ids[path] == blob_id(content)
        return self._tree.read(path) == content

    def read(self, path: str) -> bytes | None:
        return self._tree.read(path) if path in self.paths else None


def compare(
    tree: SourceTree, sources: Sequence[SourceTree], expected: Mapping[str, bytes | None], package: str
) -> Compared:
    """Compare every file below the folder ``package`` with ``expected`` and, where that does not name it, upstream's.

    ``sources`` are trees of upstream's target: its wheel has fewer files than the repository, and a version stamp in
    some of them. A file that is as one of them has it is unchanged. Left out, and named in notes, are folders that only
    one side has, and files that only one side has and that are no Python.
    """
    upstreams = [_Upstream(source, package) for source in sources]
    theirs = frozenset().union(*(upstream.paths for upstream in upstreams))
    mine = {*tree.paths(package), *(path for path in expected if not path.startswith(f"{package}/"))}
    their_folders, my_folders = _folders({*theirs, *expected}), _folders(mine)
    found: list[Changed] = []
    left_out: dict[str, list[str]] = {}
    for path in sorted({*theirs, *mine, *expected}):
        folder = path.rpartition("/")[0]
        if path not in expected:
            if folder not in my_folders or (path not in mine and not path.endswith(".py")):
                where = f"{folder}/" if folder not in my_folders else path
                left_out.setdefault(f"not in {tree.label}, and not compared", []).append(where)
                continue
            if folder not in their_folders:
                left_out.setdefault("not upstream's, and not compared", []).append(f"{folder}/")
                continue
            if path not in theirs and not path.endswith(".py"):
                left_out.setdefault("new, and left out since they are no Python", []).append(path)
                continue
        now = tree.read(path)
        if path in expected:
            if expected[path] != now:
                found.append(Changed(path, expected[path], now))
        elif not any(upstream.has(path, now) for upstream in upstreams):
            found.append(Changed(path, next((one.read(path) for one in upstreams if path in one.paths), None), now))
    for changed in found:
        _refuse_marks(changed)
    notes = tuple(f"{why}: {_listed(paths)}" for why, paths in left_out.items())
    return Compared(tuple(found), notes)


def _refuse_marks(changed: Changed) -> None:
    marks = left_marks(changed.found or b"", [changed.expected or b""])
    if marks:
        raise UsageError(f"{changed.path}:{marks[0]}: a conflict is marked here", hint="solve it, then capture")


def _folders(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths}


def _listed(paths: Sequence[str]) -> str:
    """Return the first few of the paths, folders inside other folders left out."""
    unique = sorted(set(paths))
    top = [
        path
        for path in unique
        if not any(path != other and path.startswith(other) for other in unique if other[-1] == "/")
    ]
    return ", ".join(top[:5]) + (f" and {len(top) - 5} more" if len(top) > 5 else "")
