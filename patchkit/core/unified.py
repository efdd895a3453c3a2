"""Unified diff text to model and back: the text of our own variants, of which nothing is forgiven."""

from __future__ import annotations

import re

from patchkit.core.blobs import blob_id
from patchkit.core.foreign.headers import FileHeader, is_git_header, read_git_header, read_plain_header
from patchkit.core.kept_names import why_kept
from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind, Patch
from patchkit.core.quoting import quoted
from patchkit.errors import PatchFormatError

_MARKER = b"\\ No newline at end of file"
# git refuses a number beyond 64 bits as well; Python makes no number at all of 4300 digits and more.
_HUNK_HEADER = re.compile(rb"@@ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@(?: (.*))?", re.DOTALL)
_KINDS = {b" ": LineKind.CONTEXT, b"-": LineKind.REMOVED, b"+": LineKind.ADDED}
_MARKS = {kind: mark for mark, kind in _KINDS.items()}
_EMPTY = blob_id(b"")
_KEPT_MODES = ("new file mode 100644", "deleted file mode 100644", "deleted file mode 100755")


def parse_patch(text: bytes, name: str) -> Patch:
    """Parse a unified diff; ``name`` is what errors call it.

    Raises PatchFormatError with the 1-based line. The counts in each ``@@`` header must agree with the body, and a
    blank context line must have kept its single space (whitespace hooks strip it; git then guesses).
    """
    lines = text.split(b"\n")
    if lines.pop():
        # Taken as it is, the line would have no newline in the patched file either; git refuses such a patch as well.
        raise PatchFormatError(name, len(lines) + 1, "the last line has no newline", hint="the text was cut short")
    files: list[FilePatch] = []
    paths: set[str] = set()
    first: int | None = None
    at = 0
    while at < len(lines):
        if _begins_file(lines, at):
            first = at if first is None else first
            file, at = _file(lines, at, name)
            if file.path in paths:
                raise PatchFormatError(name, None, f"{file.path} is patched twice")
            files.append(file)
            paths.add(file.path)
        else:
            _refuse_stray(lines[at], name, at + 1, files)
            at += 1
    if not files:
        raise PatchFormatError(name, None, "no file is patched here")
    return Patch(tuple(files), b"".join(line + b"\n" for line in lines[:first]))


def print_patch(patch: Patch) -> bytes:
    """Print ``patch`` as a unified diff; parsing the result gives ``patch`` back."""
    parts = [patch.preamble]
    for file in patch.files:
        parts.append(b"--- " + _header_path(file.old_path, "a/") + b"\n")
        parts.append(b"+++ " + _header_path(file.new_path, "b/") + b"\n")
        for hunk in file.hunks:
            parts.append(_hunk_header(hunk))
            # A hunk at a time: a list of all lines takes twice the room of their text.
            parts.append(b"".join([_print_line(line) for line in hunk.lines]))
    return b"".join(parts)


def _begins_file(lines: list[bytes], at: int) -> bool:
    return is_git_header(lines[at]) or (
        lines[at].startswith(b"--- ") and at + 1 < len(lines) and lines[at + 1].startswith(b"+++ ")
    )


def _refuse_stray(line: bytes, name: str, number: int, files: list[FilePatch]) -> None:
    """Raise PatchFormatError for a line outside of any file that would be part of a hunk in its place."""
    if line.startswith(b"@@"):
        # Passed over, its hunk would be as well.
        raise PatchFormatError(
            name,
            number,
            "a hunk with neither a file header nor another hunk right above it",
            hint="a line was lost, or one put in; make the diff again",
        )
    if line.startswith(_MARKER):
        _check_marker(line, name, number, has_line=False)
    if files and line.startswith((b"GIT binary patch", b"Binary files ")):
        raise PatchFormatError(name, number, f"{files[-1].path} is binary")


def _file(lines: list[bytes], at: int, name: str) -> tuple[FilePatch, int]:
    """Read the file whose header begins at 0-based line ``at``; return it and the line behind."""
    number = at + 1
    if is_git_header(lines[at]):
        header, at = read_git_header(lines, at, name)
    else:
        header, at = read_plain_header(lines, at, name)
    hunks: list[Hunk] = []
    while at < len(lines) and lines[at].startswith(b"@@"):
        hunk, at = _hunk(lines, at, name)
        hunks.append(hunk)
    old, new = _path(header.old_path, "a/"), _path(header.new_path, "b/")
    kept = next(((path, why) for path in (old, new) if path is not None and (why := why_kept(path))), None)
    problem = f"the path {kept[0]!r} {kept[1]}" if kept else _not_carried(header, old, new, hunks)
    if problem:
        raise PatchFormatError(name, number, problem)
    return FilePatch(old, new, tuple(hunks)), at


