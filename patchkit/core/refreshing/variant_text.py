"""The text of a variant, changed hunk by hunk: what is not named keeps its bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from patchkit.core.model import FilePatch, Hunk, Patch
from patchkit.core.unified import print_patch

_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: ?(.*))?\n", re.DOTALL)


@dataclass
class _HunkText:
    """One hunk as it is written."""

    name: str
    header: bytes
    body: list[bytes]
    old: tuple[int, int]
    """0-based first line and number of lines."""
    new: tuple[int, int]
    written: bool = True
    """Whether the bytes are those of the old text."""


@dataclass
class _FileText:
    """A file's part of the text."""

    path: str
    head: list[bytes]
    hunks: list[_HunkText] = field(default_factory=list)


def refreshed_text(
    text: bytes,
    replaced: Mapping[str, Hunk | None],
    added: Mapping[str, Sequence[Hunk]],
    files: Sequence[FilePatch] = (),
) -> bytes:
    """Return the text of a variant with hunks replaced by id (None: taken out) and added by path.

    ``files`` are parts for files that the variant did not have. Hunks carry the old lines that the text shall name; the
    new lines, also of hunks that stay, are counted from there. A file without hunks goes, with its headers.
    """
    parts, tail = _parsed(text)
    for part in parts:
        before = list(part.hunks)
        part.hunks = [hunk for hunk in (_chosen(old, replaced) for old in before) if hunk is not None]
        part.hunks.extend(_printed(hunk) for hunk in added.get(part.path, ()))
        part.hunks.sort(key=lambda hunk: hunk.old)
        if part.hunks != before:
            _count(part.hunks, before)
    lines: list[bytes] = []
    for part in parts:
        if part.hunks or not part.head:
            lines.extend(part.head)
            for hunk in part.hunks:
                lines.extend((hunk.header, *hunk.body))
    return b"".join((*lines, print_patch(Patch(tuple(files))), *tail))


def renumbered_text(text: bytes, starts: Mapping[str, int]) -> bytes:
    """Return the text of a variant in which hunks, by id, begin at other (1-based) lines; nothing else changes."""
    parts, tail = _parsed(text)
    for part in parts:
        before = list(part.hunks)
        for at, hunk in enumerate(before):
            if hunk.name in starts:
                first = starts[hunk.name] - 1
                moved = hunk.new[0] + first - hunk.old[0]
                part.hunks[at] = _HunkText(
                    hunk.name, hunk.header, hunk.body, (first, hunk.old[1]), (moved, hunk.new[1]), written=False
                )
        for hunk in part.hunks:
            if not hunk.written:
                hunk.header = _header(hunk)
    lines = [line for part in parts for line in part.head + [b for h in part.hunks for b in (h.header, *h.body)]]
    return b"".join((*lines, *tail))


def _chosen(old: _HunkText, replaced: Mapping[str, Hunk | None]) -> _HunkText | None:
    if old.name not in replaced:
        return old
    new = replaced[old.name]
    return None if new is None else _printed(new)


def _printed(hunk: Hunk) -> _HunkText:
    printed = print_patch(Patch((FilePatch("x", "x", (hunk,)),))).split(b"\n", 2)[2]
    header, *body = [line + b"\n" for line in printed.split(b"\n")[:-1]]
    old, new = len(hunk.old_lines), len(hunk.new_lines)
    first = hunk.old_start - 1 if old else hunk.old_start
    return _HunkText(hunk.id, header, body, (first, old), (0, new), written=False)


def _count(hunks: Sequence[_HunkText], before: Sequence[_HunkText]) -> None:
    """Give hunks the new lines that follow from what stands above them.

    A hunk that stays is moved by what others have grown: the text may be that of a target where it stands elsewhere.
    """
    was = {hunk.name: sum(other.new[1] - other.old[1] for other in before if other.old < hunk.old) for hunk in before}
    growth = 0
    for hunk in hunks:
        if hunk.written:
            moved = growth - was[hunk.name]
            if moved:
                hunk.new = hunk.new[0] + moved, hunk.new[1]
                hunk.header = _header(hunk)
        else:
            hunk.new = hunk.old[0] + growth, hunk.new[1]
            hunk.header = _header(hunk)
        growth += hunk.new[1] - hunk.old[1]


def _header(hunk: _HunkText) -> bytes:
    match = _HEADER.fullmatch(hunk.header)
    section = (match[5] or b"") if match else b""
    ranges = b"@@ -%s +%s @@" % (_range(hunk.old), _range(hunk.new))
    return ranges + (b" " + section if section else b"") + b"\n"


def _range(span: tuple[int, int]) -> bytes:
    # An empty side is numbered by the line before it (the unified format of diff(1)).
    start, count = span[0] + (1 if span[1] else 0), span[1]
    return b"%d" % start if count == 1 else b"%d,%d" % (start, count)


def _parsed(text: bytes) -> tuple[list[_FileText], list[bytes]]:
    """Cut a well-formed diff into the parts of its files, and what stands behind the last hunk."""
    lines = [line + b"\n" for line in text.split(b"\n")[:-1]]
    parts: list[_FileText] = []
    head: list[bytes] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        match = _HEADER.fullmatch(line)
        if match is None:
            if line.startswith(b"+++ ") and head and head[-1].startswith(b"--- "):
                parts.append(_FileText(_path(head[-1], line), [*head, line]))
                head = []
            else:
                head.append(line)
            at += 1
            continue
        old, new = _span(match[1], match[2]), _span(match[3], match[4])
        end = _body_end(lines, at + 1, old[1], new[1])
        name = (match[5] or b"").decode("utf-8", "surrogateescape").strip()
        parts[-1].hunks.append(_HunkText(name, line, lines[at + 1 : end], old, new))
        at = end
    return parts, head


def _span(start: bytes, count: bytes | None) -> tuple[int, int]:
    length = 1 if count is None else int(count)
    return int(start) - (1 if length else 0), length


def _body_end(lines: Sequence[bytes], at: int, old: int, new: int) -> int:
    while (old or new) and at < len(lines):
        old -= lines[at][:1] in (b" ", b"-")
        new -= lines[at][:1] in (b" ", b"+")
        at += 1
    return at + 1 if at < len(lines) and lines[at].startswith(b"\\") else at


def _path(old: bytes, new: bytes) -> str:
    """Return the path by which a file is known: the new one, or the old one when the file is removed."""
    path = new[4:].split(b"\t")[0].strip()
    path = old[4:].split(b"\t")[0].strip() if path == b"/dev/null" else path
    return path[2:].decode("utf-8", "surrogateescape") if path[:2] in (b"a/", b"b/") else path.decode()
