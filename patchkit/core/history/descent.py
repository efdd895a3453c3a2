"""Which change inside of a merge made a hunk bad."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from patchkit.core.history.graph import Commit, Graph

IsBad = Callable[["str | None"], bool]
"""Tells of a blob of the hunk's file whether the hunk is bad on it."""


class Cause(msgspec.Struct, frozen=True):
    """Where a hunk became bad."""

    commits: tuple[str, ...]
    """From the commit on the line down to the change that did it; all but the last are merges."""
    itself: bool
    """Whether the last one is a merge that did it by itself: none of the commits it brought did."""
    why: str = ""
    """For a merge that did it by itself, or where the clone does not tell: what is known of the merged side."""


def cause(graph: Graph, commit: Commit, path: str, is_bad: IsBad) -> Cause:
    """Return the change because of which a hunk in ``path`` is bad from ``commit`` on, and was not on its first parent.

    A merge is gone into: on the side that it brought, bad as it arrives, the last commit at which the hunk became bad,
    and so on where that is a merge too. Of several such sides the first one counts.
    """
    if not commit.is_merge:
        return Cause((commit.id,), itself=False)
    itself, why = True, "no commit that it brought leaves the hunk bad by itself"
    for tip in commit.parents[1:]:
        if not is_bad(graph.blob(tip, path)):
            continue
        side = graph.line(tip, graph.ancestors(commit.parents[0]))
        start = _start_of_badness(graph, side, path, is_bad)
        if start is None:
            why = f"the hunk was bad on what it brought ({tip[:10]}) already where the two sides had parted"
        elif start.id in graph.edges:
            itself = False
            why = f"what was before {start.id[:10]}, which it brought, is not known: the clone is shallow"
        else:
            inner = cause(graph, start, path, is_bad)
            return Cause((commit.id, *inner.commits), inner.itself, inner.why)
    return Cause((commit.id,), itself, why)


def _start_of_badness(graph: Graph, side: list[Commit], path: str, is_bad: IsBad) -> Commit | None:
    """Return the commit from which on a hunk is bad until the end of ``side``; None when it was bad before."""
    start: Commit | None = None
    for commit in reversed(side):
        if not is_bad(graph.blob(commit.id, path)):
            return start
        start = commit
    if start is None or (start.parents and is_bad(graph.blob(start.parents[0], path))):
        return None
    return start
