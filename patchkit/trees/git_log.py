"""The history of some files in a git repository, read without writing to it: no index, no checkout.

Whether what a partial clone lacks is an error, or is downloaded, is up to the GitTree that is asked.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from patchkit.core.history.graph import Commit, Graph
from patchkit.core.printing import shell_word
from patchkit.errors import TreeError, UnsafePathError
from patchkit.trees.clone_damage import how_to_fetch_the_rest
from patchkit.trees.git import GitTree
from patchkit.trees.git_program import GitProgram
from patchkit.trees.git_refs import told_of
from patchkit.trees.git_texts import blobs_at
from patchkit.trees.git_times import UNKNOWN, day, seconds

_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    # A path is a path, whatever characters are in it.
    "GIT_LITERAL_PATHSPECS": "1",
}
_EVERYTHING = ("--branches", "--remotes", "--tags")
"""Not every ref: the pull requests in a mirror are nobody's base."""
_MOVED_SECONDS = 60
"""For where a commit moved a file to, which takes a second in one that moved thousands; the answer is a help only."""
_LONGEST_SUBJECT = 1000
"""Characters. A commit may have hundreds of megabytes in its first line, and each place that tells it copies them."""
_LOG = (
    "log",
    "-z",
    "--raw",
    "--no-abbrev",
    # To find renames, git would read blobs.
    "--no-renames",
    "--diff-merges=first-parent",
    "--full-history",
    "--topo-order",
    "--encoding=UTF-8",
    "--format=%x00%H%x00%P%x00%ct%x00%s",
)


class Tag(msgspec.Struct, frozen=True):
    """A tag on a commit."""

    name: str
    commit: str
    time: int
    """When it was made, or its commit; in seconds since 1970, UNKNOWN where git tells no time of ours."""


class Introduced(msgspec.Struct, frozen=True):
    """A blob somewhere in the history of a repository."""

    path: str
    blob: str | None
    commit: Commit
    """The oldest one, by committer's time, that has it and whose first parent has another.

    One whose time is not known is no older than any other.
    """


def read_graph(tree: GitTree, start: str | None, paths: Sequence[str]) -> Graph:
    """Return the commits from ``start`` (without it) to the commit of ``tree``, and what they have at ``paths``.

    Without ``start``, all that ``tree`` rests on. A commit at the edge of a shallow clone has no parents. Raises
    TreeError when an object is missing, and when what git tells of both ends is not what their own folders have.
    """
    span = [tree.commit] if start is None else [tree.commit, f"^{start}"]
    # Sparse: the commits that touch none of the paths as well, for the order in which everything came.
    commits = list(_parsed(_ask(tree, *_LOG, "--sparse", *span, "--", *paths)))
    inside = {commit.id for commit in commits}
    outside = sorted({parent for commit in commits for parent in commit.parents} - inside)
    roots = [commit.id for commit in commits if not commit.parents]
    # What git tells between the ends it holds against nothing.
    ends = [*roots, tree.commit] if tree.commit in inside else roots
    held = blobs_at(tree, list(dict.fromkeys([*outside, *ends])), paths)
    graph = Graph(commits, {commit: held[commit] for commit in outside}, _with_parents(tree, roots))
    for commit, path in itertools.product(ends, paths):
        _refuse_contradiction(tree, commit, path, graph.blob(commit, path), held[commit].get(path))
    return graph


def read_everything(tree: GitTree, paths: Sequence[str]) -> tuple[Introduced, ...]:
    """Return every blob that ``paths`` have on any branch or tag, the oldest first. Raises TreeError."""
    first: dict[tuple[str, str | None], Commit] = {}
    for commit in _parsed(_ask(tree, *_LOG, *_EVERYTHING, "--", *paths)):
        for path, blob in commit.changes.items():
            known = first.get((path, blob))
            if known is None or UNKNOWN < commit.time < (known.time or commit.time + 1):
                first[path, blob] = commit
    found = [Introduced(path, blob, commit) for (path, blob), commit in first.items()]
    return tuple(sorted(found, key=lambda each: (each.commit.time, each.commit.id, each.path)))


def count_everything(tree: GitTree) -> int:
    """Return how many commits are on branches and tags."""
    return int(_ask(tree, "rev-list", "--count", *_EVERYTHING))


