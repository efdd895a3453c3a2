"""Which upstream commits touched lines between two revisions, and which pull requests brought them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

import msgspec

from patchkit.core.carry_report import CommitReport, pull_request
from patchkit.errors import TreeError
from patchkit.trees.clone_damage import how_to_fetch_the_rest
from patchkit.trees.git import GitTree
from patchkit.trees.git_folder import refuse_odd_files
from patchkit.trees.git_log import subject_of

SECONDS = 2.0
"""Time that may be spent on one hunk; blame and log take longer on a slow disk, and the answer is a help only."""
MOST = 3
"""Commits that are named for one hunk."""

_BLAMED = re.compile(r"([0-9a-f]{40}) \d+ \d+")


class Touched(msgspec.Struct, frozen=True):
    """Where a hunk's lines are, to ask history about."""

    path: str
    target_lines: tuple[int, int] | None
    """First and last line in the target, 1-based, inclusive; None when nothing stands there."""
    base_lines: tuple[bytes, ...]
    """Lines of the base that are gone from the target."""


def edges_between(base: GitTree, target: GitTree) -> frozenset[str]:
    """Return the commits between two where the history of a shallow clone ends; none where it has all of it there."""
    edges = target.program.edges
    if not edges:
        return edges
    try:
        between = target.ask("rev-list", f"{base.commit}..{target.commit}").decode().split()
    except TreeError:
        return edges
    return edges.intersection(between)


def brought_by(
    base: GitTree,
    target: GitTree,
    touched: Touched,
    *,
    edges: Set[str] = frozenset(),
    seconds: float = SECONDS,
) -> tuple[tuple[CommitReport, ...], str]:
    """Return the commits between ``base`` and ``target`` that made the lines what they are, the newest first.

    Lines of the target are blamed, into both parents of merges; lines that are gone are looked for in the changes of
    the file. ``edges`` are as ``edges_between`` has them: what is blamed on one of them may be anybody's. Also returns
    why the answer is not whole; empty when it is.
    """
    span = f"{base.commit}..{target.commit}"
    try:
        # A file that is gone has no lines to ask about.
        is_there = touched.target_lines is not None and target.blob_id(touched.path) is not None
        found = _blamed(target, span, touched, seconds / 2) if is_there else []
        found = found or [each for each in _removed(target, span, touched, seconds / 2) if each not in edges]
        why_not = "the clone is shallow, and lacks commits between" if edges and not found else ""
        return tuple(_reports(target, found[:MOST], seconds / 2)), why_not
    except TimeoutError:
        return (), f"git took longer than {seconds:g} seconds"
    except TreeError as error:
        # No answer is needed to go on.
        return (), _why_not(target, error)


def _why_not(tree: GitTree, error: TreeError) -> str:
    """Say why git could not look: a partial clone never had all texts, another one lost what git cannot read."""
    if error.hint is None or how_to_fetch_the_rest(tree.program.run, tree.repository) is not None:
        return "git gave no answer, as in a clone that lacks old texts"
    return f"{error.message}; {error.hint}"


def _blamed(tree: GitTree, span: str, touched: Touched, seconds: float) -> list[str]:
    assert touched.target_lines is not None  # noqa: S101 - the caller has looked
    first, last = touched.target_lines
    if last < first:
        return []
    tree.program.refuse_odd_setting("blame.ignorerevsfile")
    refuse_odd_files(tree.repository, [tree.repository / ".mailmap"])
    where = f"-L{first},{last}"
    asked = ("blame", "--porcelain", "--no-textconv", where, span, "--", touched.path)
    printed = tree.program.output(*asked, environment=_no_index(tree), seconds=seconds, apart=True)
    counts: dict[str, int] = {}
    old: set[str] = set()
    commit = ""
    # Lines of the file are among them, whose other line breaks end none of git's.
    for line in printed.decode("utf-8", "replace").split("\n"):
        match = _BLAMED.match(line)
        if match:
            commit = match[1]
            counts[commit] = counts.get(commit, 0) + 1
        elif line == "boundary":
            # These lines are as old as the base.
            old.add(commit)
    return sorted(counts.keys() - old, key=lambda commit: -counts[commit])


def _removed(tree: GitTree, span: str, touched: Touched, seconds: float) -> list[str]:
    """Return the commits that changed how often the longest of the lost lines stands in the file."""
    line = max((line.strip() for line in touched.base_lines), key=len, default=b"")
    if len(line) < 4:
        return []
    text = line.decode("utf-8", "surrogateescape")
    asked = (
        "log",
        "--no-merges",
        "--no-textconv",
        "--no-ext-diff",
        "--format=%H",
        f"-S{text}",
        span,
        "--",
        touched.path,
    )
    printed = tree.program.output(*asked, environment=_no_index(tree), seconds=seconds, apart=True)
    return printed.decode().split()


def _no_index(tree: GitTree) -> dict[str, str]:
    """Return what keeps git from reading a file of the checkout for the blob that the index says it is.

    It would run it through the filter that the repository's attributes and settings name.
    """
    return {"GIT_INDEX_FILE": str(tree.program.folder.resolve() / "no-index-of-patchkit")}


def _reports(tree: GitTree, commits: Iterable[str], seconds: float) -> list[CommitReport]:
    wanted = list(commits)
    if not wanted:
        return []
    printed = tree.ask("log", "--no-walk=unsorted", "--format=%h%x09%s", *wanted, seconds=seconds)
    found: list[CommitReport] = []
    for line in printed.split(b"\n")[:-1]:
        commit, _, told = line.partition(b"\t")
        subject = subject_of(told)
        found.append(CommitReport(commit.decode(), subject, pull_request(subject)))
    return found
