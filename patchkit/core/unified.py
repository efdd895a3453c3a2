"""Unified diff text to model and back; the only importer of unidiff."""

from __future__ import annotations

import re

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind, Patch
from patchkit.errors import PatchFormatError

_NO_NEWLINE = "\\"
_MARKER = b"\\ No newline at end of file"
# What may stand between "diff --git" and "---" (git-diff(1), "Generating patch text").
_GIT_HEADERS = (
    *(b"old mode ", b"new mode ", b"new file mode ", b"deleted file mode "),
    *(b"copy from ", b"copy to ", b"rename from ", b"rename to "),
    *(b"similarity index ", b"dissimilarity index ", b"index ", b"--- ", b"+++ "),
)
_HUNK_HEADER = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@(?: .*)?", re.DOTALL)


def parse_patch(text: bytes, name: str) -> Patch:
    """Parse a unified diff; ``name`` is what errors call it.

    Raises PatchFormatError with the 1-based line. The counts in each ``@@`` header must agree with the body, and a
    blank context line must have kept its single space (whitespace hooks strip it; git then guesses).
    """
    _check_bodies(text, name)
    # surrogateescape gives arbitrary bytes back; unidiff wants text. A string, not a file name: from_filename turns
    # CRLF into LF.
    try:
        parsed = PatchSet(text.decode("utf-8", "surrogateescape"))
    except UnidiffParseError as error:
        raise PatchFormatError(name, None, f"not a unified diff: {error}") from error
    files: list[FilePatch] = []
    for file in parsed:
        hunks = tuple(
            Hunk(
                id=hunk.section_header.strip(),
                old_start=hunk.source_start,
                new_start=hunk.target_start,
                lines=_lines(hunk),
            )
            for hunk in file
        )
        old_path, new_path = _path(file.source_file, "a/"), _path(file.target_file, "b/")
        problem = _not_carried(old_path, new_path, hunks, binary=file.is_binary_file)
        if problem:
            raise PatchFormatError(name, None, problem)
        files.append(FilePatch(old_path, new_path, hunks))
    if not files:
        raise PatchFormatError(name, None, "no file is patched here")
    seen: set[str] = set()
    for parsed_file in files:
        if parsed_file.path in seen:
            raise PatchFormatError(name, None, f"{parsed_file.path} is patched twice")
        seen.add(parsed_file.path)
    return Patch(tuple(files), _preamble(text))


def print_patch(patch: Patch) -> bytes:
    """Print ``patch`` as a unified diff; parsing the result gives ``patch`` back."""
    parts = [patch.preamble]
    for file in patch.files:
        parts.append(b"--- " + _header_path(file.old_path, "a/") + b"\n")
        parts.append(b"+++ " + _header_path(file.new_path, "b/") + b"\n")
        for hunk in file.hunks:
            parts.append(_hunk_header(hunk))
            parts.extend(_print_line(line) for line in hunk.lines)
    return b"".join(parts)


def _lines(hunk: object) -> tuple[HunkLine, ...]:
    lines: list[HunkLine] = []
    for line in hunk:  # type: ignore[attr-defined]  # unidiff's Hunk is an untyped list subclass
        value = line.value.encode("utf-8", "surrogateescape")
        if line.line_type == _NO_NEWLINE:
            # "\ No newline at end of file" speaks about the line before it.
            last = lines.pop()
            lines.append(HunkLine(last.kind, last.text.removesuffix(b"\n")))
        elif line.line_type:
            # Without a type it is a blank line behind the hunk, which unidiff counts in.
            lines.append(HunkLine(LineKind(line.line_type), value))
    return tuple(lines)


def _not_carried(old: str | None, new: str | None, hunks: tuple[Hunk, ...], *, binary: bool) -> str | None:
    """Return why a file's change cannot be carried as hunks; left alone it would be lost without a word."""
    if old is None and new is None:
        return "both sides of a file are /dev/null"
    if binary:
        return f"{new or old} is binary"
    if old is not None and new is not None:
        if old != new:
            return f"{old} is renamed to {new}; a patch here changes files in place"
        if not hunks:
            return f"{new} has no hunk"
    return None


def _path(header: str, prefix: str) -> str | None:
    if header == "/dev/null":
        return None
    return header.removeprefix(prefix)


def _header_path(path: str | None, prefix: str) -> bytes:
    return b"/dev/null" if path is None else (prefix + path).encode("utf-8", "surrogateescape")


def _hunk_header(hunk: Hunk) -> bytes:
    old = _range(hunk.old_start, len(hunk.old_lines))
    new = _range(hunk.new_start, len(hunk.new_lines))
    section = f" {hunk.id}" if hunk.id else ""
    return f"@@ -{old} +{new} @@{section}\n".encode("utf-8", "surrogateescape")


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def _print_line(line: HunkLine) -> bytes:
    mark = line.kind.value.encode()
    if line.text.endswith(b"\n"):
        return mark + line.text
    return mark + line.text + b"\n\\ No newline at end of file\n"


