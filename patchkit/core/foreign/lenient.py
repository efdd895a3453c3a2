"""Foreign diff text as values: forgiving where nothing else can be meant, and every leniency is told.

``core.unified`` reads our own variants and forgives nothing. Here whitespace hooks, mailers and editors have been at
the text. What only a base can decide (counts that disagree with the body, carriage returns) is kept as it was found,
and decided in ``core.repair``.
"""

from __future__ import annotations

import re

from patchkit.core.blobs import blob_id
from patchkit.core.foreign.diffs import ForeignFile, ForeignHunk, ForeignPatch, Message, Repair
from patchkit.core.foreign.encoded import decoded
from patchkit.core.foreign.fields import mbox_commit
from patchkit.core.foreign.headers import FileHeader, is_git_header, read_git_header, read_plain_header
from patchkit.core.foreign.mail import read_head
from patchkit.core.model import HunkLine, LineKind
from patchkit.errors import PatchFormatError

# As in core.unified: a number that git would call too large is none.
_HUNK = re.compile(rb"@@ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@(?: ?(.*))?")
_MARKER = b"\\ No newline at end of file"
_EMPTY = blob_id(b"")
_KINDS = {b" ": LineKind.CONTEXT, b"-": LineKind.REMOVED, b"+": LineKind.ADDED}


def read_foreign(text: bytes, name: str) -> ForeignPatch:
    """Read a bare diff, a mail, or an mbox of mails; ``name`` is what repairs and errors call it.

    Raises PatchFormatError, with the 1-based line, for what cannot be repaired: no hunk at all, binary files, combined
    diffs, a hunk without a file, a body line that is none, a text that ends before a hunk or a file does, a mail that
    cannot be decoded.
    """
    if not text.strip():
        raise PatchFormatError(name, None, "is empty", hint="nothing to import; was the diff made in a clean tree?")
    reader = _Reader(text, name)
    messages = tuple(reader.messages())
    if not any(message.files for message in messages):
        hint = "patchkit import takes unified diffs (git diff, diff -u), mails and mboxes of them"
        raise PatchFormatError(name, None, "there is no unified diff in this file", hint=hint)
    return ForeignPatch(name, messages, tuple(reader.repairs))


