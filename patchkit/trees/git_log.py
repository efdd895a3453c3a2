"""The history of some files in a git repository, read without writing to it: no index, no checkout.

Whether what a partial clone lacks is an error, or is downloaded, is up to the GitTree that is asked.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from patchkit.core.history.graph import Blobs, Commit, Graph
from patchkit.errors import TreeError, UnsafePathError
from patchkit.reading import LARGEST
from patchkit.trees.git import GitTree
from patchkit.trees.git_objects import listed
from patchkit.trees.git_program import GitProgram
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
_BATCH = 64 << 20
"""Bytes of texts that are read at once: most histories of a series have fewer."""
_LOG = (
    "-c",
    "log.showRoot=true",
    "-c",
    "log.showSignature=false",
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


def read_graph(tree: GitTree, start: str | None, paths: Sequence[str]) -> Graph:
    """Return the commits from ``start`` (without it) to the commit of ``tree``, and what they have at ``paths``.

    Without ``start``, all that ``tree`` rests on. A commit at the edge of a shallow clone has no parents. Raises
    TreeError when an object is missing.
    """
    span = [tree.commit] if start is None else [tree.commit, f"^{start}"]
    # Sparse: the commits that touch none of the paths as well, for the order in which everything came.
    commits = list(_parsed(_ask(tree, *_LOG, "--sparse", *span, "--", *paths)))
    inside = {commit.id for commit in commits}
    outside = sorted({parent for commit in commits for parent in commit.parents} - inside)
    roots = [commit.id for commit in commits if not commit.parents]
    return Graph(commits, blobs_at(tree, outside, paths), _with_parents(tree, roots))


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


def read_blobs(tree: GitTree, wanted: Mapping[str, str]) -> dict[str, bytes]:
    """Return the content of blobs; ``wanted`` is path by blob id.

    Raises TreeError for one that is not in the clone, and when they are larger than 256 MiB together.
    """
    sizes = _sizes(tree, wanted)
    if sum(sizes.values()) > LARGEST:
        paths = ", ".join(dict.fromkeys(wanted.values()))
        raise TreeError(f"{paths} of {tree.repository} are larger than {LARGEST >> 20} MiB together")
    return _read(tree, wanted, sizes)


def blobs_in_batches(tree: GitTree, wanted: Mapping[str, str]) -> Iterator[dict[str, bytes]]:
    """Yield the content of blobs, some at a time: as much as memory has room for, and at least one.

    ``wanted`` is path by blob id. Raises TreeError for one that is not in the clone, before anything is yielded.
    """
    sizes = _sizes(tree, wanted)
    batch: dict[str, str] = {}
    room = _BATCH
    for blob, path in wanted.items():
        if batch and sizes[blob] > room:
            yield _read(tree, batch, sizes)
            batch, room = {}, _BATCH
        batch[blob] = path
        room -= sizes[blob]
    if batch:
        yield _read(tree, batch, sizes)


def _sizes(tree: GitTree, wanted: Mapping[str, str]) -> dict[str, int]:
    """Return how many bytes blobs claim to have. Raises TreeError for one of more than are read of any file."""
    if not wanted:
        return {}
    asked = ("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)")
    try:
        lines = _ask(tree, *asked, stdin=_lines(wanted)).split(b"\n")[:-1]
    except TreeError as error:
        # git gives up at the first object that a partial clone lacks, and names it.
        lacking = next((blob for blob in wanted if blob in error.message), None)
        if lacking is None:
            raise
        raise TreeError(_lack(tree, lacking, wanted[lacking]), hint=error.hint) from error
    sizes: dict[str, int] = {}
    for (blob, path), line in zip(wanted.items(), lines, strict=True):
        _name, kind, *size = line.split(b" ")
        if kind != b"blob":
            hint = f"the repository is damaged: git -C {shlex.quote(str(tree.repository))} fsck"
            raise TreeError(_lack(tree, blob, path), hint=hint)
        sizes[blob] = int(size[0])
        if sizes[blob] > LARGEST:
            raise TreeError(f"{path} ({blob}) of {tree.repository} is larger than {LARGEST >> 20} MiB")
    return sizes


def _read(tree: GitTree, wanted: Mapping[str, str], sizes: Mapping[str, int]) -> dict[str, bytes]:
    """Return the content of blobs of known sizes."""
    if not wanted:
        return {}
    printed = _ask(tree, "cat-file", "--batch", stdin=_lines(wanted))
    found: dict[str, bytes] = {}
    at = 0
    for blob in wanted:
        begin = printed.index(b"\n", at) + 1
        found[blob] = printed[begin : begin + sizes[blob]]
        at = begin + sizes[blob] + 1
    return found


def _lack(tree: GitTree, blob: str, path: str) -> str:
    return f"{tree.repository} has no blob {blob}, which is {path} at some commit"


def blobs_at(tree: GitTree, commits: Sequence[str], paths: Sequence[str]) -> dict[str, Blobs]:
    """Return what commits have at ``paths``. Only their trees are read, which a partial clone has without the blobs."""
    folders = sorted({path.rpartition("/")[0] for path in paths})
    if not commits or not folders:
        return {}
    asked = [f"{commit}:{folder}" for commit in commits for folder in folders]
    printed = _ask(tree, "cat-file", "--batch", stdin=_lines(asked))
    found: dict[str, dict[str, str | None]] = {commit: {} for commit in commits}
    at = 0
    for name in asked:
        commit, _, folder = name.partition(":")
        end = printed.index(b"\n", at)
        about, at = printed[at:end].split(), end + 1
        if about[-1] == b"missing":
            continue
        content, at = printed[at : at + int(about[2])], at + int(about[2]) + 1
        if about[1] == b"tree":
            try:
                entries = dict(listed(content, len(commit) // 2))
            except ValueError as error:
                raise TreeError(f"{name} of {tree.repository} is no folder that git made") from error
            for path in paths:
                where, _, entry = path.rpartition("/")
                mode, blob = entries.get(entry, (0, "")) if where == folder else (0, "")
                if stat.S_ISREG(mode):
                    found[commit][path] = blob
    return dict(found)


def tags(tree: GitTree) -> tuple[Tag, ...]:
    """Return the tags on commits."""
    form = "--format=%(objectname) %(*objectname) %(creatordate:unix) %(refname:lstrip=2)"
    found: list[Tag] = []
    for line in os.fsdecode(_ask(tree, "for-each-ref", form, "refs/tags")).split("\n")[:-1]:
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


def _ask(tree: GitTree, *command: str, stdin: bytes = b"") -> bytes:
    try:
        return tree.ask(*command, stdin=stdin, environment=_QUIET)
    except TreeError as error:
        if not _promises(tree):
            raise
        raise TreeError(
            error.message,
            hint=f"{tree.repository} is a partial clone, and nothing is downloaded to it here; "
            f"fetch the rest with git -C {shlex.quote(str(tree.repository))} fetch --refetch --no-filter, "
            "or use a full clone",
        ) from error


def _promises(tree: GitTree) -> bool:
    """Tell whether the repository is a partial clone."""
    try:
        return bool(tree.ask("config", "--get-regexp", r"^(remote\..*\.promisor|extensions\.partialclone)$").strip())
    except TreeError:
        # There is no such setting.
        return False


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


def _blob(about: bytes, path: str) -> str | None:
    _old_mode, mode, _old, new, _status = about[1:].split()
    if mode == b"000000":
        return None
    if not mode.startswith(b"100"):
        raise UnsafePathError(f"{path} is a link or a submodule at some time, and those are not followed")
    return new.decode()


def _with_parents(tree: GitTree, roots: Sequence[str]) -> frozenset[str]:
    """Return those of some commits that have parents in truth: at the edge of a shallow clone git tells of none."""
    if not roots:
        return frozenset()
    found: set[str] = set()
    printed = _ask(tree, "cat-file", "--batch", stdin=_lines(roots))
    at = 0
    for name in roots:
        end = printed.index(b"\n", at)
        at = end + 2 + int(printed[at:end].split()[2])
        # Of a commit, the lines before the first empty one tell its tree, parents and people.
        if b"\nparent " in printed[end:at].partition(b"\n\n")[0]:
            found.add(name)
    return frozenset(found)


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
