"""What a wheel ships, under the paths of the repository that it was built from.

Some repositories keep their packages in a folder, ``src`` or ``python``, that the wheel does not have. A series has one
path for each file, the repository's; so has this view, of a wheel or of what was installed from one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from patchkit.errors import TreeError
from patchkit.trees.interface import Edits, Interrupted, SourceTree, WritableTree, restoring


class _WithModes(SourceTree, Protocol):
    def executables(self, under: str = "") -> frozenset[str]:
        """Return the paths of files that may be executed."""


class Beneath:
    """A tree whose top is the folder ``source`` of the repository; files of the repository beside it are not there."""

    def __init__(self, tree: _WithModes, source: str) -> None:
        self._tree = tree
        self._start = f"{source}/"

    @property
    def outer(self) -> SourceTree:
        """The tree that is shown."""
        return self._tree

    @property
    def label(self) -> str:
        """As the tree below calls itself."""
        return self._tree.label

    @property
    def manifest_path(self) -> str:
        """Path of patchkit's record of what it applied: the tree's own, since no repository has one there."""
        return self._tree.manifest_path

    def read(self, path: str) -> bytes | None:
        """Return the bytes of ``path``, or None."""
        inner = self.inner(path)
        return None if inner is None else self._tree.read(inner)

    def paths(self, under: str = "") -> Iterator[str]:
        """Yield the paths of regular files below ``under``, sorted."""
        below = self._below(under)
        return iter(()) if below is None else (self._start + path for path in self._tree.paths(below))

    def executables(self, under: str = "") -> frozenset[str]:
        """Return the paths of files below ``under`` that may be executed."""
        below = self._below(under)
        return frozenset() if below is None else frozenset(self._start + path for path in self._tree.executables(below))

    def inner(self, path: str) -> str | None:
        """Return the path that a file has in the tree below; None for one that it cannot have."""
        if path == self._tree.manifest_path:
            return path
        return path[len(self._start) :] if path.startswith(self._start) else None

    def inner_edits(self, edits: Edits) -> Edits:
        """Return edits by the paths of the tree below. Raises TreeError for a file that it cannot have."""
        found: dict[str, bytes | None] = {}
        for path, content in edits.items():
            inner = self.inner(path)
            if inner is None:
                raise TreeError(f"{self.label} has what the repository has in {self._start} alone, not {path}")
            found[inner] = content
        return found

    def _below(self, under: str) -> str | None:
        if self._start.startswith(f"{under}/" if under else ""):
            return ""
        return under[len(self._start) :] if under.startswith(self._start) else None


class WritableBeneath(Beneath):
    """A view that can be written through."""

    def __init__(self, tree: WritableTree, source: str) -> None:
        super().__init__(tree, source)  # type: ignore[arg-type]
        self._writable = tree

    def how_to_restore(self, path: str) -> str:
        """Return, for a hint, how a file gets back the text that it had before somebody changed it."""
        return restoring(self._writable, self.inner(path) or path)

    def write(self, edits: Edits, *, operation: str) -> None:
        """Write all of ``edits`` or none; see WritableTree."""
        self._writable.write(self.inner_edits(edits), operation=operation)

    def interrupted(self) -> Interrupted | None:
        """Return what an earlier, cut-short write left, or None; its paths are those of the tree below."""
        return self._writable.interrupted()

    def undo_interrupted(self) -> Interrupted | None:
        """Put back the old content of an interrupted write; return what it was, or None when there is none."""
        return self._writable.undo_interrupted()
