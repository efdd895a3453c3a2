"""Mails as they were before a mailer encoded them: quoted-printable, base64, several parts (RFC 2045, RFC 2046).

What comes out is what ``git mailinfo`` has: the bytes of the patch are those that were encoded, whatever the charset,
and the message in front of it is UTF-8. What git takes as it stands where it is no such encoding is an error here.
Lines of format=flowed are joined as RFC 3676 has it. git does so but for two mistakes: a line that goes on is joined
with the signature behind it, and in quoted-printable the blank in front of a joined line stays.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from patchkit.core.foreign.diffs import Repair
from patchkit.core.foreign.fields import Fields, content_type, first_line, is_mbox_line, mbox_commit, read_fields
from patchkit.core.foreign.transfer import MOST_LINES, Numbered, codec, from_base64, from_quoted_printable, unflowed
from patchkit.errors import PatchFormatError

_DEEPEST: Final = 5
"""Parts within parts, as many as git reads."""
_MOST_PARTS: Final = 100_000
"""Parts of all mails of a file: each takes some 60 microseconds."""

_MIME = re.compile(rb"^content-t(?:ype|ransfer-encoding)[ \t]*:", re.MULTILINE | re.IGNORECASE)
_PASTED = re.compile(rb"content-transfer-encoding:\s*[\"']?(?:base64|quoted-printable)", re.IGNORECASE)
_HEADER = re.compile(rb"[A-Za-z][A-Za-z-]*:")
_PATCH = re.compile(rb"diff -|Index: |---(?: \S|\s*\Z)")
"""Where git takes the message to end."""
_JOINED: Final = "joined as RFC 3676 has it"
_ENCODINGS: Final = ("base64", "quoted-printable")
_AS_IT_IS: Final = ("", "7bit", "8bit", "binary")


class Plain(msgspec.Struct, frozen=True):
    """Lines of a file with its mails decoded."""

    lines: list[bytes]
    numbers: Sequence[int]
    """1-based line of the file at which each begins."""
    starts: frozenset[int]
    """0-based lines that a mail program put between two mails; those of git are known by their look."""
    repairs: tuple[Repair, ...]


class _Part(msgspec.Struct, frozen=True):
    encoding: str
    charset: str
    flowed: bool
    delsp: bool
    line: int
    """0-based line of the header that says so."""


def decoded(text: bytes, name: str) -> Plain:
    """Return the lines of ``text`` with each mail in it decoded; ``name`` is what repairs and errors call it.

    Raises PatchFormatError for an encoding or charset that is not known, for text that is not encoded as its header
    says, for parts that cannot be told apart, for a mail within a mail, and beyond ``MOST_LINES``.
    """
    lines = text.split(b"\n")
    starts = _starts(lines)
    if not _MIME.search(text):
        return Plain(lines, range(1, len(lines) + 1), frozenset(starts), ())
    return _Decoder(lines, starts, name).plain()


def _starts(lines: Sequence[bytes]) -> list[int]:
    """Return where mails begin that a mail program put into one file; behind one of git's, those that have a header."""
    first = first_line(lines)
    if first == len(lines) or not is_mbox_line(lines[first]):
        return []
    found = [at for at, line in enumerate(lines) if line.startswith(b"From ") and is_mbox_line(line)]
    if mbox_commit(lines[first]):
        # git escapes no line of a message that looks like one.
        return [at for at in found if not mbox_commit(lines[at]) and _HEADER.match(b"".join(lines[at + 1 : at + 2]))]
    return found


