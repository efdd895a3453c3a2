"""Which commits of a repository a patch can have been made for, from the blob ids in its ``index`` lines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec

from patchkit.trees.git import GitTree
from patchkit.trees.git_refs import log_of, told_of
from patchkit.trees.git_times import seconds

_ALL = ("refs/heads", "refs/remotes", "refs/tags")
"""Not every ref: the pull requests in a mirror are nobody's base."""


class Interval(msgspec.Struct, frozen=True):
    """A run of commits in which all wanted files have the wanted content."""

    first: str
    """The oldest commit of the run, 40 hexadecimal digits; one whose time is not known where no other is."""
    newest: str
    """The newest by committer date."""
    commits: int
    tags: tuple[str, ...]
    """Tags on commits of the run, sorted."""


class Bases(msgspec.Struct, frozen=True):
    """What history says about a base."""

    intervals: tuple[Interval, ...]
    """Newest first; none when no commit has all files."""
    nearest: str | None
    """When no commit has them all: the newest of those that have most."""
    matching: int
    """How many files match, in every interval or in ``nearest``."""


class _Commit(msgspec.Struct, frozen=True):
    """One commit of the history."""

    id: str
    time: int
    parents: tuple[str, ...]


def find_bases(tree: GitTree, wanted: Mapping[str, str | None]) -> Bases:
    """Return the commits on branches and tags of a repository whose files are ``wanted``.

    ``tree`` is any revision of it; ``wanted`` is (abbreviated) blob id by path, None for a file that must not exist.
    Only commits that touch one of the files are looked at; the others have what their parents have. Raises TreeError.
    """
    asked = ("--full-history", "--date-order", "--format=%H", "--", *sorted(wanted))
    commits = log_of(tree.program, _ALL, *asked).decode().split()
    scores = dict(zip(commits, _scores(tree, commits, wanted), strict=True))
    best = max(scores.values(), default=0)
    if best < len(wanted) or not wanted:
        return Bases((), next((commit for commit in commits if best and scores[commit] == best), None), best)
    return Bases(_intervals(tree, {commit: score == best for commit, score in scores.items()}), None, best)


def matching(tree: GitTree, wanted: Mapping[str, str | None]) -> int:
    """Return how many of the wanted files the revision has as wanted."""
    return _scores(tree, [tree.commit], wanted)[0]


def _scores(tree: GitTree, commits: Sequence[str], wanted: Mapping[str, str | None]) -> list[int]:
    asked = "".join(f"{commit}:{path}\n" for commit in commits for path in wanted)
    answers = tree.ask("cat-file", "--batch-check=%(objectname)", stdin=asked.encode("utf-8", "surrogateescape"))
    lines = iter(answers.split(b"\n"))
    scores: list[int] = []
    for _ in commits:
        found = [next(lines).decode("utf-8", "replace") for _ in wanted]
        scores.append(sum(_is(answer, blob) for answer, blob in zip(found, wanted.values(), strict=True)))
    return scores


def _is(answer: str, blob: str | None) -> bool:
    return answer.endswith(" missing") if blob is None else answer.startswith(blob)


def _intervals(tree: GitTree, known: Mapping[str, bool]) -> tuple[Interval, ...]:
    """Return the connected runs of matching commits; ``known`` says which of those that touch a file match."""
    log = log_of(tree.program, _ALL, "--topo-order", "--reverse", "--format=%H%x00%ct%x00%P")
    run_of: dict[str, int] = {}
    runs: dict[int, list[_Commit]] = {}
    for line in os.fsdecode(log).split("\n")[:-1]:
        name, time, told = line.split("\0")
        parents = tuple(told.split())
        commit = _Commit(name, seconds(time), parents)
        around = sorted({run_of[parent] for parent in parents if parent in run_of})
        if not known.get(name, bool(around)):
            continue
        number = around[0] if around else len(run_of)
        for other in around[1:]:
            for member in runs.pop(other):
                run_of[member.id] = number
                runs[number].append(member)
        runs.setdefault(number, []).append(commit)
        run_of[name] = number
    tags = _tags(tree)
    found = [
        Interval(
            first=min(run, key=lambda commit: (not commit.time, commit.time)).id,
            # Of two commits of one second the child is the newer one, and the log has it later.
            newest=max(reversed(run), key=lambda commit: commit.time).id,
            commits=len(run),
            tags=tuple(sorted(tag for commit in run for tag in tags.get(commit.id, ()))),
        )
        for run in sorted(runs.values(), key=lambda run: -max(commit.time for commit in run))
    ]
    return tuple(found)


def _tags(tree: GitTree) -> dict[str, list[str]]:
    tags: dict[str, list[str]] = {}
    for line in told_of(tree.program, "%(objectname) %(*objectname) %(refname:strip=2)", "refs/tags"):
        own, peeled, name = line.split(" ", 2)
        tags.setdefault(peeled or own, []).append(name)
    return tags
