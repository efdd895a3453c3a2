"""The two sides of a comparison: upstream's trees, and what of a tree is nobody's work."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Protocol, runtime_checkable

from patchkit.core.blobs import blob_id
from patchkit.trees.interface import SourceTree

_LEFTOVER = re.compile(r".*(?:\.orig|\.rej|\.bak|~|\.sw[op]|\.py[co])|\.#.*|\.DS_Store")
"""What patch(1), editors and Python leave beside a file."""

_EXTENSION = re.compile(r"([^/.]+)(?:\.[^/]+)?\.(?:so|pyd)")
"""Extension modules, whose names tell the Python and the platform that they are built for (PEP 3149)."""


@runtime_checkable
class _KnowsIds(Protocol):
    def blob_ids(self, under: str = "") -> dict[str, str]:
        """Return blob id by path."""


@runtime_checkable
class _KnowsModes(Protocol):
    def executables(self, under: str = "") -> frozenset[str]:
        """Return the paths of files that may be executed."""


@runtime_checkable
class _KnowsLinks(Protocol):
    def links(self, under: str = "") -> dict[str, str]:
        """Return the blob id of a link's text by path."""


@runtime_checkable
class _KnowsOthers(Protocol):
    def others(self, under: str = "") -> dict[str, bytes | None]:
        """Return a link's text, None for pipes and such, by path."""


class Upstream:
    """Upstream's files in one of its forms: ``whole`` asks for all of a repository, else those below the package."""

    def __init__(self, tree: SourceTree, package: str, *, whole: bool) -> None:
        self._tree = tree
        self._package = package
        self.of_repository = isinstance(tree, _KnowsIds)
        self.whole = whole and self.of_repository
        """Whether everything is here; only a repository has more than the package."""
        under = "" if self.whole else package
        self._ids = tree.blob_ids(under) if isinstance(tree, _KnowsIds) else None
        self.paths = frozenset(tree.paths(under) if self._ids is None else self._ids)
        self._folders = {path.rpartition("/")[0] for path in self.paths}
        self._executables = executables(tree, under)
        self._links = tree.links(under) if isinstance(tree, _KnowsLinks) else {}

    def is_checked_out(self, mine: Collection[str]) -> bool:
        """Tell whether paths are those of a whole checkout: it has most of the files at the top."""
        top = [path for path in self.paths if "/" not in path]
        return 2 * sum(path in mine for path in top) > len(top)

    def has(self, path: str, content: bytes | None) -> bool:
        """Tell whether the file is just that here; None stands for no such file in a folder that is known."""
        if path not in self.paths:
            return content is None and path.rpartition("/")[0] in self._folders
        if content is None:
            return False
        if self._ids is not None:
            return self._ids[path] == blob_id(content)
        return self._tree.read(path) == content

    def read(self, path: str) -> bytes | None:
        """Return the text, or None."""
        return self._tree.read(path) if path in self.paths else None

    def has_link(self, path: str, text: bytes) -> bool:
        """Tell whether a link of just that text is here."""
        return path in self._links and self._links[path] == blob_id(text)

    def is_executable(self, path: str) -> bool | None:
        """Tell whether a file may be executed; None when this form of upstream does not say."""
        return None if self._executables is None else path in self._executables


def executables(tree: SourceTree, under: str) -> frozenset[str] | None:
    """Return the files below ``under`` that may be executed; None for a tree that keeps no modes."""
    return tree.executables(under) if isinstance(tree, _KnowsModes) else None


def others(tree: SourceTree, under: str) -> dict[str, bytes | None]:
    """Return what of a tree is neither a file nor a folder: a link's text, None for pipes and such, by path."""
    return tree.others(under) if isinstance(tree, _KnowsOthers) else {}


def has_record_of_wheel(tree: SourceTree) -> bool:
    """Tell whether a tree is what a wheel ships: patchkit's record then lies in the wheel's metadata."""
    return ".dist-info/" in tree.manifest_path


def is_leftover(path: str) -> bool:
    """Tell whether a tool left this behind."""
    return _LEFTOVER.fullmatch(path.rpartition("/")[2]) is not None


def rebuilt(path: str, theirs: Collection[str]) -> bool:
    """Tell whether a file is an extension module of upstream's, for whichever Python it is built."""
    folder, _slash, name = path.rpartition("/")
    match = _EXTENSION.fullmatch(name)
    if match is None:
        return False
    start = f"{folder}/{match[1]}."
    return any(other.startswith(start) and _EXTENSION.fullmatch(other[len(folder) + 1 :]) for other in theirs)
