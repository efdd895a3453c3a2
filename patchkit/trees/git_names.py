"""Files that git opens because something names them: symbolic references, revisions, alternates, an index of packs.

The name of a reference is a path below the folder of the repository, and below the common one. So any file there can be
opened, whatever it is for: ``ref: pipe`` is enough, and the ``main`` of a question is looked for as ``.git/main`` first
(gitrevisions(7)).
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from patchkit.core.quoting import unquoted
from patchkit.errors import TreeError
from patchkit.reading import read_regular

_MOST_ALTERNATES = 5
"""Repositories behind each other whose objects are borrowed: git itself follows no more."""
_LARGEST_LIST = 1 << 20
"""Bytes of a list of them: some ten thousand repositories."""
_MOST_SYMBOLIC = 5
"""References behind each other; as git has it (SYMREF_MAXDEPTH)."""
_ENTRY = re.compile(rb'"[^"\\]*(?:\\(?:[abfnrtv"\\]|[0-3][0-7]{2})[^"\\]*)*"')
"""A path in quotes in a list of alternates; it may go over a line break (quote.c, unquote_c_style)."""
_BETWEEN = re.compile(r"\.{2,}")
_SUFFIX = re.compile(r"[~^:]|@\{")
"""What ends the name of a reference within a revision."""
_OF_A_PACK = (".idx", ".pack", ".rev", ".mtimes", ".bitmap")
_LARGEST_OFFSET = (1 << 63) - 1
_LARGEST_NAMES = 64 << 20
"""Bytes of the names of packs: a million of them."""
_SYMBOLIC = b"ref:"
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE)


def symbolic(folders: Iterable[Path], file: Path) -> Iterator[Path]:
    """Yield where git looks for what the reference in ``file`` leads to, one after the other.

    Each is to be looked at before the next one is asked for: it is read for that. What is below ``refs`` is left out,
    of which all is looked at anyway.
    """
    folders = tuple(folders)
    # By depth, so that no way to a file that is too long hides a shorter one.
    waiting = deque([(file, 0)])
    seen: set[str] = set()
    while waiting:
        place, depth = waiting.popleft()
        name = leads_to(place)
        if name and name not in seen and depth < _MOST_SYMBOLIC and not name.startswith("refs/"):
            seen.add(name)
            for found in places(folders, name):
                yield found
                waiting.append((found, depth + 1))


def asked(folders: Iterable[Path], revision: str) -> Iterator[Path]:
    """Yield the files that git may open for a revision, each to be looked at before the next one is asked for.

    Those below ``refs`` are left out. Of what ``main@{1}`` is made of, the log, nothing is known here.
    """
    folders = tuple(folders)
    for side in _BETWEEN.split(revision):
        name = _SUFFIX.split(side.removeprefix("^"), maxsplit=1)[0]
        # Of an id git is told not to look for a reference of that name (core.warnAmbiguousRefs).
        if name and not _ID.fullmatch(name):
            for found in places(folders, name):
                yield found
                yield from symbolic(folders, found)


def places(folders: Iterable[Path], name: str) -> Iterator[Path]:
    """Yield the files that the reference ``name`` may be, by folder of a repository (git-worktree(1) has more)."""
    # git takes no such name, and a path that leads upwards is none of the repository's.
    if "\0" in name or name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
        return
    for folder in folders:
        yield folder / name
        if name.startswith("main-worktree/"):
            yield folder / name.removeprefix("main-worktree/")


def leads_to(file: Path) -> str:
    """Return the name to which a symbolic reference leads, as git reads it; empty where it is none."""
    try:
        # Nearly all of many thousands are an id.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if os.read(descriptor, len(_SYMBOLIC)) != _SYMBOLIC:
                return ""
        finally:
            os.close(descriptor)
        content = read_regular(file)
    except OSError:
        return ""
    return os.fsdecode(content[len(_SYMBOLIC) :].split(b"\0", 1)[0].strip())


def alternates(objects: Path) -> Iterator[Path]:
    """Yield the folders of objects that ``objects`` borrows from, and those that these do.

    Raises TreeError for a list of more than 1 MiB.
    """
    waiting = deque([(objects, 0)])
    seen = {Path(os.path.realpath(objects))}
    while waiting:
        borrower, depth = waiting.popleft()
        try:
            text = read_regular(borrower / "info" / "alternates", _LARGEST_LIST)
        except OSError as error:
            if error.errno == errno.EFBIG:
                raise TreeError(f"{error.filename} is larger than {_LARGEST_LIST >> 20} MiB") from error
            continue
        for name in entries(text):
            # However it is written: lists that name each other in many ways would be read for ever.
            lender = Path(os.path.realpath(borrower / name))
            # git passes over what is no folder, such as a name that is too long for one.
            if lender not in seen and os.path.isdir(lender):  # noqa: PTH112 - Path.is_dir raises for such a name
                seen.add(lender)
                yield lender
                if depth < _MOST_ALTERNATES:
                    waiting.append((lender, depth + 1))


def entries(text: bytes) -> Iterator[str]:
    """Yield the paths in a list of alternates as git reads it (odb.c, parse_alternates): each in a line, or in quotes.

    What follows the quotes in the same line is another one, but for one character.
    """
    text = text.split(b"\0", 1)[0]
    at = 0
    while at < len(text):
        quoted = _ENTRY.match(text, at)
        end = text.find(b"\n", at)
        end = quoted.end() if quoted else len(text) if end < 0 else end
        if quoted:
            # To C, a name ends with the first NUL.
            name = unquoted(quoted[0]).split("\0", 1)[0]
        else:
            name = "" if text.startswith(b"#", at) else os.fsdecode(text[at:end])
        if name:
            yield name
        at = end + 1


def packs(index: Path) -> Iterator[Path]:
    """Yield the files of the packs that an index of several names (gitformat-pack(5)) and that are not beside it.

    git makes a path of each name, and no name with a slash is any of its own.
    """
    try:
        with index.open("rb") as file:
            start = file.read(12)
            table = file.read(12 * (start[6] + 1)) if start.startswith(b"MIDX") and len(start) == 12 else b""
            chunks = [struct.unpack(">4sQ", table[at : at + 12]) for at in range(0, len(table) - 11, 12)]
            for (name, begin), (_next, end) in itertools.pairwise(chunks):
                if name == b"PNAM":
                    file.seek(min(begin, _LARGEST_OFFSET))
                    names = file.read(min(max(end - begin, 0), _LARGEST_NAMES)).split(b"\0")
                    yield from _packs_elsewhere(index.parent, names)
    except OSError:
        return  # git will say what is the matter


def _packs_elsewhere(folder: Path, names: Iterable[bytes]) -> Iterator[Path]:
    for name in map(os.fsdecode, names):
        if "/" in name and name.endswith(".idx"):
            yield from (folder / f"{name[:-4]}{suffix}" for suffix in _OF_A_PACK)
