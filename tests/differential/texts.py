"""Texts to edit, and edits of them: pieces of real files of Megatron-LM, and what has broken some tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from zipfile import ZipFile

# Few words, so that lines repeat; each odd one has broken some tool: endings, bytes that are no UTF-8, marks of a diff.
WORDS: Sequence[bytes] = (
    b"",
    b"a",
    b"b",
    b"    return x",
    b"\tindented\twith tabs ",
    b"carriage return\r",
    b"lone\rreturn",
    b"\r",
    b"form\x0cfeed",
    b"\x0c",
    b"vertical\x0btab\x1c\x1d\x1e",
    b"\xff\xfe",
    b"caf\xc3\xa9",
    b"line\xe2\x80\xa8separator",
    b"next\x85line \xc2\x85",
    b"nul\0byte",
    b"-- minus",
    b"--- a/x",
    b"++ plus",
    b"+++ b/x",
    b"@@ -1 +1 @@",
    b" leading blank",
    b" ",
    b"\\ No newline at end of file",
    b"diff --git a/x b/x",
    b"index 1234567..89abcde 100644",
    b"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001",
    b"GIT binary patch",
    b"Binary files a/x and b/x differ",
    b"<<<<<<< ours",
    b"=======",
    b">>>>>>> theirs",
    b"-- ",
)
BOM = b"\xef\xbb\xbf"
LONG = 70_000
"""Bytes of a very long line: more than a pipe holds."""


def python_files(wheel: Path) -> list[bytes]:
    """Return the Python files of a wheel, those that have more than a few lines."""
    with ZipFile(wheel) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".py"))
        texts = (archive.read(name) for name in names)
        return [text for text in texts if text.count(b"\n") > 20]


class Maker:
    """Makes texts and edits of them; the same random numbers give the same ones."""

    def __init__(self, random: Random, real: Sequence[bytes]) -> None:
        self.random = random
        self._real = real

    def text(self) -> bytes:
        """Return a piece of a real file, or a hostile text; sometimes an empty one."""
        kind = self.random.random()
        if kind < 0.55:
            return self.real_text()
        if kind < 0.58:
            return b""
        return self.hostile_text()

    def real_text(self) -> bytes:
        """Return lines of a real file, at times with other line endings or a byte order mark."""
        lines = self.random.choice(self._real).splitlines(keepends=True)
        if self.random.random() < 0.9:
            start = self.random.randrange(len(lines))
            lines = lines[start : start + self.random.randrange(1, 150)]
        text = b"".join(lines)
        odd = self.random.random()
        if odd < 0.06:
            text = text.replace(b"\n", b"\r\n")
        elif odd < 0.08:
            text = BOM + text
        elif odd < 0.12:
            text = text.removesuffix(b"\n")
        return text

    def python_text(self) -> bytes:
        """Return a class or function of a real file with what stands above it: Python that can be read by itself."""
        lines = self.random.choice(self._real).splitlines(keepends=True)
        heads = [
            at for at, line in enumerate(lines) if line.startswith((b"def ", b"class ", b"@", b"import ", b"from "))
        ]
        if len(heads) < 2:
            return b"".join(lines)
        start = self.random.randrange(len(heads))
        end = min(len(heads) - 1, start + self.random.randrange(1, 5))
        return b"".join(lines[heads[start] : heads[end]] if end > start else lines[heads[start] :])[:20_000]

    def hostile_text(self) -> bytes:
        """Return lines of the odd words above."""
        count = self.random.randrange(30)
        lines = [self.line() for _ in range(count)]
        text = b"".join(line + b"\n" for line in lines)
        odd = self.random.random()
        if odd < 0.1:
            text = text.replace(b"\r", b"").replace(b"\n", b"\r\n")
        elif odd < 0.15:
            text = BOM + text
        return text.removesuffix(b"\n") if self.random.random() < 0.25 else text

    def line(self) -> bytes:
        """Return a line without its ending."""
        if self.random.random() < 0.003:
            return self.random.choice((b"x", b"\t", b"\xe9")) * LONG
        return self.random.choice(WORDS)

    def edited(self, text: bytes, most: int = 4) -> bytes:
        """Return an edit of a text: up to ``most`` places with lines put in, taken out, exchanged, moved or doubled."""
        lines = text.split(b"\n")
        final = lines.pop()
        for _ in range(self.random.randrange(1, most + 1)):
            self._edit(lines)
        made = b"".join(line + b"\n" for line in lines) + final
        if self.random.random() < 0.08:
            return made.removesuffix(b"\n") if made.endswith(b"\n") else made + b"\n"
        return made

    def _edit(self, lines: list[bytes]) -> None:
        start = self.random.randrange(len(lines) + 1)
        count = self.random.choice((0, 0, 1, 1, 1, 2, 3, 8))
        kind = self.random.random()
        there = lines[start : start + count]
        if kind < 0.75:
            there = [self._new_line(lines) for _ in range(self.random.choice((0, 1, 1, 2, 4)))]
        elif kind < 0.85:
            there = [b"    " + line for line in there]
        elif kind < 0.9:
            there = [*there, *there]
        elif kind < 0.95:
            there, moved = [], there
            goal = self.random.randrange(len(lines) + 1)
            lines[goal:goal] = moved
        else:
            there = [line.removesuffix(b"\r") if line.endswith(b"\r") else line + b"\r" for line in there]
        lines[start : start + count] = there

    def _new_line(self, lines: Sequence[bytes]) -> bytes:
        kind = self.random.random()
        if lines and kind < 0.3:
            return self.random.choice(lines)
        if lines and kind < 0.6:
            return self.random.choice(lines) + b"  # changed"
        return self.line()
