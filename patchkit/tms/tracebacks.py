"""Which exceptions of a log have some frame above them, line by line backwards, among the lines of their writer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from patchkit.tms.log_lines import AROUND
from patchkit.tms.log_writers import rank_of, without_terminal

_TIME = re.compile(r"\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[\d.,:Z+-]*\]?")
_MARK = r"(?:\bpid=\d+[^()]*\)|\[(?:rank|default)?\d+\]:|\[\d+,\d+\]<std\w+>:)"
_MARKS = re.compile(rf".*?{_MARK}(?: ?{_MARK})*")
"""What launchers write in front of the lines of their processes, one after the other."""
_INDENT = "  "
"""Python indents each line of a frame by two blanks or more, a mark is followed by one at most."""


_WRITERS: Final = 1 << 15
"""Of so many a reader forgets those that are too far back: more than have a line in what stands before another."""


class Tracebacks:
    """The tracebacks of a log, of which it is asked whether they have a frame that the pattern ``frame`` fits.

    Exceptions are asked about in the order of the log. Where thousands of ranks write at once, the same lines stand
    above each of their exceptions: what is known of them is kept by writer, so that a line is read a few times at most.
    """

    def __init__(self, frame: re.Pattern[str]) -> None:
        self._frame = frame
        self._runs: dict[str, _Run] = {}
        # Offsets in the log: the whole lines from the one to the other are in ``_runs``.
        self._low = self._high = 0

    def has_frame(self, exception: bytes, before: bytes, offset: int) -> bool:
        """Tell whether one of the frames that end with the line ``exception`` fits.

        ``before`` are the bytes in front of that line, which is at ``offset`` in the log; what stands before them is
        not looked at. Lines that other processes wrote in between are passed over; without a mark of the writer in the
        lines, a line of another process ends the traceback.
        """
        writer, _ = _written(exception)
        # The first line may be cut, by where ``before`` begins, the last one by the exception.
        first, last = before.find(b"\n") + 1, before.rfind(b"\n") + 1
        said = self._said(writer, before[last:])
        if said is None:
            said = self._said_by_whole_lines(writer, before[:last], offset - len(before), first)
        if said is None:
            said = self._said(writer, before[:first])
        return said is True

    def _said_by_whole_lines(self, writer: str, lines: bytes, begin: int, first: int) -> bool | None:
        """Ask the lines from ``first`` on, the last one first; the first byte is at ``begin`` in the log."""
        inside, position = begin + first, begin + len(lines)
        if self._high < inside:
            self._forget(position)
        said: bool | None = None
        at = position
        while at > self._high:
            if said is not None and at - self._high > AROUND:
                # It was told by what is near; all the lines up to there may never be asked about.
                self._forget(position)
                return said
            at, raw = _line_before(lines, at, begin)
            heard = self._note(writer, at, raw)
            said = heard if said is None else said
        self._high = position
        if said is None and writer in self._runs:
            said = self._runs[writer].said(inside)
        while said is None and self._low > inside:
            self._low, raw = _line_before(lines, self._low, begin)
            said = self._note(writer, self._low, raw)
        if len(self._runs) > _WRITERS:
            self._runs = {name: run for name, run in self._runs.items() if max(run.ended, run.fitting) >= inside}
        return said

    def _forget(self, position: int) -> None:
        self._runs.clear()
        self._low = self._high = position

    def _note(self, writer: str, at: int, raw: bytes) -> bool | None:
        """Keep what a line says of its writer's traceback; return it for a line of ``writer``."""
        other, text = _written(raw)
        said = self._says(text)
        if text.strip():
            run = self._runs.setdefault(other, _Run())
            if said is False:
                run.ended = max(run.ended, at)
            elif said:
                run.fitting = max(run.fitting, at)
        return said if other == writer else None

    def _said(self, writer: str, raw: bytes) -> bool | None:
        other, text = _written(raw)
        return self._says(text) if other == writer else None

    def _says(self, text: str) -> bool | None:
        """Tell whether a line is a frame that fits, True, or no frame, False; None when one has to look further up."""
        stripped = text.strip()
        if not stripped:
            return None
        if not text.startswith(_INDENT):
            return False
        return True if self._frame.search(stripped) else None


@dataclass(slots=True)
class _Run:
    """What is known of the last traceback of a writer, by offsets of lines in the log."""

    ended: int = -1
    """The last line that belongs to none."""
    fitting: int = -1
    """The last frame that fits."""

    def said(self, inside: int) -> bool | None:
        """Tell what the lines from ``inside`` on say."""
        if max(self.ended, self.fitting) < inside:
            return None
        return self.fitting > self.ended


def _line_before(lines: bytes, at: int, begin: int) -> tuple[int, bytes]:
    """Return where the line that ends at ``at`` begins, and its first bytes; offsets in the log, of ``begin`` too."""
    end = at - begin
    start = lines.rfind(b"\n", 0, end - 1) + 1
    return begin + start, lines[start:end]


def _written(raw: bytes) -> tuple[str, str]:
    """Return who wrote a line, and what it says: without the time and the marks in front of it.

    Of a line that is longer than any frame the beginning is looked at.
    """
    line = without_terminal(raw[: 2 * AROUND].decode(errors="replace")).rstrip()
    timed = _TIME.match(line)
    line = line[timed.end() :] if timed else line
    marked = None if line.startswith(_INDENT) else _MARKS.match(line)
    if not marked:
        return "", line
    return rank_of(marked[0]), line[marked.end() :]
