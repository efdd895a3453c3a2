"""The way of one file's text through the patches of a series, and edits of what comes out.

Each patch finds the text ``before`` and leaves the text ``after``: a :class:`Layer`. The ``after`` of the last one is
what a person then edited. All positions are 0-based, ends are exclusive.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from patchkit.core.difference import difference
from patchkit.core.model import FilePatch, HunkLine, LineKind


class Edit(msgspec.Struct, frozen=True):
    """A run of lines of one text and what stands there now."""

    start: int
    end: int
    lines: tuple[bytes, ...]

    @property
    def growth(self) -> int:
        """Lines that the text gains."""
        return len(self.lines) - (self.end - self.start)

    def moved(self, by: int) -> Edit:
        """Return the same edit of a text in which its lines stand ``by`` lines further down."""
        return Edit(self.start + by, self.end + by, self.lines)


class Run(msgspec.Struct, frozen=True):
    """Lines that one hunk changes: those it removes, and those it puts there. Either may be empty."""

    hunk: str
    old: tuple[int, int]
    new: tuple[int, int]

    def overlaps(self, edit: Edit) -> bool:
        """Tell whether an edit of the new text changes lines of this run, or stands inside it."""
        start, end = self.new
        return (edit.start < end and edit.end > start) or edit.start < start == end < edit.end

    def is_below(self, edit: Edit) -> bool:
        """Tell whether an edit adds lines just above lines that were added here."""
        return edit.start == edit.end == self.new[0] < self.new[1] and self.old[0] == self.old[1]

    def meets(self, edit: Edit) -> bool:
        """Tell whether an edit overlaps this run, or adds lines directly at it."""
        start, end = self.new
        if self.overlaps(edit):
            return True
        if edit.start == edit.end:
            return start <= edit.start <= end
        return start == end and edit.start <= start <= edit.end


class Window(msgspec.Struct, frozen=True):
    """All lines of one hunk, context included, in the text before and after."""

    hunk: str
    old: tuple[int, int]
    new: tuple[int, int]


class Layer(msgspec.Struct, frozen=True):
    """One patch at one file."""

    patch: str
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    windows: tuple[Window, ...]
    runs: tuple[Run, ...]

    def lowered(self, edit: Edit) -> Edit | None:
        """Return an edit of ``after`` as one of ``before``; None when it changes what this patch put there.

        None also where the way back up would not be the same one: lines added just above an insertion stand below it
        once the insertion is gone, and nothing can follow a last line without a newline.
        """
        lower = self.position(edit)
        if lower is None or any(run.is_below(edit) for run in self.runs) or _breaks_lines(self.before, lower):
            return None
        return lower

    def position(self, edit: Edit) -> Edit | None:
        """Return an edit of ``after`` at the lines of ``before`` where it would stand, whether or not it can be.

        None when it changes what this patch put there.
        """
        if any(run.overlaps(edit) for run in self.runs):
            return None
        by = sum((run.old[1] - run.old[0]) - (run.new[1] - run.new[0]) for run in self.runs if run.new[1] <= edit.start)
        return edit.moved(by)


def _breaks_lines(text: Sequence[bytes], edit: Edit) -> bool:
    """Tell whether an edit would put something behind a line that has no newline."""
    if edit.lines and 0 < edit.start <= len(text) and not text[edit.start - 1].endswith(b"\n"):
        return True
    return bool(edit.lines) and edit.end < len(text) and not edit.lines[-1].endswith(b"\n")


def edits(expected: Sequence[bytes], found: Sequence[bytes]) -> list[Edit]:
    """Return the runs of lines in which two texts differ."""
    patch = difference(b"".join(expected), b"".join(found), "")
    spots: list[Edit] = []
    for hunk in patch.hunks if patch else ():
        at = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        start: int | None = None
        added: list[bytes] = []
        for line in (*hunk.lines, HunkLine(LineKind.CONTEXT, b"")):
            if line.kind is LineKind.CONTEXT:
                if start is not None:
                    spots.append(Edit(start, at, tuple(added)))
                start, added = None, []
                at += 1
                continue
            start = at if start is None else start
            if line.kind is LineKind.ADDED:
                added.append(line.text)
            else:
                at += 1
    return spots


def layer(patch: str, file: FilePatch, places: Sequence[int], before: Sequence[bytes], after: Sequence[bytes]) -> Layer:
    """Return the layer of a file patch whose hunks were placed at the 0-based lines ``places`` of ``before``."""
    windows: list[Window] = []
    runs: list[Run] = []
    growth = 0
    for hunk, place in zip(file.hunks, places, strict=True):
        old, new = place, place + growth
        windows.append(Window(hunk.id, (old, old + len(hunk.old_lines)), (new, new + len(hunk.new_lines))))
        start: tuple[int, int] | None = None
        for line in (*hunk.lines, HunkLine(LineKind.CONTEXT, b"")):
            if line.kind is LineKind.CONTEXT:
                if start is not None:
                    runs.append(Run(hunk.id, (start[0], old), (start[1], new)))
                start = None
            elif start is None:
                start = old, new
            old += line.kind is not LineKind.ADDED
            new += line.kind is not LineKind.REMOVED
        growth += len(hunk.new_lines) - len(hunk.old_lines)
    return Layer(patch, tuple(before), tuple(after), tuple(windows), tuple(runs))


def edited(lines: Sequence[bytes], changes: Sequence[Edit]) -> list[bytes]:
    """Return a text with edits applied; they do not overlap."""
    kept: list[bytes] = []
    at = 0
    for change in sorted(changes, key=lambda change: (change.start, change.end)):
        kept.extend(lines[at : change.start])
        kept.extend(change.lines)
        at = change.end
    return [*kept, *lines[at:]]


def raised_through(old: Layer, edit: Edit) -> Edit:
    """Return an edit of ``before`` that touches nothing this patch changes as one of ``after``."""
    by = sum((run.new[1] - run.new[0]) - (run.old[1] - run.old[0]) for run in old.runs if run.old[1] <= edit.start)
    return edit.moved(by)
