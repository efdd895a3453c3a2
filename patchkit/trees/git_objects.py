"""The objects of a repository, read from one git process.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_TOGETHER: Final = 50
"""Objects that are asked for before their answers are read. As many ids fit into any pipe: git may be waiting for its
answers to be read, and reads no question meanwhile."""
_DIGESTS: Final = {40: hashlib.sha1, 64: hashlib.sha256}
"""By the length of an id in hexadecimal digits (gitformat-hash-function-transition)."""
FOLDER: Final = 0o040000
"""Mode of an entry that is a folder."""
Folder = Mapping[str, tuple[int, str]]
"""Mode and object id of what is in a folder, by name."""


class AnotherObjectError(ValueError):
    """There is an object, and it is not the one that was asked for."""


class TooLargeError(ValueError):
    """There is an object, and it is larger than any that is read."""


class ObjectError(ValueError):
    """An object cannot be had: git has none, gives no answer, or one that is not what was asked for."""

    def __init__(self, name: str, why: Exception) -> None:
        super().__init__(str(why))
        self.name = name
        """What was asked for."""
        self.too_large = isinstance(why, TooLargeError)
        self.another = isinstance(why, AnotherObjectError)
        """Whether what is in its place is not what its id says."""
        self.missing = not isinstance(why, AnotherObjectError | TooLargeError | TimeoutError)
        """Whether git has none, and may say why when it is asked once more."""


class GitObjects:
    """Reads objects of a repository; git is begun for the first of them. For one thread alone."""

    def __init__(self, program: GitProgram) -> None:
        self.program = program
        self._folders: dict[str, Folder] = {}
        self._talk: _Talk | None = None

    def forget(self) -> None:
        """End the process, which may be in the middle of an answer; the next question begins another one."""
        if self._talk is not None:
            self._talk.end()
            self._talk = None

    def blob(self, object_id: str) -> bytes:
        """Return the content of a file. Raises ObjectError, also for one of more than ``LARGEST`` bytes."""
        return self.blobs([object_id])[0]

    def blobs(self, object_ids: Sequence[str], room: int | None = None) -> list[bytes]:
        """Return the content of files, in their order; with ``room``, of the first that have as many bytes together.

        Of one there is always the content. Raises ObjectError, also for one of more than ``LARGEST`` bytes.
        """
        return [content for _id, content in self._read(object_ids, b"blob", LARGEST, room)]

    def commit(self, object_id: str) -> bytes:
        """Return a commit as git keeps it. Raises ObjectError."""
        return self._read([object_id], b"commit", LARGEST)[0][1]

    def folder(self, name: str) -> Folder:
        """Return mode and object id of what is in a folder, by name. Raises ObjectError."""
        return self.folders([name])[name]

    def folders(self, names: Iterable[str]) -> Mapping[str, Folder]:
        """Return what is in folders, as ``folder`` does, by what they were asked for.

        Each is read once for all revisions that have it so. Raises ObjectError.
        """
        wanted = list(dict.fromkeys(names))
        new = [name for name in wanted if name not in self._folders]
        for name, (object_id, content) in zip(new, self._read(new, b"tree", _LARGEST_FOLDER), strict=True):
            try:
                found = [*listed(content, len(object_id) // 2)]
                entries = dict(found)
                if len(entries) != len(found):
                    raise AnotherObjectError("it is a folder that has a name twice")
            except ValueError as error:
                raise ObjectError(name, error) from error
            self._folders[name] = entries
        return {name: self._folders[name] for name in wanted}

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

    def _read(
        self, names: Sequence[str], kind: bytes, largest: int, room: int | None = None
    ) -> list[tuple[str, bytes]]:
        """Return id and content of objects, as many as ``blobs`` has it."""
        found: list[tuple[str, bytes]] = []
        for start in range(0, len(names), _TOGETHER):
            together = names[start : start + _TOGETHER]
            try:
                if self._talk is None:
                    self._talk = _Talk(self.program)
                self._talk.ask(together)
                for _name in together:
                    object_id, of_kind, size = self._talk.about()
                    if size > largest:
                        raise TooLargeError(f"it is larger than {largest >> 20} MiB")
                    if room is not None:
                        room -= size
                        if room < 0 and found:
                            # Nobody waits for the other answers.
                            self.forget()
                            return found
                    content = self._talk.content(size)
                    if of_kind != kind:
                        raise AnotherObjectError(f"it is a {of_kind.decode('ascii', 'replace')}, not a {kind.decode()}")
                    _hold(object_id, of_kind, content)
                    found.append((object_id, content))
            except (ValueError, OSError) as error:
                # What it says of its size is not believed, nor waited for; nor is the rest of its answers.
                self.forget()
                raise ObjectError(names[len(found)], error) from error
        return found


def _hold(object_id: str, kind: bytes, content: bytes) -> None:
    """Raise AnotherObjectError when an object is not what its id says."""
    algorithm = _DIGESTS.get(len(object_id))
    if algorithm is not None:
        digest = algorithm(b"%b %d\0" % (kind, len(content)))
        digest.update(content)
        if digest.hexdigest() == object_id:
            return
    raise AnotherObjectError("its content is not the one that its id stands for")


class _Talk:
    """One process that is asked for objects, each with its own limit of time."""

    def __init__(self, program: GitProgram) -> None:
        process = program.begin(_COMMAND)
        self._seconds = program.patience
        self._rest, self._at = b"", 0
        assert process.stdin is not None  # noqa: S101 - for mypy
        assert process.stdout is not None  # noqa: S101 - for mypy
        self._in, self._out = process.stdin, process.stdout
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._out, selectors.EVENT_READ)
        # Whoever drops the objects leaves no process behind. In a process that was forked meanwhile it kills nothing:
        # subprocess finds that it is not the child of that one.
        self.end = weakref.finalize(self, _end, process, self._ready)

    def ask(self, names: Iterable[str]) -> None:
        """Ask for objects. Their answers come in the same order, each to be read whole before the next one."""
        lines = [os.fsencode(name) for name in names]
        if any(b"\n" in line for line in lines):
            raise ValueError("a name with a line break is no name of an object")
        self._in.write(b"".join(b"%b\n" % line for line in lines))
        self._in.flush()

    def about(self) -> tuple[str, bytes, int]:
        """Return id, kind and size of the next object. Raises ValueError with git's words when there is none."""
        while (end := self._rest.find(b"\n", self._at)) < 0:
            self._rest = self._rest[self._at :] + self._more()
            self._at = 0
        words = self._rest[self._at : end].split()
        self._at = end + 1
        if len(words) != 3 or not words[2].isdigit():
            raise ValueError(b" ".join(words).decode("utf-8", "replace"))
        return words[0].decode("ascii", "replace"), words[1], int(words[2])

    def content(self, size: int) -> bytes:
        """Return the content of that object."""
        content = self._rest[self._at : self._at + size]
        self._at += size + 1
        if self._at <= len(self._rest):
            return content
        parts, left = [content], self._at - len(self._rest)
        while left > 0:
            parts.append(self._more())
            left -= len(parts[-1])
        # A line break is behind it, and then comes the next answer.
        last = parts[-1]
        self._rest, self._at = last, len(last) + left
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