def tags(tree: GitTree) -> tuple[Tag, ...]:
    """Return the tags on commits."""
    form = "%(objectname) %(*objectname) %(creatordate:unix) %(refname:lstrip=2)"
    found: list[Tag] = []
    for line in told_of(tree.program, form, "refs/tags"):
        own, peeled, time, name = line.split(" ", 3)
        found.append(Tag(name, peeled or own, seconds(time)))
    return tuple(found)


def day_of(program: GitProgram, commit: str) -> str:
    """Return the UTC day of a commit, the committer's; empty where git tells none. Raises TreeError."""
    return day(seconds(os.fsdecode(program.output("log", "-1", "--format=%ct", commit)).strip()))


def subject_of(told: bytes) -> str:
    """Return a commit's subject as git prints it: the first thousand characters, of which nobody reads more."""
    # A character has four bytes at most.
    return told[: 4 * _LONGEST_SUBJECT].decode("utf-8", "replace")[:_LONGEST_SUBJECT]


def moved_to(tree: GitTree, commit: str, path: str) -> str | None:
    """Return where a commit moved the file ``path`` to; None when it did not, or the clone lacks what would tell."""
    command = ("diff-tree", "-r", "-M", "-z", "--no-commit-id", "--name-status", "--diff-filter=R")
    asked = (*command, f"{commit}^1", commit)
    try:
        fields = tree.program.output(*asked, environment=_QUIET, seconds=_MOVED_SECONDS, apart=True).split(b"\0")
    except (TreeError, TimeoutError):
        return None
    pairs = zip(fields[1::3], fields[2::3], strict=False)
    return next((os.fsdecode(new) for old, new in pairs if os.fsdecode(old) == path), None)


def _ask(tree: GitTree, *command: str) -> bytes:
    try:
        return tree.ask(*command, environment=_QUIET)
    except TreeError as error:
        hint = how_to_fetch_the_rest(tree.program.run, tree.repository)
        raise TreeError(error.message, hint=hint or error.hint) from error


def _parsed(printed: bytes) -> Iterator[Commit]:
    """Read what git prints for ``_LOG``: an empty field, four of the commit, then two for each file."""
    fields = printed.split(b"\0")
    at = 1
    while at + 4 < len(fields):
        name, parents, time, subject = fields[at : at + 4]
        at += 4
        changes: dict[str, str | None] = {}
        # A line break stands before the first of them.
        while at < len(fields) and fields[at].lstrip(b"\n").startswith(b":"):
            path = os.fsdecode(fields[at + 1])
            changes[path] = _blob(fields[at].lstrip(b"\n"), path)
            at += 2
        at += 1
        yield Commit(
            name.decode(),
            tuple(parents.decode().split()),
            seconds(os.fsdecode(time)),
            subject_of(subject),
            changes,
        )


def _refuse_contradiction(tree: GitTree, commit: str, path: str, told: str | None, held: str | None) -> None:
    """Raise TreeError unless git's log gives a file of a commit the blob that the commit's own folders have there."""
    if told == held:
        return
    repository = shell_word(str(tree.repository))
    raise TreeError(
        f"git's log of {tree.repository} contradicts the commit's own folders: by it {path} of {commit} is "
        f"{_blob_in_words(told)}, by them {_blob_in_words(held)}",
        hint="the repository is damaged, or its commit-graph is that of another one: "
        f"git -C {repository} fsck and git -C {repository} commit-graph verify say what is wrong",
    )


def _blob_in_words(blob: str | None) -> str:
    return "no file" if blob is None else f"blob {blob}"


def _blob(about: bytes, path: str) -> str | None:
    _old_mode, mode, _old, new, _status = about[1:].split()
    if mode == b"000000":
        return None
    if not mode.startswith(b"100"):
        raise UnsafePathError(f"{path} is a link or a submodule at some time, and those are not followed")
    return new.decode()


def _with_parents(tree: GitTree, roots: Iterable[str]) -> frozenset[str]:
    """Return those of some commits that have parents in truth: at the edge of a shallow clone git tells of none."""
    # The lines before the first empty one tell of its tree, parents and people.
    return frozenset(commit for commit in roots if b"\nparent " in tree.told_by(commit).partition(b"\n\n")[0])
