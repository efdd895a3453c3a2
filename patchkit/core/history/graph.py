"""Commits of a range as a graph, and what each of them has at the files that a series touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

Blobs = Mapping[str, "str | None"]
"""Blob id by path; None, or no entry, where there is no such file."""


class Commit(msgspec.Struct, frozen=True):
    """One commit."""

    id: str
    parents: tuple[str, ...]
    """The first is what was merged into."""
    time: int
    """Committer's time, in seconds since 1970; 0 where it is not known."""
    subject: str
    changes: Blobs
    """What differs from the first parent: the blob id it has now, by path; None for a removed file."""

    @property
    def is_merge(self) -> bool:
        """Whether something was merged."""
        return len(self.parents) > 1


class Graph:
    """The commits of a range, and the blobs of each.

    ``commits`` are in git's topological order, children before parents. ``outside`` gives the blobs of those parents
    that are not among them; ``edges`` are the commits without parents that have some, which a shallow clone lacks.
    """

    def __init__(
        self, commits: Sequence[Commit], outside: Mapping[str, Blobs], edges: frozenset[str] = frozenset()
    ) -> None:
        self.edges = edges
        self._commits = {commit.id: commit for commit in commits}
        self._blobs: dict[str, Blobs] = dict(outside)
        for commit in reversed(commits):
            before = self._blobs[commit.parents[0]] if commit.parents else {}
            # Most commits touch none of the files, and share what their parent has.
            self._blobs[commit.id] = {**before, **commit.changes} if commit.changes else before

    def __contains__(self, commit: object) -> bool:
        return commit in self._commits

    def __iter__(self) -> Iterator[Commit]:
        return iter(self._commits.values())

    def __len__(self) -> int:
        return len(self._commits)

    def commit(self, name: str) -> Commit:
        """Return a commit of the range by its id."""
        return self._commits[name]

    def blob(self, commit: str, path: str) -> str | None:
        """Return what a commit of the range, or a parent of one, has at ``path``."""
        return self._blobs[commit].get(path)

    def blobs(self, path: str) -> tuple[str | None, ...]:
        """Return everything that stands at ``path`` somewhere: at a commit of the range, or at a parent of one."""
        return tuple(dict.fromkeys(blobs.get(path) for blobs in self._blobs.values()))

    def line(self, tip: str, without: frozenset[str] = frozenset()) -> list[Commit]:
        """Return ``tip`` and its first parents, oldest first, as far as they are in the range and not ``without``."""
        found: list[Commit] = []
        at: str | None = tip
        while at is not None and at in self._commits and at not in without:
            commit = self._commits[at]
            found.append(commit)
            at = commit.parents[0] if commit.parents else None
        return found[::-1]

    def ancestors(self, name: str) -> frozenset[str]:
        """Return a commit and everything of the range that it rests on."""
        seen: set[str] = set()
        left = [name]
        while left:
            at = left.pop()
            if at not in seen and at in self._commits:
                seen.add(at)
                left.extend(self._commits[at].parents)
        return frozenset(seen)