def _preamble(text: bytes) -> bytes:
    """Return what stands before the first ``---`` line, except git's own headers (print_patch does not repeat them)."""
    kept: list[bytes] = []
    for line in text.split(b"\n"):
        if line.startswith((b"--- ", b"diff --git ")):
            break
        kept.append(line + b"\n")
    return b"".join(kept)


class _Headers:
    """What the lines between two hunks were so far: whether another hunk may follow."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._before = b""
        self._in_git_header = False
        self._stray = 0
        self.is_open = False
        """Whether a file header or a hunk stands right above."""

    def read(self, line: bytes, number: int) -> None:
        """Take in a line outside of hunks; raise PatchFormatError for a file header that a stray line cut in two."""
        if line.startswith(_MARKER):
            _check_marker(line, self._name, number, has_line=False)
        self.is_open = line.startswith(b"+++ ") and self._before.startswith(b"--- ")
        if line.startswith(b"diff --git "):
            self._in_git_header, self._stray = True, 0
        elif self.is_open and self._stray:
            raise PatchFormatError(
                self._name,
                self._stray,
                "a line that does not belong into the header of a file",
                hint="git ends the header there, and finds no hunk for the file",
            )
        elif self.is_open:
            self._in_git_header = False
        elif self._in_git_header and not self._stray and not line.startswith(_GIT_HEADERS):
            self._stray = number
        self._before = line


def _check_bodies(text: bytes, name: str) -> None:
    """Check header against body line by line, so that an error can name the line (unidiff cannot)."""
    lines = text.split(b"\n")
    if lines.pop():
        # Taken as it is, the line would have no newline in the patched file either; git refuses such a patch as well.
        raise PatchFormatError(name, len(lines) + 1, "the last line has no newline", hint="the text was cut short")
    at = 0
    headers = _Headers(name)
    while at < len(lines):
        # A header that only looks like one would be skipped as a comment, and its hunk with it.
        if not lines[at].startswith(b"@@"):
            headers.read(lines[at], at + 1)
            at += 1
            continue
        if not headers.is_open:
            raise PatchFormatError(
                name,
                at + 1,
                "a hunk with neither a file header nor another hunk right above it",
                hint="a line was lost, or one put in; make the diff again",
            )
        at = _check_body(lines, at, name)


def _check_body(lines: list[bytes], at: int, name: str) -> int:
    """Check the hunk whose header is the 0-based line ``at``; return the line behind it."""
    old, new = _counts(lines[at], name, at + 1)
    header_line = at + 1
    at += 1
    while (old or new) and at < len(lines):
        mark = lines[at][:1]
        if mark == b"\\":
            _check_marker(lines[at], name, at + 1, has_line=at > header_line)
        if lines[at] in (b"", b"\r"):
            raise PatchFormatError(
                name,
                at + 1,
                "a blank context line has lost its leading space",
                hint="an editor or whitespace hook stripped it; put one space back",
            )
        if mark not in (b" ", b"-", b"+", b"\\"):
            break
        old -= mark in (b" ", b"-")
        new -= mark in (b" ", b"+")
        at += 1
        if old < 0 or new < 0:
            break
    if at < len(lines) and lines[at].startswith(b"\\"):
        _check_marker(lines[at], name, at + 1, has_line=True)
        at += 1
    follows = lines[at] if at < len(lines) else b""
    # A file header may follow, or the signature that ends a mail from git format-patch.
    ends_body = follows.startswith(b"--- ") or follows.rstrip(b"\r") == b"-- "
    if old or new or (follows[:1] in (b" ", b"+", b"-", b"\\") and not ends_body):
        raise PatchFormatError(
            name,
            header_line,
            "the counts in the hunk header disagree with the hunk's body",
            hint="the hunk was edited by hand; make the diff again, or correct the counts",
        )
    return at


def _check_marker(marker: bytes, name: str, line: int, *, has_line: bool) -> None:
    if not has_line:
        raise PatchFormatError(name, line, "a marker for a missing newline has no line before it")
    if not marker.startswith(_MARKER):
        raise PatchFormatError(
            name,
            line,
            "not the marker for a missing newline",
            hint="diff translates it; make the diff again with LC_ALL=C",
        )


def _counts(header: bytes, name: str, line: int) -> tuple[int, int]:
    fields = _HUNK_HEADER.fullmatch(header)
    if fields is None:
        raise PatchFormatError(name, line, "not a hunk header")
    return int(fields[1] or 1), int(fields[2] or 1)