def _path(written: str | None, prefix: str) -> str | None:
    return None if written is None else written.removeprefix(prefix)


def _not_carried(header: FileHeader, old: str | None, new: str | None, hunks: list[Hunk]) -> str | None:
    """Return why a file's change cannot be carried as hunks; left alone it would be lost without a word."""
    if "" in (old, new):
        return "this header names no file"
    if old is not None and new is not None:
        if old != new:
            how = "copied" if header.copied else "renamed"
            return f"{old} is {how} to {new}; a patch here changes files in place"
        if not hunks:
            return f"{new} has no hunk"
    if not hunks and any(
        one.strip("0") and not _EMPTY.startswith(one) for one in (header.old_id, header.new_id) if one
    ):
        return f"{new or old}: its index line says that the text changes, and no hunk follows"
    mode = next((mode for mode in header.modes if mode not in _KEPT_MODES), None)
    return None if mode is None else f"{new or old}: {mode}, and a patch here changes text only"


def _hunk(lines: list[bytes], at: int, name: str) -> tuple[Hunk, int]:
    """Read the hunk whose header is the 0-based line ``at``; return it and the line behind."""
    start = at
    fields = _HUNK_HEADER.fullmatch(lines[at])
    if fields is None:
        raise PatchFormatError(name, at + 1, "not a hunk header")
    old, new = int(fields[2] or 1), int(fields[4] or 1)
    body: list[HunkLine] = []
    at += 1
    while at < len(lines) and (old > 0 or new > 0 or lines[at].startswith(b"\\")):
        line = lines[at]
        mark = line[:1]
        if mark == b"\\":
            # It speaks about the line before it.
            _check_marker(line, name, at + 1, has_line=bool(body) and body[-1].text.endswith(b"\n"))
            body[-1] = HunkLine(body[-1].kind, body[-1].text.removesuffix(b"\n"))
        elif line in (b"", b"\r"):
            raise PatchFormatError(
                name,
                at + 1,
                "a blank context line has lost its leading space",
                hint="an editor or whitespace hook stripped it; put one space back",
            )
        elif mark not in _KINDS:
            break
        else:
            old -= mark in (b" ", b"-")
            new -= mark in (b" ", b"+")
            body.append(HunkLine(_KINDS[mark], line[1:] + b"\n"))
        at += 1
        if old < 0 or new < 0:
            break
    follows = lines[at] if at < len(lines) else b""
    # A file header may follow, or the signature that ends a mail from git format-patch.
    ends_body = _begins_file(lines, at) if at < len(lines) else True
    ends_body = ends_body or follows.rstrip(b"\r") == b"-- "
    if old or new or (follows[:1] in _KINDS and not ends_body):
        raise PatchFormatError(
            name,
            start + 1,
            "the counts in the hunk header disagree with the hunk's body",
            hint="the hunk was edited by hand; make the diff again, or correct the counts",
        )
    if all(line.kind is LineKind.CONTEXT for line in body):
        raise PatchFormatError(name, start + 1, "nothing is added or removed in this hunk")
    section = (fields[5] or b"").decode("utf-8", "surrogateescape").strip()
    return Hunk(section, int(fields[1]), int(fields[3]), tuple(body)), at


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


def _header_path(path: str | None, prefix: str) -> bytes:
    if path is None:
        return b"/dev/null"
    name = quoted(prefix + path)
    # GNU patch takes a blank for the end of the name unless a tab ends it; git writes one for it.
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name


def _hunk_header(hunk: Hunk) -> bytes:
    old = _range(hunk.old_start, len(hunk.old_lines))
    new = _range(hunk.new_start, len(hunk.new_lines))
    section = f" {hunk.id}" if hunk.id else ""
    return f"@@ -{old} +{new} @@{section}\n".encode("utf-8", "surrogateescape")


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def _print_line(line: HunkLine) -> bytes:
    mark = _MARKS[line.kind]
    if line.text.endswith(b"\n"):
        return mark + line.text
    return mark + line.text + b"\n\\ No newline at end of file\n"
