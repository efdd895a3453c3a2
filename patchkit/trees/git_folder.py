"""The folder of a git repository, looked at before git is: what git reads there must be files, and must end.

A clone may be a stranger's, and git waits for ever for a named pipe in the place of any of its files, and reads a
device or a file of gigabytes for as long as there is memory.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from patchkit.core.paths import DEEPEST
from patchkit.errors import TreeError
from patchkit.folders import TOO_DEEP, below
from patchkit.reading import kind_of, read_regular
from patchkit.trees.git_names import alternates, asked, leads_to, packs, symbolic

_NAMED = (
    *("HEAD", "FETCH_HEAD", "ORIG_HEAD", "commondir", "config", "config.worktree", "gitdir", "index", "packed-refs"),
    *("shallow", "info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout"),
    *("objects/info/alternates", "objects/info/commit-graph", "objects/info/http-alternates", "objects/info/packs"),
)
"""Files that git reads without being asked for them."""
_ALL = ("objects/info/commit-graphs", "objects/pack", "reftable", "remotes", "branches")
"""Folders in which it reads whatever there is, or may; ``refs`` is another one."""
_OF_A_WORKTREE = ("HEAD", "commondir", "config.worktree", "gitdir", "locked")
"""Files of other worktrees that it reads, to tell what is checked out where."""
_SEVERAL = "multi-pack-index"
_TELLING = ("HEAD", "commondir")
"""Files that tell whether a folder is a repository."""
_MAPPED = (".pack", ".idx", ".rev", ".graph", ".bitmap", ".mtimes", "commit-graph", "multi-pack-index")
"""Ends of the names of what git reads in pieces, however large it is."""
_LARGEST = 256 << 20
"""Bytes of anything else: the largest repositories have an index and packed references of a tenth of that."""
_LARGEST_LINK = 1 << 16
"""Bytes of a file that names a folder."""


class GitFolder(NamedTuple):
    """Where a repository is."""

    own: Path
    """Of a checkout, its ``.git`` or what that names."""
    common: Path
    """Where branches and objects are: of a linked worktree, the folder of the repository that it is linked to."""


def guessed(repository: Path) -> GitFolder | None:
    """Return where the repository of ``repository`` seems to be; folders above are not looked at, a typo leads there.

    git says the last word when it is asked: it takes other things for a repository.
    """
    link = Path(os.path.abspath(repository), ".git")  # noqa: PTH100 - resolve() would follow links
    if link.is_file():
        about, _, where = _line(link).partition(": ")
        return of(link.parent / where) if about == "gitdir" and where else None
    found = (of(folder) for folder in (link, link.parent) if os.path.lexists(folder / "HEAD"))
    return next((one for one in found if (one.common / "objects").is_dir() and (one.common / "refs").is_dir()), None)


def of(own: Path) -> GitFolder:
    """Return the folder ``own`` with the common one that it names."""
    return GitFolder(own, own / _line(own / "commondir"))


def _line(file: Path) -> str:
    try:
        line = os.fsdecode(read_regular(file, _LARGEST_LINK)).rstrip("\r\n")
    except OSError:
        return ""
    # No file has such a name.
    return "" if "\0" in line else line


def refuse_odd_files(repository: Path, files: Iterable[Path]) -> None:
    """Raise TreeError when git would wait for one of ``files`` or read it without end; those that are absent are fine.

    A link counts as what it leads to.
    """
    for file in files:
        try:
            found = file.stat()
        except OSError:
            continue  # it is not there, or git will say what is the matter
        if stat.S_ISDIR(found.st_mode):
            if file.is_symlink():
                raise TreeError(f"git cannot read {repository}: {file} is a link to a folder")
            continue
        if not stat.S_ISREG(found.st_mode):
            raise TreeError(f"git cannot read {repository}: {file} is no regular file but {kind_of(found.st_mode)}")
        if found.st_size > _LARGEST and not file.name.endswith(_MAPPED):
            raise TreeError(f"git cannot read {repository}: {file} is larger than {_LARGEST >> 20} MiB")


def refuse_odd_names(repository: Path, folder: GitFolder, command: Sequence[str], stdin: bytes) -> None:
    """Raise TreeError when git would wait for a file that a word of a command names, taken for a revision.

    ``stdin`` is what the command is given to read.
    """
    paths = command[command.index("--") :] if "--" in command else ()
    words = [word for word in command[1:] if not word.startswith("-")]
    if command[0] == "cat-file":
        # Nearly always ids, which are no names.
        words += [os.fsdecode(line) for line in stdin.split(b"\n") if not _OF_AN_ID.match(line)]
    for word in words:
        # Settings of the clone say which reference that is, and it may be any file.
        if _BY_SETTINGS.search(word.partition(":")[0]) and word not in paths:
            name = word.removesuffix("^{commit}")
            hint = "name the branch itself"
            raise TreeError(f"{name!r} is what the settings of {repository} make of it", hint=hint)
        refuse_odd_files(repository, asked(folder, word))
        if "@{" in word:
            refuse_odd_files(repository, logs(folder))


_OF_AN_ID = re.compile(rb"[0-9a-f]{40}")
_BY_SETTINGS = re.compile(r"@\{(?:u|upstream|push)\}", re.IGNORECASE)


def files_read(folder: GitFolder) -> Iterator[Path]:
    """Yield the files that git reads whatever it is asked, references, and packs, also of those that lend objects.

    Each has to be looked at before the next one is asked for: what a reference or a list names is read for that.
    """
    folders = tuple(dict.fromkeys(folder))
    for one in folders:
        yield from (one / name for name in _NAMED)
        yield from one.glob("sharedindex.*")
        for name in _ALL:
            yield from _below(one / name)
        yield from _references(folders, one)
    for other in _entries(folder.common / "worktrees"):
        yield from (other / name for name in _OF_A_WORKTREE)
        yield from _references(folders, other)
    own = folder.common / "objects"
    yield from _named_by_indexes(own)
    yield from _loose(own)
    for objects in alternates(own):
        yield from (objects / "info" / name for name in ("alternates", "commit-graph"))
        yield from _below(objects / "info" / "commit-graphs")
        yield from _below(objects / "pack")
        yield from _named_by_indexes(objects)
        yield from _loose(objects)


def files_tried(repository: Path) -> Iterator[Path]:
    """Yield the files that git reads to find out whether ``repository`` is one, or has one in ``.git``."""
    for folder in (repository / ".git", repository):
        yield from (folder / name for name in _TELLING)


def logs(folder: GitFolder) -> Iterator[Path]:
    """Yield the logs of references, which git reads for ``main@{1}``."""
    for one in dict.fromkeys(folder):
        yield from _below(one / "logs")


def _references(folders: Iterable[Path], one: Path) -> Iterator[Path]:
    """Yield the references below the folder ``one`` of a repository, and the files to which symbolic ones lead."""
    for file in (one / "HEAD", *_below(one / "refs")):
        yield file
        yield from symbolic(folders, file)


def _named_by_indexes(objects: Path) -> Iterator[Path]:
    yield from packs(objects / "pack" / _SEVERAL)
    for index in _entries(objects / "pack" / f"{_SEVERAL}.d"):
        yield from packs(index)


def _entries(folder: Path) -> Iterator[Path]:
    # Where it cannot be read, git will say what is the matter.
    with suppress(OSError), os.scandir(folder) as entries:
        yield from (Path(entry.path) for entry in entries)


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, and the links to folders, which git follows."""
    yield from (Path(entry.path) for entry in _all_below(folder) if not entry.is_dir(follow_symlinks=False))


