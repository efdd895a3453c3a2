"""The objects of a repository, read one by one from one git process.

No more than the answers of git-cat-file(1) to `--batch`, with a limit for everything: how long an answer takes, how
large an object is, and how much a revision lists. An object that is not what its id says is none: git itself believes a
file in the place of an object as long as its length is right.

A library would read the settings of a stranger's clone by itself, with no limit, in its own way.
"""

from __future__ import annotations

import hashlib
import os
import selectors
import subprocess
import time
import weakref
from collections.abc import Iterator, Mapping
from typing import Final

from patchkit.errors import TreeError
from patchkit.reading import LARGEST
from patchkit.trees.git_program import GitProgram

_COMMAND: Final = ("cat-file", "--batch")
_LARGEST_FOLDER: Final = 16 << 20
"""Bytes of the object of one folder: four hundred thousand entries."""
_MOST: Final = 500_000
"""Entries below one folder: a hundred times those of Megatron-LM. A few folders that hold each other can have any
number of them."""
_LONGEST_PATHS: Final = 128 << 20
"""Characters of the paths of all of them together."""
_AT_ONCE: Final = 1 << 20
_DIGESTS: Final = {40: hashlib.sha1, 64: hashlib.sha256}
"""By the length of an id in hexadecimal digits (gitformat-hash-function-transition)."""
FOLDER: Final = 0o040000
"""Mode of an entry that is a folder."""


class AnotherObjectError(ValueError):
    """There is an object, and it is not the one that was asked for."""


class GitObjects:
    """Reads objects of a repository; git is begun for the first of them. For one thread alone."""

    def __init__(self, program: GitProgram) -> None:
        self.program = program
        self._folders: dict[str, Mapping[str, tuple[int, str]]] = {}
        self._talk: _Talk | None = None

    def forget(self) -> None:
        """End the process, which may be in the middle of an answer; the next question begins another one."""
        if self._talk is not None:
            self._talk.end()
            self._talk = None

    def blob(self, object_id: str) -> bytes:
        """Return the content of a file.

        Raises AnotherObjectError, ValueError or OSError when git has none to give, TimeoutError when it gives no
        answer, and TreeError for more than ``LARGEST`` bytes.
        """
        return self._read(object_id, b"blob", LARGEST)[1]

    def folder(self, name: str) -> Mapping[str, tuple[int, str]]:
        """Return mode and object id of what is in a folder, by name; read once for all revisions that have it so.

        Raises what ``blob`` does.
        """
        if name not in self._folders:
            object_id, content = self._read(name, b"tree", _LARGEST_FOLDER)
            found = [*listed(content, len(object_id) // 2)]
            entries = dict(found)
            if len(entries) != len(found):
                raise AnotherObjectError("it is a folder that has a name twice")
            self._folders[name] = entries
        return self._folders[name]

    def below(self, name: str, under: str) -> Iterator[tuple[str, int, str]]:
        """Yield path, mode and object id of all that is below the folder ``name`` and is no folder, in git's order.

        ``under`` is the path of that folder, with a slash at its end, or nothing. Raises what ``blob`` does, and
        TreeError for more than 500,000 entries.
        """
        count = characters = 0
        pending = [(under, iter(self.folder(name).items()))]
        while pending:
            where, entries = pending[-1]
            for entry, (mode, object_id) in entries:
                path = f"{where}{entry}"
                count += 1
                characters += len(path)
                if count > _MOST or characters > _LONGEST_PATHS:
                    raise TreeError(f"a revision of {self.program.repository} lists more than {_MOST:,} files")
                if mode == FOLDER:
                    pending.append((f"{path}/", iter(self.folder(object_id).items())))
                    break
                yield path, mode, object_id
            else:
                pending.pop()

    def _read(self, name: str, kind: bytes, largest: int) -> tuple[str, bytes]:
        """Return the id of an object and its content."""
        if self._talk is None:
            self._talk = _Talk(self.program)
        about = self._talk.about(name)
        if len(about) != 3 or not about[2].isdigit():
            raise ValueError(b" ".join(about).decode("utf-8", "replace"))
        object_id, found, size = about[0].decode("ascii", "replace"), about[1], int(about[2])
        if size > largest:
            # What it says of its size is not believed, nor waited for.
            self.forget()
            raise TreeError(f"object {name} of {self.program.repository} is larger than {largest >> 20} MiB")
        content = self._talk.content(size)
        if found != kind:
            raise AnotherObjectError(f"it is a {found.decode('ascii', 'replace')}, not a {kind.decode()}")
        digest = _DIGESTS.get(len(object_id))
        if digest is None or digest(b"%b %d\0" % (found, size) + content).hexdigest() != object_id:
            raise AnotherObjectError("its content is not the one that its id stands for")
        return object_id, content


class _Talk:
    """One process that is asked for objects, each with its own limit of time."""

    def __init__(self, program: GitProgram) -> None:
        process = program.begin(_COMMAND)
        self._seconds = program.patience
        self._rest = b""
        assert process.stdin is not None  # noqa: S101 - for mypy
        assert process.stdout is not None  # noqa: S101 - for mypy
        self._in, self._out = process.stdin, process.stdout
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._out, selectors.EVENT_READ)
        # Whoever drops the objects leaves no process behind. In a process that was forked meanwhile it kills nothing:
        # subprocess finds that it is not the child of that one.
        self.end = weakref.finalize(self, _end, process, self._ready)

    def about(self, name: str) -> list[bytes]:
        """Ask for an object, and return the words of the line that is in front of its content."""
        if "\n" in name:
            raise ValueError("a name with a line break is no name of an object")
        self._in.write(os.fsencode(name) + b"\n")
        self._in.flush()
        while b"\n" not in self._rest:
            self._rest += self._more()
        line, _, self._rest = self._rest.partition(b"\n")
        return line.split()

    def content(self, size: int) -> bytes:
        """Return the content of the object that was asked for."""
        parts, left = [self._rest], size + 1 - len(self._rest)
        self._rest = b""
        while left > 0:
            parts.append(self._more())
            left -= len(parts[-1])
        # A line break is behind it, and nothing until the next question.
        return b"".join(parts)[:size]

    def _more(self) -> bytes:
        """Return what git has printed meanwhile, waiting for some of it."""
        deadline = time.monotonic() + self._seconds
        while not self._ready.select(max(0.0, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                raise TimeoutError(f"git gave no answer for {self._seconds:g} seconds")
        more = os.read(self._out.fileno(), _AT_ONCE)
        if not more:
            raise ValueError("git ended before its answer did")
        return more


def _end(process: subprocess.Popen[bytes], ready: selectors.BaseSelector) -> None:
    ready.close()
    process.kill()
    for end in (process.stdin, process.stdout):
        if end is not None:
            try:
                end.close()
            except OSError:
                continue  # it died with something unread
    process.wait()


def listed(content: bytes, width: int) -> Iterator[tuple[str, tuple[int, str]]]:
    """Yield the entries of a tree object; ``width`` is the length of an object id in bytes. Raises ValueError."""
    at = 0
    while at < len(content):
        space, end = content.index(b" ", at), content.index(b"\0", at)
        yield (
            os.fsdecode(content[space + 1 : end]),
            (int(content[at:space], 8), content[end + 1 : end + 1 + width].hex()),
        )
        at = end + 1 + width
