"""A revision of a git repository, read without a checkout."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from patchkit.errors import DamagedCloneError, TreeError, UnsafePathError
from patchkit.trees.clone_damage import how_to_fetch_the_rest, where_to_ask
from patchkit.trees.git_objects import FOLDER, Folder, GitObjects, ObjectError
from patchkit.trees.git_program import GitProgram, opened
from patchkit.trees.paths import checked

LINK, SUBMODULE = 0o120000, 0o160000
"""Modes of what is no file."""
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
    opened. Raises RevisionNotFoundError, TreeError, and DamagedCloneError for what was lost, also when it is read. Use
    one object in one thread alone: it talks to one git process.
    """

    def __init__(
        self,
        repository: Path | GitProgram,
        revision: str,
        *,
        download: bool = True,
        _shared: GitObjects | None = None,
        _commit: str | None = None,
    ) -> None:
        self.revision = revision
        self._objects = GitObjects(opened(repository, download=download)) if _shared is None else _shared
        self.program = self._objects.program
        self.repository = self.program.repository
        self.commit = self.program.commit(revision) if _commit is None else _commit
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

    @classmethod
    def several(cls, repository: GitProgram, revisions: Iterable[str]) -> list[GitTree]:
        """Return those of some revisions that there are, each read by the same git process; git is asked for them once.

        Raises TreeError.
        """
        shared = GitObjects(repository)
        found = repository.commits(list(revisions))
        return [cls(repository, name, _shared=shared, _commit=commit) for name, commit in found.items() if commit]

    def read(self, path: str) -> bytes | None:
        """Return the bytes of ``path``, or None. Raises UnsafePathError on a link."""
        blob = self.blob_id(path)
        return None if blob is None else self.content(blob, path)

    def blob_id(self, path: str) -> str | None:
        """Return the blob id of ``path`` without reading its content, or None. Raises UnsafePathError on a link."""
        folder, _, name = checked(path).rpartition("/")
        with self._talking(f"{self.commit}:{path}"):
            above = self._folder(folder)
            entries = {} if above is None else self._objects.folder(above)
        mode, object_id = entries.get(name, _NOTHING)
        if mode == LINK:
            raise UnsafePathError(f"{self.label}: {path} is a link, and links are not followed")
        return object_id if stat.S_ISREG(mode) else None

    def _folder(self, path: str) -> str | None:
        """Return the name of the object of a folder, or None where there is none."""
        name = f"{self.commit}^{{tree}}"
        for part in path.split("/") if path else ():
            mode, name = self._objects.folder(name).get(part, _NOTHING)
            if mode != FOLDER:
                return None
        return name

    def paths(self, under: str = "") -> Iterator[str]:
        """Yield the paths of regular files below the folder ``under``, sorted."""
        return iter(sorted(entry.path for entry in self.entries(under) if entry.is_file))

    def blob_ids(self, under: str = "") -> dict[str, str]:
        """Return the blob id of every regular file below the folder ``under``, by path; reads no content."""
        return {entry.path: entry.object_id for entry in self.entries(under) if entry.is_file}

    def links(self, under: str = "") -> dict[str, str]:
        """Return the blob id of every link's text below the folder ``under``, by path."""
        return {entry.path: entry.object_id for entry in self.entries(under) if stat.S_ISLNK(entry.mode)}

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
        """Return all that is below the folder ``under`` and is no folder: files, links, submodules.

        Raises TreeError for more than 500,000 of them.
        """
        with self._talking(f"{self.commit}:{under}"):
            name = self._folder(checked(under) if under else "")
            if name is None:
                return []
            return [Entry(*found) for found in self._objects.below(name, f"{under}/" if under else "")]

    def content(self, blob: str, path: str = "") -> bytes:
        """Return the bytes of a blob. Raises TreeError that names ``path``, if given, when it is missing or damaged."""
        with self._talking(blob, path):
            return self._objects.blob(blob)

    def contents(self, wanted: Mapping[str, str], room: int | None = None) -> dict[str, bytes]:
        """Return the bytes of blobs from anywhere in the history; ``wanted`` is path by blob id.

        With ``room``, of the first that have as many bytes together, and of one in any case. Raises TreeError with the
        path of one that is missing, damaged, or larger than any file that is read.
        """
        with self._talking(paths=wanted):
            return dict(zip(wanted, self._objects.blobs([*wanted], room), strict=False))

    def folders(self, wanted: Mapping[str, str]) -> Mapping[str, Folder]:
        """Return mode and object id of what is in folders from anywhere in the history, by name, for each folder.

        ``wanted`` is what to call a folder in an error, by its id or what names it, such as ``COMMIT^{tree}``. Raises
        TreeError.
        """
        with self._talking(paths=wanted):
            return self._objects.folders(wanted)

    def told_by(self, commit: str) -> bytes:
        """Return a commit as git keeps it: a line for each thing that it says of itself, then its message."""
        with self._talking(commit):
            return self._objects.commit(commit)

    @contextmanager
    def _talking(self, wanted: str = "", path: str = "", paths: Mapping[str, str] | None = None) -> Iterator[None]:
        """Say of which object git gives no answer, and of which file or folder, in its own words.

        That is ``path``, where it is given, or ``wanted``, or what ``paths`` has for the object.
        """
        try:
            yield
        except ObjectError as error:
            whose = self.label if paths is None else str(self.repository)
            # It may be a folder on the way: git finds no file below one that is another one's.
            name, at = error.name, path or wanted if paths is None else paths[error.name]
            said, lost = str(error), error.another
            if error.missing:
                # The process that was asked complains of nothing. What git has when it is asked again is not lost.
                status, _out, problem = self.program.run(["cat-file", "-p", name])
                said, lost = problem or said, status != 0
            shown = name if at in ("", name) else f"{at} ({name})"
            message = f"git cannot read {shown} of {whose}: {' '.join(said.split())}"
            if error.too_large:
                raise TreeError(message) from error
            # What nobody fetched is in another place; what is in the place of an object is wrong in any clone.
            rest = how_to_fetch_the_rest(self.program.run, self.repository)
            kind = DamagedCloneError if error.another or (lost and rest is None) else TreeError
            raise kind(message, hint=rest or where_to_ask(self.repository)) from error