class _Decoder:
    """The lines of a file, and what is made of them."""

    def __init__(self, lines: list[bytes], starts: Sequence[int], name: str) -> None:
        self.name = name
        self.raw = lines
        self.starts = frozenset(starts)
        self.lines: list[bytes] = []
        self.numbers: list[int] = []
        self.made: set[int] = set()
        self.repairs: list[Repair] = []
        self.parts = 0
        self.closing: dict[bytes, list[int]] = {}
        for at, line in enumerate(lines):
            if line.startswith(b"--") and line.rstrip().endswith(b"--"):
                self.closing.setdefault(line.rstrip(), []).append(at)
        self.begins = [at for at, line in enumerate(lines) if at in self.starts or mbox_commit(line)]

    def plain(self) -> Plain:
        """Decode everything."""
        at = 0
        while at < len(self.raw):
            if at in self.starts:
                self.made.add(len(self.lines))
            at = self._mail(at)
        return Plain(self.lines, self.numbers, frozenset(self.made), tuple(self.repairs))

    def _mail(self, start: int) -> int:
        """Decode the mail at 0-based line ``start``, and return the line behind it."""
        first = first_line(self.raw, start)
        headed = first in self.starts or mbox_commit(self._line(first)) is not None
        fields = read_fields(self.raw, first + headed)
        part = self._part(fields)
        boundary = self._boundary(fields)
        if boundary:
            # A patch that git made has a line like that between mails, and may be a part.
            ends = self.closing.get(b"--%s--" % boundary, [])
            behind = bisect_left(ends, fields.end)
            inside = ends[behind] if behind < len(ends) else fields.end
        else:
            inside = first
        follow = bisect_right(self.begins, max(inside, first))
        end = self.begins[follow] if follow < len(self.begins) else len(self.raw)
        if not boundary and not headed and part.encoding:
            end = len(self.raw)
        if not (boundary or part.encoding or part.flowed or part.charset):
            self._refuse_pasted((self.raw[at], at + 1) for at in range(fields.end, end))
            self._keep(range(start, end))
            return end
        self._keep(range(start, fields.end))
        self._put([(b"", fields.end + 1)])
        leaves = list(self._leaves(fields, boundary, end)) if boundary else [(part, self._body(fields), end)]
        told: set[str] = set()
        in_message = True
        for leaf, begin, stop in leaves:
            in_message = self._leaf(leaf, begin, stop, in_message=in_message)
            for what, how in ((leaf.encoding, "decoded as git am does"), (leaf.flowed and "format=flowed", _JOINED)):
                if what and what not in told:
                    told.add(what)
                    message = f"the mail was in {what}, and is {how}"
                    self.repairs.append(Repair("decoded", self.name, leaf.line + 1, message))
        if boundary and self.lines[-1]:
            self._put([(b"", end)])
        return end

    def _line(self, at: int) -> bytes:
        return self.raw[at] if at < len(self.raw) else b""

    def _body(self, fields: Fields) -> int:
        return fields.end + (not self._line(fields.end).strip())

    def _keep(self, span: range) -> None:
        self.lines.extend(self.raw[span.start : span.stop])
        self.numbers.extend(range(span.start + 1, span.stop + 1))

    def _put(self, made: Numbered) -> None:
        if len(self.lines) + len(made) > MOST_LINES:
            raise PatchFormatError(self.name, made[0][1], f"decoded, it has more than {MOST_LINES:,} lines")
        self.lines.extend(line for line, _ in made)
        self.numbers.extend(number for _, number in made)

    def _part(self, fields: Fields) -> _Part:
        """Return how a part is written. Raises PatchFormatError for what is not known."""
        said = fields.values.get("content-transfer-encoding", "").strip()
        # As git has it: wherever in the header the word stands, behind a comment as well.
        words = re.split(r"[\s;(]", said.lower(), maxsplit=1)[0].strip('"')
        encoding = next((known for known in _ENCODINGS if known in said.lower()), words)
        kind = content_type(fields)
        line = fields.lines.get("content-transfer-encoding", fields.lines.get("content-type", 0))
        if kind.get_content_maintype() == "multipart":
            return _Part("", "", flowed=False, delsp=False, line=line)
        if encoding not in (*_AS_IT_IS, *_ENCODINGS):
            hint = "known are 7bit, 8bit, binary, quoted-printable and base64; save the patch itself from the mail"
            raise PatchFormatError(self.name, line + 1, f"this mail is in the encoding {said[:80]!r}", hint=hint)
        if kind.get_content_type() in ("message/rfc822", "message/partial", "message/external-body"):
            message = f"there is a mail within this mail ({kind.get_content_type()})"
            hint = "save the inner mail as a file, and import that"
            raise PatchFormatError(self.name, line + 1, message, hint=hint)
        return _Part(
            "" if encoding in _AS_IT_IS else encoding,
            kind.get_content_charset("") if kind.get_content_maintype() == "text" else "",
            flowed=str(kind.get_param("format", "")).lower() == "flowed",
            delsp=str(kind.get_param("delsp", "")).lower() == "yes",
            line=line,
        )

    def _boundary(self, fields: Fields) -> bytes:
        """Return what stands between the parts of a mail, empty when it has none."""
        kind = content_type(fields)
        if kind.get_content_maintype() != "multipart":
            return b""
        found = (kind.get_boundary() or "").encode("utf-8", "surrogateescape").strip()
        if not found:
            message = "this mail has several parts, and does not say what stands between them"
            raise PatchFormatError(self.name, fields.lines["content-type"] + 1, message)
        return found

    def _leaves(self, fields: Fields, boundary: bytes, end: int) -> Iterator[tuple[_Part, int, int]]:
        """Yield the parts that have no parts: how each is written, and its 0-based lines."""
        stack = [boundary]
        at = self._next(stack, fields.end, end)
        if at == end:
            message = f"no part of this mail begins: its boundary {boundary[:80]!r} does not come"
            raise PatchFormatError(self.name, fields.lines["content-type"] + 1, message)
        self._refuse_outside(fields.end, at)
        while at < end:
            line = self.raw[at].rstrip()
            while line not in (b"--" + stack[-1], b"--%s--" % stack[-1]):
                stack.pop()
            if line == b"--%s--" % stack[-1]:
                stack.pop()
                if not stack:
                    self._refuse_outside(at + 1, end)
                    return
                at = self._next(stack, at + 1, end)
                continue
            self.parts += 1
            if self.parts > _MOST_PARTS:
                raise PatchFormatError(self.name, at + 1, f"its mails have more than {_MOST_PARTS:,} parts")
            inner = read_fields(self.raw, at + 1)
            nested = self._boundary(inner)
            part = self._part(inner)
            if nested:
                stack.append(nested)
                if len(stack) > _DEEPEST:
                    message = f"this mail has parts within parts, more than {_DEEPEST} deep"
                    raise PatchFormatError(self.name, at + 1, message)
            begin = self._body(inner)
            at = self._next(stack, begin, end)
            if not nested:
                yield part, min(begin, at), at

    def _next(self, stack: Sequence[bytes], at: int, end: int) -> int:
        """Return the 0-based line of the next boundary, or ``end``."""
        wanted = {mark for each in stack for mark in (b"--" + each, b"--%s--" % each)}
        while at < end and not (self.raw[at].startswith(b"--") and self.raw[at].rstrip() in wanted):
            at += 1
        return min(at, end)

    def _leaf(self, part: _Part, begin: int, end: int, *, in_message: bool) -> bool:
        """Put a part decoded; return whether what follows is still the message in front of a patch."""
        if part.encoding == "quoted-printable":
            made = from_quoted_printable(self.raw, begin, end, self.name)
        elif part.encoding == "base64":
            made = from_base64(self.raw, begin, end, self.name)
        else:
            made = [(self.raw[at], at + 1) for at in range(begin, end)]
        self._refuse_pasted(made)
        if part.flowed:
            made = unflowed(made, delsp=part.delsp, encoded=bool(part.encoding))
        if in_message:
            message = next((at for at, (line, _) in enumerate(made) if _PATCH.match(line)), len(made))
            made[:message] = self._recoded(made[:message], part)
            in_message = message == len(made)
        self._put(made)
        return in_message

    def _recoded(self, made: Numbered, part: _Part) -> Numbered:
        """Return lines of a message in UTF-8. Raises PatchFormatError where that cannot be had."""
        charset = codec(part.charset)
        if charset in ("ascii", "utf-8"):
            return made
        if charset is None:
            line = next((number for line, number in made if not line.isascii()), None)
            if line is None:
                return made
            message = f"the message of this mail is in the charset {part.charset[:80]!r}, which is not known"
            raise PatchFormatError(self.name, line, message, hint="say charset=utf-8 in its header, or save the patch")
        return [(line.decode(charset, "replace").encode("utf-8", "replace"), number) for line, number in made]

    def _refuse_pasted(self, lines: Iterable[tuple[bytes, int]]) -> None:
        """Raise PatchFormatError for the header of an encoded mail where no headers are; no line of a diff is one."""
        for line, number in lines:
            if line[:1] in (b"c", b"C") and _PASTED.match(line):
                message = "a mail that is encoded begins in the middle of this text"
                hint = "import the mail itself, from its first header on; take this line out if it is prose"
                raise PatchFormatError(self.name, number, message, hint=hint)

    def _refuse_outside(self, begin: int, end: int) -> None:
        """Raise PatchFormatError for a diff in front of the first part, or behind the last one: mails end there."""
        for at in range(begin, end):
            if self.raw[at].startswith((b"diff --git ", b"+++ ")):
                message = "this stands in none of the parts of the mail"
                hint = "a file of several mails has a line `From ...` in front of each; import them one by one"
                raise PatchFormatError(self.name, at + 1, message, hint=hint)