class _Reader:
    """The lines of a text, and how far they are read."""

    def __init__(self, text: bytes, name: str) -> None:
        self.name = name
        plain = decoded(text, name)
        self.lines = plain.lines
        self._numbers = plain.numbers
        self._starts = plain.starts
        self.repairs: list[Repair] = list(plain.repairs)
        self.at = 0
        if self.lines[-1] == b"":
            self.lines.pop()
        else:
            self._repair("last-newline", len(self.lines) - 1, "the last line had no newline")
        headers = [line for line in self.lines if line.startswith((b"--- ", b"+++ ", b"@@ ", b"diff --git "))]
        if headers and all(line.endswith(b"\r") for line in headers):
            # Headers never have a carriage return of their own: something translated the whole text.
            self._repair("crlf", 0, "every line ended in CRLF")
            self.lines = [line.removesuffix(b"\r") for line in self.lines]

    def messages(self) -> list[Message]:
        """Read everything."""
        found: list[Message] = []
        while self.at < len(self.lines):
            start = self.at
            files: list[ForeignFile] = []
            head_end: int | None = None
            while self.at < len(self.lines):
                if self.at > start and (self.at in self._starts or mbox_commit(self.lines[self.at])):
                    break
                if self._begins_file():
                    head_end = self.at if head_end is None else head_end
                    files.append(self._file())
                else:
                    self._refuse_stray()
                    self.at += 1
            head = read_head(self.lines[start : self.at if head_end is None else head_end])
            for offset in head.quoted:
                self._repair("mbox-quoting", start + offset, "'>From' in the message was 'From'")
            for offset, message in head.unusable:
                self._repair("header", start + offset, message)
            found.append(
                Message(
                    self.name,
                    self._number(start),
                    head.subject,
                    head.author,
                    head.date,
                    head.body,
                    head.commit,
                    tuple(files),
                )
            )
        return found

    def _number(self, at: int) -> int:
        """Return the 1-based line of the file at which 0-based line ``at`` of the text begins."""
        return self._numbers[at] if at < len(self._numbers) else at + 1

    def _line(self, at: int) -> bytes:
        return self.lines[at] if at < len(self.lines) else b""

    def _begins_file(self, at: int | None = None) -> bool:
        at = self.at if at is None else at
        return is_git_header(self._line(at)) or self._is_plain_header(at)

    def _is_plain_header(self, at: int) -> bool:
        return (
            self._line(at).startswith(b"--- ")
            and self._line(at + 1).startswith(b"+++ ")
            and self._line(at + 2).startswith(b"@@ ")
        )

    def _refuse_stray(self) -> None:
        line = self.lines[self.at]
        if line.startswith((b"diff --cc ", b"diff --combined ", b"@@@ ")):
            hint = "make a diff against one parent: git diff BASE COMMIT"
            raise self._error("a combined diff of a merge cannot be imported", hint)
        if _HUNK.fullmatch(line.rstrip(b"\r")) and self._line(self.at + 1)[:1] in (b" ", b"+", b"-"):
            raise self._error("a hunk without a file header in front of it", "put the --- and +++ lines back")
        if line.startswith((b"GIT binary patch", b"Binary files ")):
            raise self._error("a binary change cannot be imported", "take the file out of the diff")
        if line.startswith((b"*** ", b"***************")) and self._line(self.at + 1).startswith((b"--- ", b"*** ")):
            raise self._error("this is a context diff", "make a unified one: diff -u")

    def _error(self, message: str, hint: str | None = None) -> PatchFormatError:
        return PatchFormatError(self.name, self._number(self.at), message, hint=hint)

    def _repair(self, rule: str, at: int, message: str, path: str | None = None, hunk: int | None = None) -> None:
        self.repairs.append(Repair(rule, self.name, self._number(at), message, path, hunk))

    def _file(self) -> ForeignFile:
        start = self.at
        read = read_git_header if is_git_header(self.lines[self.at]) else read_plain_header
        try:
            header, self.at = read(self.lines, self.at, self.name)
        except PatchFormatError as error:
            raise error.at(None if error.line is None else self._number(error.line - 1)) from None
        shown = _shown(header)
        hunks: list[ForeignHunk] = []
        while self._line(self.at).startswith(b"@@"):
            hunks.append(self._hunk(shown, len(hunks) + 1))
        if not hunks:
            self._refuse_lost_hunks(header, start)
        return ForeignFile(
            line=self._number(start),
            old_path=header.old_path,
            new_path=header.new_path,
            git=header.git,
            old_id=header.old_id,
            new_id=header.new_id,
            modes=header.modes,
            renamed=header.renamed,
            copied=header.copied,
            hunks=tuple(hunks),
        )

    def _hunk(self, path: str, number: int) -> ForeignHunk:
        header = self.lines[self.at]
        self._refuse_combined(header)
        match = _HUNK.fullmatch(header.rstrip(b"\r"))
        if match is None:
            raise self._error(f"{path}, hunk {number}: not a hunk header")
        start = self.at
        old_start, old_count, new_start, new_count = (
            int(match[1]),
            int(match[2] or 1),
            int(match[3]),
            int(match[4] or 1),
        )
        exact = self._exact_end(start + 1, old_count, new_count)
        end = exact if exact is not None else self._natural_end(start + 1)
        lines, blanks = self._body(start + 1, end, path, number)
        spare = 0
        if exact is None:
            # Empty lines at the end may be context whose space was stripped, or stand between two patches.
            while spare < len(lines) and end - 1 - spare in blanks:
                spare += 1
        for at in blanks:
            self._repair("stripped-blank", at, "a blank context line had lost its leading space", path, number)
        self.at = end
        hunk = ForeignHunk(
            self._number(start),
            (match[5] or b"").decode("utf-8", "replace").strip(),
            old_start,
            old_count,
            new_start,
            new_count,
            lines,
            spare,
        )
        self._refuse_cut_short(hunk, path, number)
        if not any(line.kind is not LineKind.CONTEXT for line in lines):
            raise self._error_at(start, f"{path}, hunk {number}: nothing is added or removed")
        return hunk

    def _refuse_lost_hunks(self, header: FileHeader, start: int) -> None:
        """Raise PatchFormatError for a file without a hunk whose header promises one, or ends with the text."""
        hint = "the patch was cut short, or made with options that hide changes; make it again"
        ids = {name for name in (header.old_id, header.new_id) if name is not None}
        if any(name.strip("0") and not _EMPTY.startswith(name) for name in ids):
            message = f"{_shown(header)}: its index line says that the text changes, and no hunk follows"
            raise PatchFormatError(self.name, self._number(start), message, hint=hint)
        if self.at >= len(self.lines) and not (ids or header.modes or header.renamed or header.copied):
            message = f"{_shown(header)}: the text ends behind the header of this file"
            raise PatchFormatError(self.name, self._number(start), message, hint=hint)

    def _refuse_cut_short(self, hunk: ForeignHunk, path: str, number: int) -> None:
        """Raise PatchFormatError when the text ends in the middle of a hunk.

        Counts that somebody forgot to correct look the same there; elsewhere what follows shows that the body is whole.
        """
        if self.at < len(self.lines):
            return
        old, new = hunk.found
        if hunk.counts_agree or old > hunk.old_count or new > hunk.new_count:
            return
        promised = f"its header promises {hunk.old_count} old and {hunk.new_count} new lines"
        message = (
            f"{path}, hunk {number}: cut short: {promised}, and the text ends at line {self._number(self.at - 1)} "
            f"with {old} and {new}"
        )
        counts = f"-{hunk.old_start},{old} +{hunk.new_start},{new}"
        hint = f"get the whole patch; if its last hunk was edited by hand, correct the header: @@ {counts} @@"
        raise PatchFormatError(self.name, hunk.line, message, hint=hint)

    def _refuse_combined(self, header: bytes) -> None:
        if header.startswith(b"@@@"):
            raise self._error("a combined diff of a merge cannot be imported", "make a diff against one parent")

    def _error_at(self, at: int, message: str) -> PatchFormatError:
        return PatchFormatError(self.name, self._number(at), message)

    def _exact_end(self, at: int, old: int, new: int) -> int | None:
        """Return the 0-based line behind the body that the counts ask for; None when the text has no such body."""
        while old or new:
            line = self._line(at)
            if at >= len(self.lines) or not _may_be_body(line):
                return None
            old -= line[:1] in (b" ", b"-") or line in (b"", b"\r")
            new -= line[:1] in (b" ", b"+") or line in (b"", b"\r")
            if old < 0 or new < 0:
                return None
            at += 1
        if self._line(at).startswith(b"\\"):
            at += 1
        return at if at >= len(self.lines) or self._is_end(at) or self._line(at) in (b"", b"\r") else None

    def _natural_end(self, at: int) -> int:
        """Return the 0-based line at which the body ends by the look of the text, whatever the counts say."""
        while at < len(self.lines) and _may_be_body(self.lines[at]) and not self._is_signature(at):
            if self._begins_file(at):
                break
            at += 1
        return at

    def _is_end(self, at: int) -> bool:
        line = self._line(at)
        return not _may_be_body(line) or self._begins_file(at) or self._is_signature(at)

    def _is_signature(self, at: int) -> bool:
        """Tell whether the line is the mark above the version that ends a mail of git format-patch."""
        follows = self._line(at + 1)
        return self._line(at).rstrip() == b"--" and not follows.startswith((b" ", b"+", b"-", b"@@", b"\\"))

    def _body(self, start: int, end: int, path: str, number: int) -> tuple[tuple[HunkLine, ...], list[int]]:
        """Return the lines of a body, and the 0-based lines at which a leading space was missing."""
        lines: list[HunkLine] = []
        blanks: list[int] = []
        for at in range(start, end):
            line = self.lines[at]
            if line in (b"", b"\r"):
                blanks.append(at)
                lines.append(HunkLine(LineKind.CONTEXT, line + b"\n"))
            elif line.startswith(b"\\"):
                if not lines:
                    raise self._error_at(at, f"{path}, hunk {number}: a marker for a missing newline has no line")
                if not line.startswith(_MARKER):
                    self._repair("marker", at, "the marker for a missing newline was translated", path, number)
                last = lines.pop()
                lines.append(HunkLine(last.kind, last.text.removesuffix(b"\n")))
            else:
                lines.append(HunkLine(_KINDS[line[:1]], line[1:] + b"\n"))
        return tuple(lines), blanks


def _may_be_body(line: bytes) -> bool:
    return line[:1] in (b" ", b"+", b"-", b"\\", b"") or line == b"\r"


def _shown(header: FileHeader) -> str:
    path = header.new_path or header.old_path or ""
    return path[2:] if path[:2] in ("a/", "b/") else path
