"""Commit messages in front of diffs: mails of ``git format-patch``, or mboxes of them."""

from __future__ import annotations

import re
from email.header import decode_header, make_header
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

_MBOX = re.compile(rb"From ([0-9a-f]{40}) \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\s*")
_HEADER = re.compile(r"([A-Za-z][A-Za-z-]*):[ \t]*(.*)")
_TAGS = re.compile(r"^(\s*\[[^\]]*\]\s*)+")
_NUMBER = re.compile(rb"^Subject: *\[[^\]]*?\b(\d{1,9})/(\d{1,9})\]", re.MULTILINE)
_DIFF = re.compile(rb"^(?:diff |--- .*\n\+\+\+ )", re.MULTILINE)
_QUOTED_FROM = re.compile(r"^>+From ", re.MULTILINE)
_LONGEST: Final = 10_000
"""Characters of a header that are read: to decode a long one takes the square of its length."""


class MailHead(msgspec.Struct, frozen=True):
    """What stands in front of the diff of a mail."""

    subject: str = ""
    author: str = ""
    date: str = ""
    """YYYY-MM-DD, or empty."""
    body: str = ""
    commit: str = ""
    quoted: tuple[int, ...] = ()
    """0-based lines whose ``From`` an mbox writer had quoted (``>From``); ``body`` has them unquoted."""


def mbox_commit(line: bytes) -> str | None:
    """Return the commit id of git's mbox separator, or None for any other line."""
    match = _MBOX.fullmatch(line)
    return match[1].decode() if match else None


def mail_number(text: bytes) -> tuple[int, int] | None:
    """Return the numbers n and m of ``[PATCH n/m]`` in a mail's headers; None when it has none."""
    match = _NUMBER.search(text.replace(b"\r\n", b"\n").split(b"\n\n", 1)[0])
    return (int(match[1]), int(match[2])) if match else None


def is_cover_letter(text: bytes) -> bool:
    """Tell whether a mail is number 0 of a series, and has no diff (git-format-patch(1), ``--cover-letter``)."""
    number = mail_number(text)
    return number is not None and number[0] == 0 and not _DIFF.search(text)


def read_head(lines: list[bytes]) -> MailHead:
    """Read the lines in front of a diff; lines that are no mail give an empty head, prose included.

    Subjects lose their ``[PATCH n/m]`` (git-am does the same).
    """
    text = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
    commit = mbox_commit(lines[0]) if lines else None
    at = 1 if commit else 0
    found: dict[str, list[str]] = {}
    last = ""
    while at < len(text) and text[at]:
        match = _HEADER.fullmatch(text[at])
        if match:
            last = match[1].lower()
            found[last] = [match[2]]
        elif last and text[at][:1] in " \t":
            found[last].append(text[at].strip())
        else:
            break
        at += 1
    headers = {name: " ".join(lines)[:_LONGEST] for name, lines in found.items()}
    if "subject" not in headers or "from" not in headers:
        return MailHead(commit=commit or "")
    body, quoted = _body(text, at)
    return MailHead(
        subject=_TAGS.sub("", _decoded(headers["subject"])).strip(),
        author=_decoded(headers["from"]),
        date=_day(headers.get("date", "")),
        body=body,
        commit=commit or "",
        quoted=quoted,
    )


def _body(text: list[str], start: int) -> tuple[str, tuple[int, ...]]:
    kept: list[str] = []
    quoted: list[int] = []
    for at in range(start, len(text)):
        if text[at] == "---":
            # What follows is a diffstat and not part of the message (git-am cuts here as well).
            break
        if _QUOTED_FROM.match(text[at]):
            quoted.append(at)
            kept.append(text[at][1:])
        else:
            kept.append(text[at])
    return "\n".join(kept).strip(), tuple(quoted)


def _decoded(value: str) -> str:
    """Return a header with its encoded words as text; as it stands where that cannot be had."""
    try:
        decoded = str(make_header(decode_header(value)))
        # Some charsets give halves of characters, which no file of ours can hold.
        decoded.encode()
    except Exception:
        return value
    # A line break or a terminal's command is part of no name or subject.
    return decoded if decoded.isprintable() else value


def _day(value: str) -> str:
    try:
        return parsedate_to_datetime(value).date().isoformat()
    except Exception:
        return ""
