"""A tree that is a folder: a checkout, an unpacked archive, a copy in a container image."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.core.kept_names import MANIFEST, STATE
from patchkit.core.paths import DEEPEST
from patchkit.core.printing import shell_word
from patchkit.errors import NotATreeError, TreeError, UnsafePathError
from patchkit.folders import TOO_DEEP, below
from patchkit.trees import transaction
from patchkit.trees.interface import Edits, Interrupted
from patchkit.trees.nofollow import parent_folder, read_file, remove_if_empty
from patchkit.trees.paths import checked

if TYPE_CHECKING:
    from patchkit.trees.installed import InstalledTree

FROM_THE_RELEASE = "restore the file: take it from the release, or make the folder anew"
"""How a file is restored where neither git nor an installer keeps its text."""
_SKIPPED = frozenset({".git", "__pycache__", STATE})


class DirectoryTree:
    """The folder ``root``.

    A write is refused when a file it changes holds something else than this object last read from it: somebody wrote in
    between, and the edits were computed from what is no longer there.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._seen: dict[str, bytes | None] = {}

    @property
    def label(self) -> str:
        """The folder."""
        return str(self.root)

    @property
    def manifest_path(self) -> str:
        """Path of patchkit's record of what it applied."""
        return MANIFEST

    @property
    def state_dir(self) -> Path:
        """Folder of the lock and of the journal; it goes away with them unless the manifest is there too."""
        return self.root / STATE

    def read(self, path: str) -> bytes | None:
        """Return the bytes of ``path``, or None when there is none. Raises UnsafePathError, TreeError."""
        try:
            found = read_file(self.root, checked(path))
        except OSError as error:
            raise TreeError(f"cannot read {self.root / path}: {error.strerror}") from error
        content = None if found is None else found.content
        self._seen[path] = content
        return content

    def has_folder(self, path: str) -> bool:
        """Tell whether a folder stands at ``path``. Raises UnsafePathError, TreeError."""
        try:
            with parent_folder(self.root, checked(path)) as folder:
                status = os.stat(path.rpartition("/")[2], dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise TreeError(f"cannot read {self.root / path}: {error.strerror}") from error
        return stat.S_ISDIR(status.st_mode)

    def paths(self, under: str = "") -> Iterator[str]:
        """Yield the paths of regular files below ``under``, sorted; no links, no byte code, no files of git."""
        start = f"{checked(under)}/" if under else ""
        try:
            # A link above the first entry is refused as it is when reading.
            with parent_folder(self.root, f"{start}any"):
                pass  # no link leads there
            return iter(sorted(_files(str(self.root / under), start)))
        except (FileNotFoundError, NotADirectoryError):
            return iter(())
        except OSError as error:
            raise _unlisted(error) from error

    def executables(self, under: str = "") -> frozenset[str]:
        """Return the paths of regular files below ``under`` that their owner may execute. Raises TreeError."""
        try:
            return frozenset(path for path in self.paths(under) if (self.root / path).lstat().st_mode & stat.S_IXUSR)
        except OSError as error:
            raise TreeError(f"cannot read {error.filename}: {error.strerror}") from error

    def others(self, under: str = "") -> dict[str, bytes | None]:
        """Return by path what is neither a file nor a folder below ``under``: a link's text, None for pipes and such.

        Raises UnsafePathError, TreeError.
        """
        start = f"{checked(under)}/" if under else ""
        try:
            with parent_folder(self.root, f"{start}any"):
                pass  # as above
            found = sorted(_others(str(self.root / under), start))
            return {path: os.fsencode((self.root / path).readlink()) if is_link else None for path, is_link in found}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise _unlisted(error) from error

    def how_to_restore(self, path: str) -> str:
        """Return, for a hint, how ``path`` gets back the text that it had before somebody changed it."""
        if (self.root / ".git").exists():
            return f"restore the file: `git -C {shell_word(str(self.root))} checkout -- {shell_word(path)}`"
        return FROM_THE_RELEASE

    def write(self, edits: Edits, *, operation: str) -> None:
        """Write all of ``edits`` or none; drop the byte code of changed modules and folders left empty.

        Byte code goes before the write, so that a kill cannot leave some that Python trusts without looking at the
        source (PEP 552, unchecked), and once more after it, since somebody may have imported in between.
        """
        expected = {path: self._seen[path] for path in edits if path in self._seen}
        for path in edits:
            _drop_byte_code(self.root, path)
        transaction.write_all(self.root, edits, operation=operation, state_dir=self.state_dir, expected=expected)
        self._seen.update(edits)
        for path, content in edits.items():
            _drop_byte_code(self.root, path)
            if content is None:
                _drop_empty_folders(self.root, path)

    def interrupted(self) -> Interrupted | None:
        """Return what an earlier, cut-short write left, or None. Raises TreeBusyError while a write is under way."""
        return transaction.interrupted(self.root, self.state_dir)

    def undo_interrupted(self) -> Interrupted | None:
        """Put back the old content of an interrupted write; return what it was, or None when there is none."""
        undone = transaction.undo_interrupted(self.root, self.state_dir)
        self._seen.clear()
        return undone


def open_directory(path: Path, distribution: str, packages: tuple[str, ...]) -> DirectoryTree | InstalledTree:
    """Return the tree in the folder ``path``, which has ``packages``.

    With the metadata of ``distribution`` (empty: none is looked for) beside them it is an InstalledTree. Raises
    NotATreeError.
    """
    missing = [package for package in packages if not (path / package).is_dir()]
    if missing:
        raise NotATreeError(f"{path} has no folder {missing[0]}", hint=_nearby(path, packages))
    metadata = _dist_infos(path, distribution) if distribution else []
    if len(metadata) > 1:
        raise NotATreeError(
            f"{path} has the metadata of more than one {distribution}: {', '.join(metadata)}",
            hint="remove the folder of the one that is not installed",
        )
    if not metadata:
        return DirectoryTree(path)
    from patchkit.trees.installed import InstalledTree  # noqa: PLC0415 - it imports this module

    return InstalledTree(path, metadata[0])


def _dist_infos(folder: Path, distribution: str) -> list[str]:
    """Return the names of a distribution's metadata folders; those without RECORD count only where none has one.

    Old tools did not normalise the name; PEP 503 tells which names are the same.
    """
    words = "[-_.]+".join(re.escape(word) for word in re.split(r"[-_.]+", distribution))
    pattern = re.compile(words + r"-[^-]+\.dist-info", re.IGNORECASE)
    try:
        found = sorted(entry.name for entry in folder.iterdir() if pattern.fullmatch(entry.name))
    except OSError as error:
        raise TreeError(f"cannot list {folder}: {error.strerror}") from error
    with_record = [name for name in found if (folder / name / "RECORD").is_file()]
    return with_record or [name for name in found if (folder / name / "METADATA").is_file()]


def _nearby(path: Path, packages: tuple[str, ...]) -> str:
    try:
        below = sorted(entry for entry in path.iterdir() if entry.is_dir())
    except OSError:
        below = []
    for folder in (path.parent, *below):
        if all((folder / package).is_dir() for package in packages):
            return f"did you mean {folder}?"
    top = packages[0].partition("/")[0]
    return f"name the folder that holds {top}/, such as a checkout or a site-packages folder"


def _unlisted(error: OSError) -> TreeError:
    hint = TOO_DEEP if error.errno == errno.ENAMETOOLONG else None
    return TreeError(f"cannot list {error.filename}: {error.strerror}", hint=hint)


def _files(folder: str, start: str) -> Iterator[str]:
    return (path for path, entry in _entries(folder, start) if entry.is_file(follow_symlinks=False))


def _others(folder: str, start: str) -> Iterator[tuple[str, bool]]:
    """Yield path, and whether it is a link, of what is neither a file nor a folder."""
    for path, entry in _entries(folder, start):
        if not entry.is_file(follow_symlinks=False):
            yield path, entry.is_symlink()


def _entries(folder: str, start: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield path and entry of everything that is no folder below ``folder``."""
    above = len(os.path.join(folder, ""))  # noqa: PTH118 - a string, of which "/" has its slash
    for entry in below(folder, DEEPEST, enter=lambda entry: entry.name not in _SKIPPED):
        if not entry.is_dir(follow_symlinks=False):
            yield start + entry.path[above:], entry


def _drop_byte_code(root: Path, path: str) -> None:
    """Remove compiled forms of the module ``path``.

    Python believes byte code whose note of the source agrees in size and second with the file, whatever is in it.
    """
    folder, slash, name = path.rpartition("/")
    if not name.endswith(".py"):
        return
    # Whoever swaps a folder for a link meanwhile, or has one in its place from the beginning, keeps what is behind it.
    with suppress(OSError, UnsafePathError), parent_folder(root, f"{folder}{slash}__pycache__/any") as cache:
        for compiled in os.listdir(cache):  # noqa: PTH208 - of the open folder, whatever has its name by now
            if compiled.startswith(name.removesuffix("py")) and compiled.endswith(".pyc"):
                os.unlink(compiled, dir_fd=cache)


def _drop_empty_folders(root: Path, path: str) -> None:
    """Remove the folders above ``path`` that hold nothing any more: Python would import them as namespace packages."""
    folder = path.rpartition("/")[0]
    with suppress(OSError, UnsafePathError):
        while folder:
            with suppress(FileNotFoundError, NotADirectoryError):
                remove_if_empty(root, f"{folder}/__pycache__")
            remove_if_empty(root, folder)
            folder = folder.rpartition("/")[0]
