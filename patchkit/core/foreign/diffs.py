"""Patches that other tools and people wrote, as they were read: what the text says, before it is held against a base.

A :class:`ForeignPatch` has a :class:`Message` for each mail of an mbox (one without a subject for a bare diff), a
message has a :class:`ForeignFile` for each file header, a file has a :class:`ForeignHunk` for each ``@@`` line.
"""

from __future__ import annotations

import msgspec

from patchkit.core.model import HunkLine, LineKind


class Repair(msgspec.Struct, frozen=True):
    """One thing that was wrong with the text of a foreign patch, and what was done about it."""

    rule: str
    """Name of the repair, such as ``stripped-blank``."""
    patch: str
    """Name of the foreign patch file."""
    line: int
    """1-based line in the patch file."""
    message: str
    path: str | None = None
    """File that is patched there."""
    hunk: int | None = None
    """1-based number of the hunk in that file."""


class ForeignHunk(msgspec.Struct, frozen=True):
    """One hunk, its header believed no more than its body."""

    line: int
    """1-based line of the ``@@`` header in the patch file."""
    section: str
    """Text after the second ``@@``."""
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[HunkLine, ...]
    """The body as far as it goes; carriage returns kept."""
    spare: int = 0
    """How many of the last lines are empty ones that may stand behind the hunk rather than in it."""

    @property
    def found(self) -> tuple[int, int]:
        """Lines that the body has on the old and on the new side."""
        old = sum(line.kind is not LineKind.ADDED for line in self.lines)
        new = sum(line.kind is not LineKind.REMOVED for line in self.lines)
        return old, new

    @property
    def counts_agree(self) -> bool:
        """Tell whether the header's counts are those of the body."""
        return self.found == (self.old_count, self.new_count)


class ForeignFile(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the text says about one file."""

    line: int
    """1-based line of the first header line."""
    old_path: str | None
    """Path as written, ``a/`` included; None for /dev/null."""
    new_path: str | None
    """As ``old_path``, with ``b/``."""
    git: bool
    """Whether there is a ``diff --git`` line, so that the paths have a prefix and renames are meant."""
    old_id: str | None = None
    """Blob id of the old side, from the ``index`` line; usually abbreviated, None when there is no such line."""
    new_id: str | None = None
    modes: tuple[str, ...] = ()
    """What the patch does to the file's mode, in git's words, such as ``new mode 100755``."""
    renamed: bool = False
    copied: bool = False
    hunks: tuple[ForeignHunk, ...] = ()


class Message(msgspec.Struct, frozen=True):
    """One patch of a foreign file: a mail, or all of a bare diff."""

    patch: str
    """Name of the foreign patch file."""
    line: int
    """1-based line at which it begins."""
    subject: str = ""
    """Without ``[PATCH n/m]``."""
    author: str = ""
    date: str = ""
    """Day of the author's date, YYYY-MM-DD in the author's own time zone; empty when there is none."""
    body: str = ""
    """The commit message below the subject."""
    commit: str = ""
    """The commit that git format-patch made the mail of; empty when it does not say."""
    files: tuple[ForeignFile, ...] = ()


class ForeignPatch(msgspec.Struct, frozen=True):
    """A foreign patch file, read."""

    name: str
    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...]
