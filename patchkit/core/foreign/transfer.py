"""Text as it was before it was made fit for the way of a mail (RFC 2045, RFC 3676), line by line.

What ``git mailinfo`` takes as it stands where it is no such encoding is an error here.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, TypeAlias

from patchkit.errors import PatchFormatError

Numbered: TypeAlias = list[tuple[bytes, int]]
"""Lines, each with the 1-based line of the file at which it begins."""

MOST_LINES: Final = 8_000_000
"""Lines; import takes some 270 bytes of memory for each, which are 2 GiB for all of them."""

_ESCAPE = re.compile(rb"=(?![0-9A-Fa-f]{2})")
_SOFT_BREAK = re.compile(rb"=[ \t]*\Z")
_NO_CHARSETS: Final = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem")
"""Codecs of Python that are no charset of a mail, or take the square of a text's length."""


def from_quoted_printable(lines: Sequence[bytes], begin: int, end: int, name: str) -> Numbered:
    """Return the lines that are encoded in 0-based ``begin`` to ``end``. Raises PatchFormatError."""
    made: Numbered = []
    open_line: tuple[list[bytes], int] | None = None
    for at in range(begin, end):
        raw = lines[at].removesuffix(b"\r")
        soft = _SOFT_BREAK.search(raw) if raw.endswith((b"=", b" ", b"\t")) else None
        raw = raw[: soft.start()] if soft else raw
        if b"=" in raw:
            if wrong := _ESCAPE.search(raw):
                shown = raw[wrong.start() : wrong.start() + 3].decode("ascii", "replace")
                message = f"{shown!r} is no escape, and the header says that the mail is in quoted-printable"
                hint = "if the text is not encoded, take the header Content-Transfer-Encoding out of the mail"
                raise PatchFormatError(name, at + 1, message, hint=hint)
            raw = binascii.a2b_qp(raw)
        pieces, number = open_line or ([], at + 1)
        pieces.append(raw)
        open_line = pieces, number
        if soft is None:
            made.extend((line, number) for line in b"".join(pieces).split(b"\n"))
            open_line = None
            _bound(len(made), at, name)
    if open_line is not None:
        made.extend((line, open_line[1]) for line in b"".join(open_line[0]).split(b"\n"))
    return made


def from_base64(lines: Sequence[bytes], begin: int, end: int, name: str) -> Numbered:
    """Return the lines that are encoded in 0-based ``begin`` to ``end``. Raises PatchFormatError."""
    words = [lines[at].strip() for at in range(begin, end)]
    try:
        text = base64.b64decode(b"".join(words), validate=True)
    except binascii.Error as error:
        message = f"this is no base64, and the header of the mail says that it is ({error})"
        raise PatchFormatError(name, begin + 1, message) from error
    _bound(text.count(b"\n"), begin, name)
    # The line of the file in which the first letter of each line stands.
    reached: list[int] = []
    total = 0
    for word in words:
        total += len(word)
        reached.append(total)
    made: Numbered = []
    offset = 0
    for line in text.split(b"\n"):
        made.append((line, begin + 1 + min(bisect_right(reached, offset * 4 // 3), max(len(words) - 1, 0))))
        offset += len(line) + 1
    return made


def _bound(lines: int, at: int, name: str) -> None:
    if lines > MOST_LINES:
        raise PatchFormatError(name, at + 1, f"decoded, it has more than {MOST_LINES:,} lines")


def unflowed(made: Numbered, *, delsp: bool, encoded: bool) -> Numbered:
    """Return lines without the breaks and blanks that format=flowed put in (RFC 3676).

    Of text that was ``encoded`` carriage returns stay, as git leaves them; of any other git takes them before it looks.
    """
    found: Numbered = []
    held: list[bytes] = []
    begun = 0
    for raw, number in made:
        line = raw.removesuffix(b"\r")
        end = raw[len(line) :] if encoded else b""
        begun = begun if held else number
        if line == b"-- ":
            if held:
                found.append((b"".join([*held, end]), begun))
                held = []
            # No line goes on with it, however the one in front ends: git would write both as one.
            found.append((line + end, number))
            continue
        line = line.removeprefix(b" ")
        if line.endswith(b" "):
            held.append(line[:-1] if delsp else line)
        else:
            found.append((b"".join([*held, line, end]), begun))
            held = []
    return [*found, (b"".join(held), begun)] if held else found


def codec(charset: str) -> str | None:
    """Return Python's name of a charset; None for one that is not known."""
    try:
        found = codecs.lookup(charset or "ascii").name
        b"a".decode(found)
    except Exception:
        return None
    return None if found in _NO_CHARSETS else found
