"""Patches as values.

A :class:`Patch` is a sequence of :class:`FilePatch`, a file patch is a sequence of :class:`Hunk`, a hunk is a sequence
of :class:`HunkLine`. Line numbers are 1-based, as in the ``@@`` header.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class LineKind(Enum):
    """What a line of a hunk does; the value is its mark in a unified diff."""

    CONTEXT = " "
    REMOVED = "-"
    ADDED = "+"


class HunkLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a hunk; there are millions of them, and none holds another value that could hold it."""

    kind: LineKind
    text: bytes
    """Content with its ending; without one when the file ends here without a newline."""


class Hunk(msgspec.Struct, frozen=True):
    """A run of neighbouring lines that change together."""

    id: str
    """The text after the second ``@@``: in our variants the name of the hunk, empty in foreign diffs."""
    old_start: int
    """1-based first line in the old file; 0 when the old side is empty and the file new."""
    new_start: int
    """1-based first line in the new file; 0 when the new side is empty and the file removed."""
    lines: tuple[HunkLine, ...]

    @property
    def old_lines(self) -> list[bytes]:
        """Lines of the old side, in order."""
        return [line.text for line in self.lines if line.kind is not LineKind.ADDED]

    @property
    def new_lines(self) -> list[bytes]:
        """Lines of the new side, in order."""
        return [line.text for line in self.lines if line.kind is not LineKind.REMOVED]

    @property
    def only_adds(self) -> bool:
        """Whether the old side has no lines."""
        return all(line.kind is LineKind.ADDED for line in self.lines)

    @property
    def touched(self) -> list[tuple[int, int]]:
        """Where the old side changes, as offsets into ``old_lines``.

        ``(i, i + 1)`` is the removed line ``i``; ``(i, i)`` is an insertion before line ``i``.
        """
        spots: list[tuple[int, int]] = []
        offset = 0
        for line in self.lines:
            if line.kind is LineKind.ADDED:
                if not spots or spots[-1] != (offset, offset):
                    spots.append((offset, offset))
            else:
                if line.kind is LineKind.REMOVED:
                    spots.append((offset, offset + 1))
                offset += 1
        return spots

    def reversed(self) -> Hunk:
        """Return the hunk that undoes this one."""
        swap = {LineKind.ADDED: LineKind.REMOVED, LineKind.REMOVED: LineKind.ADDED}
        return msgspec.structs.replace(
            self,
            old_start=self.new_start,
            new_start=self.old_start,
            lines=tuple(HunkLine(swap.get(line.kind, line.kind), line.text) for line in self.lines),
        )


class FilePatch(msgspec.Struct, frozen=True):
    """All hunks for one file."""

    old_path: str | None
    """Path in the old tree without the ``a/`` prefix; None when the patch creates the file."""
    new_path: str | None
    """Path in the new tree without the ``b/`` prefix; None when the patch removes the file."""
    hunks: tuple[Hunk, ...]

    @property
    def path(self) -> str:
        """The path by which the file is known: the new one, or the old one when the file is removed."""
        path = self.new_path or self.old_path
        assert path is not None  # noqa: S101 - the parser never builds a file patch without any path
        return path

    def reversed(self) -> FilePatch:
        """Return the file patch that undoes this one."""
        return FilePatch(self.new_path, self.old_path, tuple(hunk.reversed() for hunk in self.hunks))


class Patch(msgspec.Struct, frozen=True):
    """All file patches of one diff, in the order of the text."""

    files: tuple[FilePatch, ...]
    preamble: bytes = b""
    """Lines before the first file, kept as they are."""

    def file(self, path: str) -> FilePatch | None:
        """Return the file patch for ``path``, or None."""
        return next((file for file in self.files if file.path == path), None)
