"""A revision of a git repository, read without a checkout.

The only module that uses GitPython, which in turn runs the git program: for objects that are read one by one. Whoever
only asks git something does without.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.errors import TreeError, UnsafePathError
from patchkit.reading import LARGEST
from patchkit.trees.git_program import GitProgram, no_git, opened
from patchkit.trees.paths import checked

if TYPE_CHECKING:
    import git

LINK, SUBMODULE = 0o120000, 0o160000
"""Modes of what is no file."""
_FOLDER = 0o040000
_NOTHING = (0, "")


@dataclass(frozen=True, slots=True)
class Entry:
    """What a revision has at a path."""

    path: str
    mode: int
    object_id: str

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)


class GitTree:
    """The files of ``revision`` in ``repository``, a checkout or a bare repository, or one that was opened already.

    Of a partial clone, git downloads what it lacks and keeps it, unless ``download`` is False, or was when it was
    opened. Raises RevisionNotFoundError, TreeError. Use one object in one thread alone: it talks to one git process.
    """

    def __init__(
        self,
        repository: Path | GitProgram,
        revision: str,
        *,
        download: bool = True,
        _shared: _Objects | None = None,
    ) -> None:
        self.revision = revision
        self._objects = _Objects(opened(repository, download=download)) if _shared is None else _shared
        self.program = self._objects.program
        self.repository = self.program.repository
        self.commit = self.program.commit(revision)
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
        return None if blob is None else self.content(blob, path)

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
        if mode == LINK:
            raise UnsafePathError(f"{self.label}: {path} is a link, and links are not followed")
        return object_id if stat.S_ISREG(mode) else None

    def paths(self, under: str = "") -> Iterator[str]:
        """Yield the paths of regular files below the folder ``under``, sorted."""
        return iter(sorted(entry.path for entry in self.entries(under) if entry.is_file))

    def blob_ids(self, under: str = "") -> dict[str, str]:
        """Return the blob id of every regular file below the folder ``under``, by path; reads no content."""
        return {entry.path: entry.object_id for entry in self.entries(under) if entry.is_file}

    def executables(self, under: str = "") -> frozenset[str]:
        """Return the paths of regular files below the folder ``under`` that may be executed."""
        return frozenset(entry.path for entry in self.entries(under) if entry.is_file and entry.mode & 0o111)

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
        return self.program.output(*command, stdin=stdin, environment=environment, seconds=seconds)

    def entries(self, under: str = "") -> list[Entry]:
        """Return all that is below the folder ``under`` and is no folder: files, links, submodules."""
        where = [f"{checked(under)}/"] if under else []
        listing = self.program.output("ls-tree", "-r", "-z", "--full-tree", self.commit, "--", *where)
        entries = []
        for line in listing.split(b"\0")[:-1]:
            about, _tab, path = line.partition(b"\t")
            mode, _kind, object_id = about.split()
            entries.append(Entry(os.fsdecode(path), int(mode, 8), object_id.decode()))
        return entries

    def content(self, blob: str, path: str = "") -> bytes:
        """Return the bytes of a blob. Raises TreeError that names ``path``, if given, when it is missing or damaged."""
        with self._talking(blob, path):
            return self._objects.read(blob)

    @contextmanager
    def _talking(self, wanted: str, path: str = "") -> Iterator[None]:
        """Translate what GitPython raises when the process it talks to gives no answer about the object ``wanted``.

        The error names ``path``, if given, beside the object.
        """
        try:
            yield
        except (ValueError, OSError) as error:
            # GitPython guesses at a reason, the owner of the repository, where the process died; another one tells it.
            self._objects.repo.git.clear_cache()
            _status, _out, problem = self.program.run(["cat-file", "-p", wanted])
            said = " ".join((problem or str(error)).split())
            raise TreeError(
                f"git cannot read {f'{path} ({wanted})' if path else wanted} of {self.label}: {said}",
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
        """Return the content of an object. Raises ValueError, OSError, TreeError for more than ``LARGEST`` bytes."""
        # What an object says of its size is believed by whoever makes room for it.
        _id, _kind, claimed = self.repo.git.get_object_header(name)
        if claimed > LARGEST:
            raise TreeError(f"object {name} of {self.program.repository} is larger than {LARGEST >> 20} MiB")
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
