"""Conflicts as text for people, and what people made of them.

A conflict is data everywhere else. Here it gets the marks of git's diff3 style (git-merge(1), "HOW CONFLICTS ARE
PRESENTED"): target first, then base, then what the patch makes of the base.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from patchkit.core.carry import Conflict
from patchkit.core.lines import split_lines
from patchkit.core.marks import MARK

_BEGIN, _BASE, _MIDDLE, _END = b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"
_MIDDLE_LINE = re.compile(rb"=======\r?\n?$")


class Labels(msgspec.Struct, frozen=True):
    """What stands behind the marks of one conflict."""

    target: str
    base: str
    changed: str


class Marked(msgspec.Struct, frozen=True):
    """A conflict in a marked text."""

    first: int
    """1-based line of the first mark."""
    last: int
    """1-based line of the last mark."""
    conflict: Conflict


def render(parts: Sequence[bytes | Conflict], labels: Iterable[Labels]) -> bytes:
    """Return the text with marks around its conflicts; ``labels`` has those of each conflict, in order.

    A side that ends without a newline gets one, since a mark has to stand on a line of its own.
    """
    names = iter(labels)
    out: list[bytes] = []
    for part in parts:
        if isinstance(part, bytes):
            out.append(part)
            continue
        if out and out[-1] and not out[-1].endswith(b"\n"):
            out.append(b"\n")
        label = next(names)
        out += [_mark(_BEGIN, label.target), _whole(part.target), _mark(_BASE, label.base), _whole(part.base)]
        out += [_MIDDLE + b"\n", _whole(part.changed), _mark(_END, label.changed)]
    return b"".join(out)


def cut(content: bytes) -> tuple[bytes | Conflict, ...]:
    """Return a marked text cut at its conflicts: what ``render`` was given, if every side ended with a newline.

    Marks that are not a whole conflict stay text.
    """
    lines = split_lines(content)
    parts: list[bytes | Conflict] = []
    at = 0
    for found in conflicts(content):
        parts += [b"".join(lines[at : found.first - 1]), found.conflict]
        at = found.last
    parts.append(b"".join(lines[at:]))
    return tuple(part for part in parts if part != b"")


def conflicts(content: bytes) -> tuple[Marked, ...]:
    """Return every whole conflict in a marked text, in order."""
    lines = split_lines(content)
    found: list[Marked] = []
    at = 0
    while at < len(lines):
        marks = _marks(lines, at) if _is_mark(lines[at], _BEGIN) else None
        if marks is None:
            at += 1
            continue
        base, middle, end = marks
        sides = lines[base + 1 : middle], lines[middle + 1 : end], lines[at + 1 : base]
        found.append(Marked(at + 1, end + 1, Conflict(*(b"".join(side) for side in sides))))
        at = end + 1
    return tuple(found)


def left_marks(content: bytes, known: Iterable[bytes]) -> list[int]:
    """Return the 1-based lines of ``content`` that look like marks of a conflict and stand in none of ``known``.

    They may be indented, and longer than ours: an editor or another merge did that. A line of seven equals signs is
    also how some texts underline a title: where the texts that were merged have such lines, that many are none of ours.
    """
    allowed = {line for text in known for line in split_lines(text) if _looks_like_one(line)}
    return [
        number
        for number, line in enumerate(split_lines(content), start=1)
        if _looks_like_one(line) and line not in allowed
    ]


def without_conflicts(content: bytes, choose: Callable[[Conflict], bytes]) -> bytes:
    """Return a marked text with ``choose`` of each whole conflict in its place."""
    return b"".join(part if isinstance(part, bytes) else choose(part) for part in cut(content))


def _mark(mark: bytes, label: str) -> bytes:
    return mark + b" " + label.encode("utf-8", "surrogateescape") + b"\n"


def _whole(side: bytes) -> bytes:
    return side if not side or side.endswith(b"\n") else side + b"\n"


def _looks_like_one(line: bytes) -> bool:
    return bool(MARK.match(line) or _MIDDLE_LINE.match(line))


def _is_mark(line: bytes, mark: bytes) -> bool:
    return line.startswith(mark) and line[len(mark) : len(mark) + 1] in (b" ", b"\n", b"\r", b"")


def _marks(lines: Sequence[bytes], begin: int) -> tuple[int, int, int] | None:
    """Return the 0-based lines of the other three marks of the conflict at ``begin``; None when it is not whole."""
    wanted = [_BASE, _MIDDLE, _END]
    found: list[int] = []
    for at in range(begin + 1, len(lines)):
        if _is_mark(lines[at], _BEGIN):
            return None
        if _is_mark(lines[at], wanted[len(found)]):
            found.append(at)
            if len(found) == len(wanted):
                base, middle, end = found
                return base, middle, end
    return None
