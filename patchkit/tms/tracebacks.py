"""The frames of a traceback in a log, line by line backwards from the exception, those of its writer only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchkit.tms.log_writers import rank_of, without_terminal

_TIME = re.compile(r"\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[\d.,:Z+-]*\]?")
_MARK = r"(?:\bpid=\d+[^()]*\)|\[(?:rank|default)?\d+\]:|\[\d+,\d+\]<std\w+>:)"
_MARKS = re.compile(rf".*?{_MARK}(?: ?{_MARK})*")
"""What launchers write in front of the lines of their processes, one after the other."""
_INDENT = "  "
"""Python indents each line of a frame by two blanks or more, a mark is followed by one at most."""


def frames_before(exception: bytes, before: bytes) -> Iterator[str]:
    """Yield the lines of the frames that end with the line ``exception``, the last one first.

    ``before`` are the bytes in front of that line. Lines that other processes wrote in between are passed over; without
    a mark of the writer in the lines, a line of another process ends the traceback.
    """
    writer, _ = _written(exception)
    end = len(before)
    while end > 0:
        start = before.rfind(b"\n", 0, end - 1) + 1
        other, text = _written(before[start:end])
        end = start
        if other != writer or not text.strip():
            continue
        if not text.startswith(_INDENT):
            return
        yield text.strip()


def _written(raw: bytes) -> tuple[str, str]:
    """Return who wrote a line, and what it says: without the time and the marks in front of it."""
    line = without_terminal(raw.decode(errors="replace")).rstrip()
    timed = _TIME.match(line)
    line = line[timed.end() :] if timed else line
    marked = None if line.startswith(_INDENT) else _MARKS.match(line)
    if not marked:
        return "", line
    return rank_of(marked[0]), line[marked.end() :]
