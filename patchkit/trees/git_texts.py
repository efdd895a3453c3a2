"""Files of the commits of a git repository, many at a time: which blobs they are, and what is in these.

All of it is held against its ids, from the folder of a commit down, and read without a write: whether what a partial
clone lacks is an error, or is downloaded, is up to the GitTree that is asked.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from patchkit.core.history.graph import Blobs
from patchkit.errors import TreeError
from patchkit.reading import LARGEST
from patchkit.trees.git import GitTree
from patchkit.trees.git_objects import FOLDER, Folder

_BATCH = 64 << 20
"""Bytes of texts that are read at once: most histories of a series have fewer."""
_NOTHING = (0, "")


class CommitFiles:
    """The files of the commit of ``tree``, read as everything here is. Links and submodules count as no files.

    The paths ``together`` are read with the first one that is asked for; each is read once.
    """

    def __init__(self, tree: GitTree, together: Iterable[str] = ()) -> None:
        self._tree = tree
        self._together = tuple(together)
        self._known: dict[str, bytes | None] = {}
        self.label = tree.label
        self.manifest_path = tree.manifest_path

    def read(self, path: str) -> bytes | None:
        """Return the bytes of ``path``, or None. Raises TreeError when the clone lacks them."""
        if path not in self._known:
            asked = (path, *self._together)
            blobs = blobs_at(self._tree, [self._tree.commit], asked)[self._tree.commit]
            contents = read_blobs(self._tree, {blob: name for name, blob in blobs.items() if blob is not None})
            self._known |= {name: contents[blob] if (blob := blobs.get(name)) else None for name in asked}
            self._together = ()
        return self._known[path]

    def paths(self, under: str = "") -> Iterator[str]:
        """Yield the paths of regular files below the folder ``under``, sorted."""
        return self._tree.paths(under)


def read_blobs(tree: GitTree, wanted: Mapping[str, str]) -> dict[str, bytes]:
    """Return the content of blobs; ``wanted`` is path by blob id.

    Raises TreeError for one that is not in the clone, and when they are larger than 256 MiB together.
    """
    found = tree.contents(wanted, LARGEST)
    if len(found) < len(wanted):
        paths = ", ".join(dict.fromkeys(wanted.values()))
        raise TreeError(f"{paths} of {tree.repository} are larger than {LARGEST >> 20} MiB together")
    return found


def blobs_in_batches(tree: GitTree, wanted: Mapping[str, str]) -> Iterator[dict[str, bytes]]:
    """Yield the content of blobs, some at a time: as much as memory has room for, and at least one.

    ``wanted`` is path by blob id. Raises TreeError for one that is not in the clone, when its turn comes.
    """
    left = dict(wanted)
    while left:
        batch = tree.contents(left, _BATCH)
        for blob in batch:
            del left[blob]
        yield batch


def blobs_at(tree: GitTree, commits: Sequence[str], paths: Sequence[str]) -> dict[str, Blobs]:
    """Return what commits have at ``paths``; links and submodules are nothing.

    Only their trees are read, which a partial clone has without the blobs. Raises TreeError.
    """
    inside: dict[str, dict[str, Folder]] = {}
    for folder in _on_the_way(paths):
        above, _, own = folder.rpartition("/")
        if folder:
            there = {commit: entries.get(own, _NOTHING) for commit, entries in inside[above].items()}
            names = {commit: name for commit, (mode, name) in there.items() if mode == FOLDER}
        else:
            names = {commit: f"{commit}^{{tree}}" for commit in commits}
        listed = tree.folders({name: f"{commit}:{folder}" for commit, name in names.items()})
        inside[folder] = {commit: listed[name] for commit, name in names.items()}
    found: dict[str, dict[str, str | None]] = {commit: {} for commit in commits}
    for path in paths:
        folder, _, own = path.rpartition("/")
        for commit, entries in inside[folder].items():
            mode, blob = entries.get(own, _NOTHING)
            if stat.S_ISREG(mode):
                found[commit][path] = blob
    return dict(found)


def _on_the_way(paths: Iterable[str]) -> list[str]:
    """Return the folders of some files and all that these lie in, each behind the one that it lies in."""
    parts = (path.split("/")[:-1] for path in paths)
    return sorted({"/".join(each[:depth]) for each in parts for depth in range(len(each) + 1)})