def _all_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield what is below a folder. Raises TreeError where more folders are in each other than a tree may have."""
    try:
        # Of what cannot be listed git will say what is the matter.
        yield from below(folder, DEEPEST, unreadable=lambda _error: None)
    except OSError as error:
        hint = TOO_DEEP if error.errno == errno.ENAMETOOLONG else None
        raise TreeError(f"git cannot read {error.filename}: {error.strerror}", hint=hint) from error


def _loose(objects: Path) -> Iterator[Path]:
    """Yield what stands in the place of an object and is no plain file; to look at each of thousands takes too long."""
    for folder in objects.glob("[0-9a-f][0-9a-f]"):
        if folder.is_symlink():
            yield folder  # git would write where it leads
        with suppress(OSError), os.scandir(folder) as entries:
            yield from (Path(entry.path) for entry in entries if not entry.is_file(follow_symlinks=False))


def refuse_links(folder: GitFolder, ref: str) -> None:
    """Raise TreeError when a link, or something else than a file, stands where git writes ``ref``, a new one, or a log.

    git follows it: a line with the words of the clone's settings would end up in a file of its maker's choice. A file
    in the place of ``ref`` may name another reference, which git would write instead.
    """
    # The log of HEAD is written as well where HEAD leads to the new reference.
    for start, name in ((folder.common, ref), (folder.common, f"logs/{ref}"), *((one, "logs/HEAD") for one in folder)):
        path = start
        for part in name.split("/"):
            path /= part
            if path.is_symlink():
                raise TreeError(f"{path} is a link, and git would write where it leads")
        refuse_odd_files(folder.common, [path])
    if leads_to(folder.common / ref):
        raise TreeError(f"{folder.common / ref} is there, and names another reference, which git would write")


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a working folder that git reads to tell which files are ignored.

    Those are its .gitignore files, and what tells whether a folder is a repository of its own.
    """
    for entry in _all_below(folder):
        if entry.name == ".gitignore":
            yield Path(entry.path)
        elif entry.name == ".git":
            link = Path(entry.path)
            own = link.parent / _line(link).partition(": ")[2] if link.is_file() else link
            yield from (own / name for name in _TELLING)
