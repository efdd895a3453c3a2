"""A revision of a git repository, read without a checkout, and new branches made without touching one.

The only module that uses GitPython, which in turn runs the git program: for objects that are read one by one. Whoever
only asks git something does without.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.errors import TreeError, UnsafePathError, UsageError
from patchkit.trees.git_program import GitProgram, no_git, run_git
from patchkit.trees.interface import Edits
from patchkit.trees.new_folder import new_folder
from patchkit.trees.paths import checked

if TYPE_CHECKING:
    import git

_FALLBACK_COMMITTER = {"GIT_COMMITTER_NAME": "patchkit", "GIT_COMMITTER_EMAIL": "patchkit@localhost"}
_FOLDER, _LINK, _SUBMODULE = 0o040000, 0o120000, 0o160000
_NOTHING = (0, "")


@dataclass(frozen=True, slots=True)
class CommitSpec:
    """One commit to make."""

    message: str
    author_name: str
    author_email: str
    author_date: str
    """In any form that git takes, such as ``2026-11-29T12:00:00+00:00``."""
    edits: Edits


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a revision has at a path."""

    path: str
    mode: int
    object_id: str

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)


class GitTree:
    """The files of ``revision`` in ``repository``, a checkout or a bare repository.

    Of a partial clone, git downloads what it lacks and keeps it, unless ``download`` is False. Raises
    RevisionNotFoundError, TreeError. Use one object in one thread alone: it talks to one git process.
    """

    def __init__(
        self, repository: Path, revision: str, *, download: bool = True, _shared: _Objects | None = None
    ) -> None:
        self.repository = repository
        self.revision = revision
        self._objects = _Objects(GitProgram(repository, download=download)) if _shared is None else _shared
        self._git = self._objects.program
        self.commit = self._git.commit(revision)
        """The 40 hexadecimal digits of the commit."""

    @property
    def label(self) -> str:
        """Repository and revision."""
        return f"{self.repository}@{self.revision}"

    @property
    def manifest_path(self) -> str:
        """Path of patchkit's record of what it applied."""
        return ".patchkit/manifest.json"

    def at(self, revision: str) -> GitTree:
        """Return another revision of the same repository, read in the same way by the same git process."""
        return GitTree(self.repository, revision, _shared=self._objects)

    def read(self, path: str) -> bytes | None:
        """Return the bytes of ``path``, or None. Raises UnsafePathError on a link."""
        blob = self.blob_id(path)
        return None if blob is None else self._content(blob)

    def blob_id(self, path: str) -> str | None:
        """Return the blob id of ``path`` without reading its content, or None. Raises UnsafePathError on a link."""
        *folders, name = checked(path).split("/")
        with self._talking(f"{self.commit}:{path}"):
            entries = self._objects.folder(f"{self.commit}^{{tree}}")
            for folder in folders:
                mode, object_id = entries.get(folder, _NOTHING)
                if mode != _FOLDER:
                    return None
                entries = self._objects.folder(object_id)
        mode, object_id = entries.get(name, _NOTHING)
        if mode == _LINK:
            raise UnsafePathError(f"{self.label}: {path} is a link, and links are not followed")
        return object_id if stat.S_ISREG(mode) else None

    def paths(self, under: str = "") -> Iterator[str]:
        """Yield the paths of regular files below the folder ``under``, sorted."""
        return iter(sorted(entry.path for entry in self._entries(under) if entry.is_file))

    def blob_ids(self, under: str = "") -> dict[str, str]:
        """Return the blob id of every regular file below the folder ``under``, by path; reads no content."""
        return {entry.path: entry.object_id for entry in self._entries(under) if entry.is_file}

    def executables(self, under: str = "") -> frozenset[str]:
        """Return the paths of regular files below the folder ``under`` that may be executed."""
        return frozenset(entry.path for entry in self._entries(under) if entry.is_file and entry.mode & 0o111)

    def ask(
        self,
        *command: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> bytes:
        """Return what a git command prints in this repository. Raises TreeError with git's own words when it fails.

        After ``seconds``, if given, the command is stopped and TimeoutError raised.
        """
        return self._git.output(*command, stdin=stdin, environment=environment, seconds=seconds)

    def _entries(self, under: str = "") -> list[_Entry]:
        where = [f"{checked(under)}/"] if under else []
        listing = self._git.output("ls-tree", "-r", "-z", "--full-tree", self.commit, "--", *where)
        entries = []
        for line in listing.split(b"\0")[:-1]:
            about, _tab, path = line.partition(b"\t")
            mode, _kind, object_id = about.split()
            entries.append(_Entry(os.fsdecode(path), int(mode, 8), object_id.decode()))
        return entries

    def _content(self, blob: str) -> bytes:
        with self._talking(blob):
            return self._objects.read(blob)

    @contextmanager
    def _talking(self, wanted: str) -> Iterator[None]:
        """Translate what GitPython raises when the process it talks to gives no answer about the object ``wanted``."""
        try:
            yield
        except (ValueError, OSError) as error:
            # GitPython guesses at a reason, the owner of the repository, where the process died; another one tells it.
            self._objects.repo.git.clear_cache()
            _status, _out, problem = self._git.run(["cat-file", "-p", wanted])
            said = " ".join((problem or str(error)).split())
            raise TreeError(
                f"git cannot read {wanted} of {self.label}: {said}",
                hint="objects are missing: the repository is damaged, or a partial clone that lacks them (all of them "
                "come with `git fetch --refetch --no-filter`)",
            ) from error


class _Objects:
    """The objects of a repository, through GitPython, which is opened when the first of them is read."""

    def __init__(self, program: GitProgram) -> None:
        self.program = program
        self._folders: dict[str, Mapping[str, tuple[int, str]]] = {}

    @cached_property
    def repo(self) -> git.Repo:
        try:
            import git  # noqa: PLC0415 - importing it looks for the git program and fails where there is none
        except ImportError as error:
            raise no_git() from error
        # With GIT_PYTHON_REFRESH in the environment the import does not fail. (mypy believes that GIT_OK is always
        # true.)
        if not vars(git)["GIT_OK"]:
            raise no_git()
        try:
            repo = git.Repo(self.program.repository, expand_vars=False)
        except (git.InvalidGitRepositoryError, git.NoSuchPathError) as error:
            raise TreeError(f"{self.program.repository} is not a git repository") from error
        repo.git.update_environment(**self.program.environment)
        return repo

    def read(self, name: str) -> bytes:
        """Return the content of an object. Raises ValueError, OSError."""
        _id, _kind, size, content = self.repo.git.get_object_data(name)
        # From a process that dies in the middle of an object the library takes what it got.
        if len(content) != size:
            raise ValueError(f"it has {size} bytes, and {len(content)} can be read")
        return content

    def folder(self, name: str) -> Mapping[str, tuple[int, str]]:
        """Return mode and object id of what is in a folder, by name; read once for all revisions that have it so."""
        if name not in self._folders:
            self._folders[name] = dict(_listed(self.read(name), len(name.partition("^")[0]) // 2))
        return self._folders[name]


def _listed(content: bytes, width: int) -> Iterator[tuple[str, tuple[int, str]]]:
    """Yield the entries of a tree object; ``width`` is the length of an object id in bytes."""
    at = 0
    while at < len(content):
        space, end = content.index(b" ", at), content.index(b"\0", at)
        yield (
            os.fsdecode(content[space + 1 : end]),
            (int(content[at:space], 8), content[end + 1 : end + 1 + width].hex()),
        )
        at = end + 1 + width


def ask_repository(repository: Path, *command: str, stdin: bytes = b"") -> bytes:
    """Return what a git command that only reads prints in ``repository``, whatever its HEAD is.

    Nothing is fetched, so that nothing is written: in a partial clone what is missing stays missing. Raises TreeError
    with git's own words.
    """
    # The first is for git 2.45 and later; to older ones a transport that is not allowed does the same.
    environment = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
    return GitProgram(repository).output(*command, stdin=stdin, environment=environment)


def ignored_files(repository: Path, folder: Path) -> frozenset[str]:
    """Return the files below ``folder`` that git ignores there by its rules, and those of ``repository``.

    The folder need not be a checkout; its own .gitignore files have their say. Raises TreeError.
    """
    program = GitProgram(repository)
    where = {"GIT_DIR": os.fspath(program.folder.resolve()), "GIT_WORK_TREE": os.fspath(folder.resolve())}
    listing = program.output("ls-files", "--others", "--ignored", "--exclude-standard", "-z", environment=where)
    return frozenset(os.fsdecode(path) for path in listing.split(b"\0") if path)


def export(tree: GitTree, destination: Path, edits: Edits) -> None:
    """Write the files of ``tree`` with ``edits`` into the new folder ``destination``; all or nothing.

    The bytes are those of the blobs: no attribute or setting that makes ``git archive`` leave out or convert files has
    a say. Links stay when they lead to a place inside; submodules become empty folders, as git makes them. Raises
    UnsafePathError, TreeError when ``destination`` is not free, WriteFailedError.
    """
    for path in edits:
        checked(path)
    entries = {entry.path: entry for entry in tree._entries()}  # noqa: SLF001 - this module's own
    _refuse_links(tree.label, {path: entry.mode for path, entry in entries.items()}, edits)
    with new_folder(destination) as folder:
        for path, entry in entries.items():
            if entry.mode == _SUBMODULE:
                folder.folder(path)
            elif entry.mode == _LINK:
                folder.link(path, os.fsdecode(tree._content(entry.object_id)))  # noqa: SLF001
            else:
                content = edits[path] if path in edits else tree._content(entry.object_id)  # noqa: SLF001
                if content is not None:
                    folder.write(path, content, executable=bool(entry.mode & 0o111))
        for path, content in edits.items():
            if path not in entries and content is not None:
                folder.write(path, content)


def commit_series(repository: Path, revision: str, branch: str, commits: Sequence[CommitSpec]) -> list[str]:
    """Make ``branch`` at ``revision`` with one commit for each of ``commits``; return their ids, oldest first.

    Neither a checkout nor its index is touched; no hook runs, nothing is signed. The committer is the user's own
    identity where git knows one. Raises TreeError when the branch exists or git refuses; there is no new branch then.
    """
    tree = GitTree(repository, revision)
    program = tree._git  # noqa: SLF001 - this module's own
    ref = f"refs/heads/{branch}"
    _refuse_branch(program, repository, branch, ref)
    modes = {entry.path: entry.mode for entry in tree._entries()}  # noqa: SLF001
    made = [tree.commit]
    with tempfile.TemporaryDirectory(prefix="patchkit-") as folder:
        environment = {"GIT_INDEX_FILE": os.path.join(folder, "index"), **_committer(program)}  # noqa: PTH118 - a string
        program.output("read-tree", tree.commit, environment=environment)
        for spec in commits:
            _refuse_links(tree.label, modes, spec.edits)
            _stage(program, spec.edits, modes, environment)
            made.append(_committed(program, spec, made[-1], environment))
        # An old value of zeros makes git refuse when somebody else makes the branch first (git-update-ref).
        program.output("update-ref", "-m", "patchkit: made", ref, made[-1], "0" * len(made[-1]))
    return made[1:]


def _stage(program: GitProgram, edits: Edits, modes: dict[str, int], environment: Mapping[str, str]) -> None:
    """Bring ``edits`` into the index of ``environment``; keep ``modes`` in step."""
    lines = []
    for path, content in edits.items():
        if content is None and modes.pop(checked(path), None) is not None:
            lines.append(b"0 %s\t%s\0" % (b"0" * 40, os.fsencode(path)))
    for path, content in edits.items():
        if content is not None:
            _refuse_clash(checked(path), modes)
            mode = modes.setdefault(path, 0o100644)
            blob = program.output("hash-object", "-w", "--stdin", stdin=content).strip()
            lines.append(b"%o %s\t%s\0" % (mode, blob, os.fsencode(path)))
    program.output("update-index", "-z", "--index-info", stdin=b"".join(lines), environment=environment)


def _committed(program: GitProgram, spec: CommitSpec, parent: str, environment: Mapping[str, str]) -> str:
    author = {
        "GIT_AUTHOR_NAME": spec.author_name,
        "GIT_AUTHOR_EMAIL": spec.author_email,
        "GIT_AUTHOR_DATE": spec.author_date,
    }
    content = program.output("write-tree", environment=environment).decode().strip()
    command = ["commit-tree", content, "-p", parent, "-F", "-"]
    made = program.output(*command, stdin=spec.message.encode(), environment={**environment, **author})
    return made.decode().strip()


def _committer(program: GitProgram) -> dict[str, str]:
    # useConfigOnly keeps git from making up an address out of the names of user and machine.
    status, _out, _err = program.run(["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"])
    return {} if status == 0 else dict(_FALLBACK_COMMITTER)


def _refuse_branch(program: GitProgram, repository: Path, branch: str, ref: str) -> None:
    if branch.startswith("-") or branch == "HEAD" or program.run(["check-ref-format", ref])[0] != 0:
        raise UsageError(f"{branch!r} cannot be the name of a branch")
    if program.run(["show-ref", "--verify", "--quiet", ref])[0] == 0:
        raise TreeError(
            f"{repository} already has a branch {branch}",
            hint=f"name another branch, or remove this one: git -C {repository} branch -D {branch}",
        )


def _refuse_clash(path: str, modes: Mapping[str, int]) -> None:
    # git update-index would drop what is in the way without a word.
    if path in modes:
        return
    parts = path.split("/")
    above = next((file for file in ("/".join(parts[:count]) for count in range(1, len(parts))) if file in modes), None)
    if above is not None:
        raise TreeError(f"{path} cannot be made: {above} is a file")
    if any(other.startswith(f"{path}/") for other in modes):
        raise TreeError(f"{path} cannot be made: it is a folder")


def _refuse_links(label: str, modes: Mapping[str, int], edits: Edits) -> None:
    for path in edits:
        if path in modes and not stat.S_ISREG(modes[path]):
            raise UnsafePathError(f"{label}: {path} is a link or a submodule, and those are not changed")


def identity(folder: Path) -> str | None:
    """Return name and address of whoever works in ``folder``, as git knows them, or None.

    What git would make up out of the names of user and machine does not count, nor does it matter whether the folder is
    in a repository.
    """
    found: list[str] = []
    for variable, setting in (("GIT_AUTHOR_NAME", "user.name"), ("GIT_AUTHOR_EMAIL", "user.email")):
        value = os.environ.get(variable)
        if not value:
            try:
                _status, printed, _problem = run_git(["config", "--get", setting], folder)
            except TreeError:
                return None
            value = os.fsdecode(printed)
        if not value:
            return None
        found.append(value.strip())
    return f"{found[0]} <{found[1]}>"
