"""A folder that is put back, after each fault, to what it was, and looked at as a value."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

State = Mapping[str, tuple[int, bytes] | str]
"""Mode and content of files, ``folder``, or where a link leads, by path below the folder."""
_Mark = tuple[int, int, int, int]

_BY_CHANCE = re.compile(
    r"\.patchkit-[0-9a-f]{8}|(?<=/removed/)[0-9a-f]{8}|(?<=tmp_obj_)\w{6}|(?<=journal\.tmp-)\d+|(?<=journal\.old-)\d+|(?<=\.open\.yaml\.)\w{8}"
)
"""What names of files have by chance."""
_TOKEN = re.compile(rb'(?<="token": ")[0-9a-f]{8}|^\d+\n$')
"""What journals and locks have by chance: a part of names, the number of a process."""


class World:
    """A folder as it was laid, and as it is."""

    def __init__(self, root: Path) -> None:
        """Take what is in ``root`` now for what it is to be."""
        self.root = root
        self._read: dict[str, tuple[_Mark, bytes]] = {}
        self._kept = self.look()
        self._times = {path: os.lstat(root / path).st_mtime_ns for path in self._kept}

    def lay(self) -> None:
        """Put everything back: what has not been touched since stays as it is."""
        now = self.look()
        for path in sorted(now.keys() - self._kept.keys(), reverse=True):
            place = self.root / path
            if now[path] == "folder":
                place.rmdir()
            else:
                place.unlink()
        for path, value in sorted(self._kept.items()):
            if now.get(path) != value:
                self._put(path, value)

    def _put(self, path: str, value: tuple[int, bytes] | str) -> None:
        place = self.root / path
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        if value == "folder":
            place.mkdir(parents=True)
        elif isinstance(value, str):
            place.symlink_to(value.removeprefix("link to "))
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(value[1])
            place.chmod(value[0])
            os.utime(place, ns=(self._times[path], self._times[path]))

    def look(self) -> dict[str, tuple[int, bytes] | str]:
        """Everything there is; files that nobody has touched since are not read again."""
        return dict(self._below(os.fspath(self.root), ""))

    def _below(self, folder: str, name: str) -> Iterator[tuple[str, tuple[int, bytes] | str]]:
        with os.scandir(folder) as found:
            for entry in sorted(found, key=lambda entry: entry.name):
                path = f"{name}{entry.name}"
                if entry.is_symlink():
                    yield path, f"link to {Path(entry.path).readlink()}"
                elif entry.is_dir():
                    yield path, "folder"
                    yield from self._below(entry.path, f"{path}/")
                else:
                    yield path, self._file(path, entry)

    def _file(self, path: str, entry: os.DirEntry[str]) -> tuple[int, bytes]:
        status = entry.stat(follow_symlinks=False)
        mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        kept = self._read.get(path)
        if kept is None or kept[0] != mark:
            kept = self._read[path] = (mark, Path(entry.path).read_bytes())
        return stat.S_IMODE(status.st_mode), kept[1]


def digest(state: State) -> bytes:
    """Tell states apart, whatever names of files that are by chance, and numbers of processes in locks."""
    parts = sorted(
        (_BY_CHANCE.sub("#", path), value if isinstance(value, str) else (value[0], _alike(path, value[1])))
        for path, value in state.items()
    )
    return sha256(repr(parts).encode()).digest()


def _alike(path: str, content: bytes) -> bytes:
    return _TOKEN.sub(b"#", content) if path.endswith(("/lock", "/journal.json")) else content
