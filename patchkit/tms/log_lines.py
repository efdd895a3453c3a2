"""The lines of a log that matter, found without holding the log or looking at most of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from patchkit.errors import TmsFileError

BLOCK = 1 << 17
"""Bytes read at a time: few enough to stay in a processor's cache while they are searched again and again."""
AROUND = 4096
"""Bytes before and after a line in which a second line may stand; a longer line is cut."""
BEFORE = 1 << 16
"""Bytes before a line in which the frames of its traceback may stand: a hundred frames, with other ranks in between."""

_NO_TEXT: Mapping[bytes, str] = {
    b"\x1f\x8b": "compressed with gzip: zcat",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: zstdcat",
    b"\xfd7zXZ\x00": "compressed with xz: xzcat",
    b"BZh91AY&SY": "compressed with bzip2: bzcat",
    b"PK\x03\x04": "a zip archive: unzip -p",
    b"\xff\xfe": "UTF-16: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16: iconv -f UTF-16 -t UTF-8",
}
"""How files begin in which no line can be found, with what they are and what makes text of them."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line with an anchor; a carriage return ends one too, as a progress bar uses it."""

    number: int
    """1-based; only line feeds are counted, as editors do."""
    offset: int
    """Where in the log it begins, in bytes from 0."""
    raw: bytes
    _buffer: bytes
    _start: int
    _end: int

    @property
    def around(self) -> bytes:
        """The line and what stands ``AROUND`` bytes before and after it."""
        return self._buffer[max(0, self._start - AROUND) : self._end + AROUND]

    @property
    def is_cut(self) -> bool:
        """Whether nothing follows it, not even the end of a line: the log may end within it."""
        return self._end == len(self._buffer)

    @property
    def before(self) -> bytes:
        """What stands ``BEFORE`` bytes before it."""
        return self._buffer[max(0, self._start - BEFORE) : self._start]


class LogReader:
    """The lines of a log that hold an anchor, with what is around them."""

    def __init__(self, log: BinaryIO, anchors: Mapping[str, Sequence[str]]) -> None:
        self.size = 0
        self.line_count = 0
        self._log = log
        self._anchors = [(key.encode(), [text.encode() for text in texts]) for key, texts in anchors.items()]

    def lines(self) -> Iterator[LogLine]:
        """Yield each line that matters, in order. Raises TmsFileError when the log is no text."""
        buffer, done, newlines = b"", 0, 0
        passed, seen = 0, 0  # Offsets in the log: of the buffer, and behind the last line that was yielded.
        ended_with_newline = True
        while True:
            block = self._log.read(BLOCK)
            self.size += len(block)
            if block:
                ended_with_newline = block.endswith(b"\n")
            buffer += block
            if passed == 0 and done == 0:
                self._refuse_what_is_no_text(buffer)
            # What follows a line has to be there too before it can be judged.
            limit = len(buffer) if not block else max(done, len(buffer) - AROUND)
            counted, at = newlines, 0
            for start, end in self._found(buffer, done, limit, seen - passed):
                seen = passed + end
                counted += buffer.count(b"\n", at, start)
                at = start
                yield LogLine(counted + 1, passed + start, buffer[start:end], buffer, start, end)
            if not block:
                self.line_count = newlines + buffer.count(b"\n") + (not ended_with_newline)
                return
            kept = max(0, limit - BEFORE)
            newlines += buffer.count(b"\n", 0, kept)
            buffer, done, passed = buffer[kept:], limit - kept, passed + kept

    def _refuse_what_is_no_text(self, start: bytes) -> None:
        found = next((what for magic, what in _NO_TEXT.items() if start.startswith(magic)), None)
        if found:
            what, _, command = found.partition(": ")
            name = getattr(self._log, "name", "the log")
            # Of a stream without a name a person knows what it is.
            word = shlex.quote(name) if hasattr(self._log, "name") else "LOG"
            hint = f"{command} {word} | patchkit tms triage -"
            raise TmsFileError(f"{name} is {what}, and its lines cannot be read", hint=hint)

    def _found(self, buffer: bytes, begin: int, limit: int, seen: int) -> Iterator[tuple[int, int]]:
        """Yield start and end of the lines with an anchor that begins in ``begin`` to ``limit``.

        What lies before ``seen`` was yielded before: a line without end is cut, and another anchor in the same piece
        of it is the same line.
        """
        for at in sorted(self._anchors_in(buffer, begin, limit)):
            if at < seen:
                continue
            low = max(0, seen, at - AROUND)
            start = max(buffer.rfind(b"\n", low, at) + 1, buffer.rfind(b"\r", low, at) + 1, low)
            high = min(len(buffer), at + AROUND)
            ends = [place for mark in (b"\n", b"\r") if (place := buffer.find(mark, at, high)) >= 0]
            seen = min(ends, default=high)
            yield start, seen

    def _anchors_in(self, buffer: bytes, begin: int, limit: int) -> set[int]:
        # One search after the other: a regular expression for all of them takes longer.
        found: set[int] = set()
        for key, texts in self._anchors:
            longest = max(map(len, texts))
            # An anchor across the limit belongs to this round: the next one looks from the limit on.
            for anchor in texts if buffer.find(key, begin, limit + longest - 1) >= 0 else ():
                end = limit + len(anchor) - 1
                at = buffer.find(anchor, begin, end)
                while at >= 0:
                    found.add(at)
                    at = buffer.find(anchor, at + len(anchor), end)
        return found
