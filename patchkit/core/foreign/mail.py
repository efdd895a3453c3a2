"""Commit messages in front of diffs: mails of ``git format-patch``, or mboxes of them."""

from __future__ import annotations

import re
from email.header import decode_header, make_header
from email.utils import parsedate_to_datetime

import msgspec

from patchkit.core.authorship import is_day, names_somebody
from patchkit.core.foreign.encoded import decoded
from patchkit.core.foreign.fields import first_line, is_mbox_line, mbox_commit, read_fields

_TAGS = re.compile(r"^(\s*\[[^\]]*\]\s*)+")
_NUMBER = re.compile(rb"^Subject: *\[[^\]]*?\b(\d{1,9})/(\d{1,9})\]", re.MULTILINE)
_DIFF = re.compile(rb"^(?:diff |--- .*\n\+\+\+ )", re.MULTILINE)
_QUOTED_FROM = re.compile(r"^>+From ", re.MULTILINE)


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
    unusable: tuple[tuple[int, str], ...] = ()
    """0-based lines of headers of which git makes no author or date, and what is wrong; the fields are empty."""


def mail_number(text: bytes) -> tuple[int, int] | None:
    """Return the numbers n and m of ``[PATCH n/m]`` in a mail's headers; None when it has none."""
    match = _NUMBER.search(text.replace(b"\r\n", b"\n").split(b"\n\n", 1)[0])
    return (int(match[1]), int(match[2])) if match else None


def is_cover_letter(text: bytes, name: str) -> bool:
    """Tell whether a mail is number 0 of a series, and has no diff (git-format-patch(1), ``--cover-letter``).

    Raises PatchFormatError, with ``name``, for a mail that cannot be decoded.
    """
    number = mail_number(text)
    return number is not None and number[0] == 0 and not _DIFF.search(b"\n".join(decoded(text, name).lines))


def read_head(lines: list[bytes]) -> MailHead:
    """Read the lines in front of a diff; lines that are no mail give an empty head, prose included.

    Subjects lose their ``[PATCH n/m]`` (git-am does the same).
    """
    first = first_line(lines)
    commit = mbox_commit(lines[first]) if first < len(lines) else None
    at = first + 1 if first < len(lines) and (commit or is_mbox_line(lines[first])) else first
    fields = read_fields(lines, at)
    headers = fields.values
    if "subject" not in headers or "from" not in headers:
        return MailHead(commit=commit or "")
    body, quoted = _body(lines, fields.end)
    author, day = _decoded(headers["from"]), _day(headers.get("date", ""))
    unusable: list[tuple[int, str]] = []
    if not names_somebody(author):
        unusable.append((fields.lines["from"], f"From: {_shown(author)} names nobody, and is left out"))
        author = ""
    if not is_day(day) and "date" in headers:
        unusable.append(
            (fields.lines["date"], f"Date: {_shown(headers['date'])} is no day that git knows, and is left out")
        )
        day = ""
    return MailHead(
        subject=_TAGS.sub("", _decoded(headers["subject"])).strip(),
        author=author,
        date=day,
        body=body,
        commit=commit or "",
        quoted=quoted,
        unusable=tuple(unusable),
    )


def _body(lines: list[bytes], start: int) -> tuple[str, tuple[int, ...]]:
    kept: list[str] = []
    quoted: list[int] = []
    for at in range(start, len(lines)):
        line = lines[at].decode("utf-8", "replace").rstrip("\r")
        if line == "---":
            # What follows is a diffstat and not part of the message (git-am cuts here as well).
            break
        if _QUOTED_FROM.match(line):
            quoted.append(at)
            line = line[1:]
        kept.append(line)
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


def _shown(value: str) -> str:
    """Return as much of a header as a line has room for."""
    return repr(value if len(value) <= 80 else f"{value[:80]}...")


def _day(value: str) -> str:
    try:
        return parsedate_to_datetime(value).date().isoformat()
    except Exception:
        return ""
