"""The list of a write that survives a kill, held against what a rebase of the series could have written.

The folder of a series comes from anywhere; what is in it must not lead to the files of whoever has it now. All of a
list is looked at before the first file is written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from patchkit.core.paths import shown
from patchkit.core.series import Document
from patchkit.errors import StoreError
from patchkit.reading import kind_of
from patchkit.store.files import refuse_link, refuse_links_towards
from patchkit.store.location import VERSIONS, versions_file
from patchkit.store.written_files import why_not_written

SCHEMA = 2
LIST = "list.yaml"
_ABOVE = f"../../{VERSIONS}"


class PendingList(Document, frozen=True):
    """What is to be written."""

    schema: Annotated[int, Meta(ge=1, le=SCHEMA)]
    files: tuple[str, ...]
    """Paths from the series' folder, the one that is above it ``../../upstream_versions.yaml``; the content of the n-th
    is in the file called n. Of schema 1 they are absolute."""
    removed: tuple[str, ...]


def list_of(series: Path, files: Iterable[Path], removed: Iterable[Path]) -> PendingList:
    """Return the list of a write of the series."""
    home = series.resolve()
    return PendingList(SCHEMA, tuple(_told(home, path) for path in files), tuple(_told(home, path) for path in removed))


def _told(home: Path, path: Path) -> str:
    # A file itself is left as it was named: a link in its place is refused.
    real = path.parent.resolve() / path.name
    return real.relative_to(home).as_posix() if real.is_relative_to(home) else os.path.relpath(real, home)


class Checked:
    """A list that names, each once, files that a rebase of the series writes or removes."""

    def __init__(self, series: Path, file: Path, listed: PendingList, text: bytes = b"") -> None:
        """``text`` is that of ``file``, where there is one already.

        Raises StoreError for a file that is not a rebase's to write, or to remove, and for one that cannot be; and
        UsageError for a link.
        """
        self._home = series.resolve()
        self._file = file
        self._text = text
        self._keys: dict[Path, tuple[str, int]] = {}
        self.paths = self._all("files", listed.files)
        self.removed = self._all("removed", listed.removed)

    def _all(self, key: str, paths: tuple[str, ...]) -> tuple[Path, ...]:
        return tuple(self._one((key, number), path) for number, path in enumerate(paths))

    def _one(self, key: tuple[str, int], path: str) -> Path:
        above = self._home.parent.parent / VERSIONS
        if key[0] == "files" and path in (_ABOVE, str(above)) and versions_file(self._home) == above:
            refuse_link(above)
            place = above
        else:
            start = f"{self._home}/"
            inside = path[len(start) :] if path.startswith(start) else path
            reason = why_not_written(self._home, inside, removed=key[0] == "removed")
            if reason:
                raise self._error(key, path, reason)
            refuse_links_towards(self._home, inside)
            place = self._home / inside
            reason = self._in_the_way(place)
            if reason:
                raise self._error(key, path, reason)
        if place in self._keys:
            raise self._error(key, path, "the list has it twice")
        self._keys[place] = key
        return place

    def _in_the_way(self, place: Path) -> str | None:
        """Return what else than a file is where one is to be written or removed."""
        depth = len(place.parts) - len(self._home.parts) - 1
        for folder in reversed(place.parents[:depth]):
            if os.path.lexists(folder) and not folder.is_dir():
                return f"{folder.relative_to(self._home).as_posix()} above it is no folder"
        with suppress(FileNotFoundError):
            mode = place.lstat().st_mode
            if not stat.S_ISREG(mode):
                return f"{kind_of(mode)} is in its place"
        return None

    def _error(self, key: tuple[str, int], path: str, reason: str) -> StoreError:
        from patchkit.store.yaml_text import line_of  # noqa: PLC0415 - only errors need it

        line = line_of(self._text, [*key]) if self._text else None
        where = f"{key[0]}[{key[1]}]"
        return StoreError(
            str(self._file),
            f"{where} (line {line})" if line else where,
            f"{shown(path)} is no file that a rebase of this series writes: {reason}",
            hint=f"remove {self._file.parent}: it was not made here, or the series was moved in the middle of a write",
        )
