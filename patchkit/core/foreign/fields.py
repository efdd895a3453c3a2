"""Headers of mails and of their parts, and the lines that stand between mails in one file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from email.message import Message as Mail
from typing import Final

import msgspec

_MBOX = re.compile(rb"From ([0-9a-f]{40}) \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\s*")
_OTHER_MBOX = re.compile(rb"From [^\n]{0,900}?\d:\d\d:\d\d\D{1,10}\d{4}")
_HEADER = re.compile(r"([!-9;-~]+):[ \t]*(.*)")
_LONGEST: Final = 10_000
"""Characters of a header that are read: to decode a long one takes the square of its length."""
_LONGEST_LINE: Final = 8 * _LONGEST
"""Bytes of a line that are looked at: four are the most of a character, and a name is in front."""


class Fields(msgspec.Struct, frozen=True):
    """Headers of a mail, or of a part of one."""

    values: Mapping[str, str]
    """By name in lower case; of several alike the last, as git has it."""
    lines: Mapping[str, int]
    """0-based line at which each begins."""
    end: int
    """0-based line behind them."""


def mbox_commit(line: bytes) -> str | None:
    """Return the commit id of git's mbox separator, or None for any other line."""
    match = _MBOX.fullmatch(line)
    return match[1].decode() if match else None


def is_mbox_line(line: bytes) -> bool:
    """Tell whether a line is what git, or a mail program, puts in front of a mail in an mbox."""
    return line.startswith(b"From ") and _OTHER_MBOX.match(line) is not None


def read_fields(lines: Sequence[bytes], at: int) -> Fields:
    """Read headers from 0-based line ``at`` on, up to an empty line or one that is no header."""
    found: dict[str, list[str]] = {}
    places: dict[str, int] = {}
    last, room = "", 0
    while at < len(lines):
        raw = lines[at][:_LONGEST_LINE]
        if last and raw[:1] in (b" ", b"\t"):
            if room > 0:
                found[last].append(raw.decode("utf-8", "replace").strip())
                room -= len(found[last][-1]) + 1
        elif match := _HEADER.fullmatch(raw.decode("utf-8", "replace").rstrip("\r")):
            last, room = match[1].lower(), _LONGEST - len(match[2])
            found[last] = [match[2]]
            places[last] = at
        else:
            break
        at += 1
    return Fields({name: " ".join(words)[:_LONGEST] for name, words in found.items()}, places, at)


def first_line(lines: Sequence[bytes], at: int = 0) -> int:
    """Return the 0-based line, ``at`` or later, at which a mail begins: git too passes over empty ones."""
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at


def content_type(fields: Fields) -> Mail:
    """Return a header as the standard library reads it; a type that it cannot read is text."""
    mail = Mail()
    if "content-type" not in fields.values:
        return mail
    try:
        mail["Content-Type"] = fields.values["content-type"]
        mail.get_content_charset()
        mail.get_boundary()
    except Exception:
        mail = Mail()
    return mail
