"""What a wheel may hold: nothing that is too much, leads elsewhere, or takes the place of another of its files.

An installer puts most of a wheel into site-packages as it stands, and what is below ``NAME.data`` elsewhere by the name
of the folder there (binary distribution format, "The .data directory"): ``purelib`` and ``platlib`` into site-packages
too, ``data`` into the prefix of the Python, that has site-packages below it. The files that come last stay.
"""

from __future__ import annotations

import re
import stat
import unicodedata
import zipfile
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from patchkit.core.kept_names import leads_into_state, plain
from patchkit.errors import ArchiveError, UnsafePathError
from patchkit.trees.paths import checked

_MOST_BYTES = 2**30
"""Of all members; the largest wheel of megatron-core unpacks to about 20 million bytes."""
_MOST_MEMBERS: Final = 100_000
"""Each takes a quarter of a millisecond to unpack, whatever is in it; megatron-core has some hundreds."""
_OF_PYTHON: Final = re.compile(
    r"(?:.*/)?(?:site-packages|dist-packages|lib[^/]*/(?:python|pypy)[\d.t]*)(?:/.*)?", re.DOTALL
)
"""Folders of packages below a prefix; ``lib/python`` itself is one where pip installs with ``--target``."""


def checked_members(label: str, entries: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the files among ``entries`` by path. No more is ever unpacked than the sizes that are looked at here.

    Raises ArchiveError, UnsafePathError, that begin with ``label``.
    """
    if len(entries) > _MOST_MEMBERS:
        raise ArchiveError(f"{label} has {len(entries)} members, more than the {_MOST_MEMBERS} that are read")
    size = sum(entry.file_size for entry in entries)
    if size > _MOST_BYTES:
        raise ArchiveError(f"{label} unpacks to {size} bytes, more than the {_MOST_BYTES} that are read")
    members: dict[str, zipfile.ZipInfo] = {}
    folders: set[str] = set()
    for entry in entries:
        # zipfile cuts a name at a NUL and, on some systems, turns its slashes; what the archive says is judged.
        try:
            path = checked(entry.orig_filename.removesuffix("/"))
        except UnsafePathError as error:
            raise UnsafePathError(f"{label}: {error.message}") from error
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise UnsafePathError(f"{label}: {path} is a link")
        if leads_into_state(path):
            # Unpacked or installed, it would be a journal of ours to undo, or a lock.
            raise UnsafePathError(f"{label}: {path} is where patchkit keeps its own files")
        if path in members or (entry.is_dir() and path in folders):
            raise ArchiveError(f"{label}: {path} is there twice")
        if entry.is_dir():
            folders.add(path)
        else:
            members[path] = entry
    for member in members:
        folders.update(_folders_above(member))
    for clash in folders & members.keys():
        raise ArchiveError(f"{label}: {clash} is a file and a folder")
    _refuse_one_for_two(label, members, folders)
    _refuse_over_others(label, members, folders)
    return members


def _refuse_one_for_two(label: str, members: Iterable[str], folders: Collection[str]) -> None:
    """Refuse names that some systems take for one: installed there, the one that comes last stays."""
    taken: dict[str, str] = {}
    for path in (*members, *sorted(folders)):
        # Two spellings of a folder are one, with the files of both.
        other = taken.setdefault(_plain_path(path), path)
        if other != path and not (other in folders and path in folders):
            raise ArchiveError(f"{label}: {path} and {other} are the same file to some systems")


def _refuse_over_others(label: str, members: Iterable[str], folders: Iterable[str]) -> None:
    """Refuse what an installer puts among the packages from elsewhere, over those that are read here or beside them."""
    tops = {plain(path.partition("/")[0]) for path in (*members, *folders)}
    for path in members:
        top, *below = _plain_path(path).split("/")
        if top.endswith(".data") and _lands_among_packages(below, tops):
            raise UnsafePathError(
                f"{label}: {path} is installed among the packages, where it may replace what is patched"
            )


def _lands_among_packages(below: list[str], tops: Collection[str]) -> bool:
    """Tell whether a file of a ``.data`` folder gets to the packages; ``tops`` are names at the top of the wheel."""
    scheme, *rest = below or [""]
    if scheme != "data" or not rest:
        return scheme in ("purelib", "platlib")
    # With --target the prefix is the folder of the packages itself.
    return rest[0] in tops or _OF_PYTHON.fullmatch("/".join(rest)) is not None


def _plain_path(path: str) -> str:
    plainly = "/".join(map(plain, path.split("/")))
    return plainly if plainly.isascii() else unicodedata.normalize("NFC", plainly)


def _folders_above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path
