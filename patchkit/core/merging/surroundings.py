"""The class or function around a line, found by indentation alone: quick, and for text that does not parse as well."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

from patchkit.core.lines import lines_in, lines_of
from patchkit.core.parts import of_part, parts_of
from patchkit.core.remembered import remembered
from patchkit.core.scopes import MODULE

_HEADER = re.compile(rb"([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
_KEYWORDS = re.compile(rb"def[ \t]"), re.compile(rb"class[ \t]")
_NO_STATEMENT = b")]}#\"'"
_DEEPEST = 100
"""Python refuses more levels of indentation. Each level costs a search to the end of what is inside of it."""


class Header(NamedTuple):
    """The first line of a class or function."""

    line: int
    """0-based."""
    width: int
    """Of its indentation."""
    name: str


class Outline:
    """The headers of a text, for questions about many of its lines."""

    def __init__(self, lines: Sequence[bytes], content: bytes | None = None) -> None:
        """Take a text by its lines, and all of it where it is at hand."""
        self._lines = lines
        self._parts = parts_of(b"".join(lines) if content is None else content)
        self._ends: dict[Header, int] = {}

    def scope(self, first: int, end: int) -> str:
        """Return the qualified name around the lines ``[first, end)``: 0-based, empty for an insertion."""
        return ".".join(header.name for header in self.around(first, end)) or MODULE

    def around(self, first: int, end: int) -> list[Header]:
        """Return the headers around the lines ``[first, end)``, the outermost first.

        An insertion before ``first`` belongs where the line above it does. A header with less indentation than a line
        below it is around that line, unless something else at the header's level stands between the two.
        """
        lines = self._lines
        at = next((spot for spot in range(first, min(end, len(lines))) if lines[spot].strip()), first - 1)
        at = min(at, len(lines) - 1)
        while at >= 0 and not lines[at].strip():
            at -= 1
        if at < 0:
            return []
        width = _width(lines[at])
        found: list[Header] = []
        below = at
        number = bisect_right(self._places, at) - 1
        while number >= 0:
            header = self._headers[number]
            if header.line == at or (header.width < width and self.end(header) > below):
                found.append(header)
                below, width = header.line, header.width
            if width == 0:
                break
            # What is indented no less than this one ended where it began.
            number = self._outer[number]
        return found[::-1]

    def begun_at(self, lines: Container[int]) -> frozenset[str]:
        """Return the names, not qualified, of the classes and functions that begin at 0-based ``lines``."""
        return frozenset(header.name for header in self._headers if header.line in lines)

    def names(self, among: Set[str] | None = None) -> list[tuple[int, str]]:
        """Return the 0-based line and the qualified name of each class and function, in order.

        With ``among`` only of those that by themselves are called one of them.
        """
        found = self._headers if among is None else [header for header in self._headers if header.name in among]
        return [(header.line, self.scope(header.line, header.line + 1)) for header in found]

    def has(self, name: str) -> bool:
        """Tell whether there is a class or function with this qualified name."""
        return name in self._named

    def text(self, name: str) -> bytes | None:
        """Return the lines of the class or function with this qualified name; None when there is none."""
        header = self._named.get(name)
        return None if header is None else b"".join(self._lines[header.line : self.end(header)])

    def end(self, header: Header) -> int:
        """Return the 0-based line after the last one of a class or function."""
        known = self._ends.get(header)
        if known is None:
            known = self._ends[header] = self._find_end(header)
        return known

    @cached_property
    def _tops(self) -> list[int]:
        """The 0-based first line of each part, and the line behind the last one."""
        return list(accumulate((len(lines_in(part)) for part in self._parts), initial=0))

    @cached_property
    def _headers(self) -> list[Header]:
        return [
            Header(top + header.line, header.width, header.name)
            for top, part in zip(self._tops, self._parts, strict=False)
            for header, _ in _headers_in(part)
        ]

    @cached_property
    def _places(self) -> list[int]:
        return [header.line for header in self._headers]

    @cached_property
    def _named(self) -> dict[str, Header]:
        """The first header of each qualified name."""
        return {self.scope(header.line, header.line + 1): header for header in reversed(self._headers)}

    @cached_property
    def _outer(self) -> list[int]:
        """For each header the number of the last one before it that is indented less; -1 where there is none."""
        found: list[int] = []
        for number, header in enumerate(self._headers):
            other = number - 1
            while other >= 0 and self._headers[other].width >= header.width:
                other = found[other]
            found.append(other)
        return found

    @cached_property
    def _begins(self) -> list[int]:
        """Where in the text of its part the name of each header ends."""
        return [begin for part in self._parts for _, begin in _headers_in(part)]

    @cached_property
    def _has_tabs(self) -> bool:
        return any(b"\t" in part.text for part in self._parts)

    def _find_end(self, header: Header) -> int:
        if self._has_tabs:
            below = range(header.line + 1, len(self._lines))
            return next((spot for spot in below if _is_level(self._lines[spot], header.width)), len(self._lines))
        # Whatever begins in a part ends there at the latest: what the next one begins with is at every level.
        number = bisect_right(self._tops, header.line) - 1
        text = self._parts[number].text
        begin = self._begins[bisect_right(self._places, header.line) - 1]
        match = _level(header.width).search(text, begin)
        return self._tops[number + 1] if match is None else header.line + text.count(b"\n", begin, match.start()) + 1


@lru_cache(maxsize=64)
def _level(width: int) -> re.Pattern[bytes]:
    """Return a pattern for the beginning of a statement at this level or further out."""
    return re.compile(rb"\n {0,%d}[^\s)\]}#\"']" % width)


@of_part
def _headers_in(text: bytes) -> list[tuple[Header, int]]:
    """Return the headers of a part, with lines that count from its beginning, each with where its name ends."""
    found: dict[int, re.Match[bytes]] = {}
    # The pattern is tried where a keyword stands, since to try it at every line takes five times as long.
    for keyword in _KEYWORDS:
        at = 0
        while at >= 0 and (word := keyword.search(text, at)) is not None:
            match = _HEADER.match(text, text.rfind(b"\n", 0, word.start()) + 1)
            if match is not None:
                found[match.start()] = match
            # What follows in the line is none that begins it.
            at = text.find(b"\n", word.end())
    headers: list[tuple[Header, int]] = []
    line = begin = 0
    for start in sorted(found):
        line, begin, match = line + text.count(b"\n", begin, start), start, found[start]
        headers.append((Header(line, _width(match[1]), match[2].decode("utf-8", "replace")), match.end()))
    return list(_shallow(headers))


def _shallow(headers: Iterable[tuple[Header, int]]) -> Iterator[tuple[Header, int]]:
    """Yield the headers in order, without those inside of as many others as Python can tell apart."""
    around: list[int] = []
    for header, at in headers:
        while around and around[-1] >= header.width:
            around.pop()
        if len(around) < _DEEPEST:
            around.append(header.width)
            yield header, at


@remembered(most=1_000_000, lasting=False)
def outline(content: bytes) -> Outline:
    """Return the outline of a text that several steps ask for."""
    return Outline(lines_of(content), content)


def _is_level(line: bytes, width: int) -> bool:
    """Tell whether a statement at this level or further out begins here; closing brackets and comments do not count."""
    head = line[: width + 1].strip()
    return bool(head) and head[:1] not in _NO_STATEMENT and _width(line) <= width


def _width(line: bytes) -> int:
    head = line[: len(line) - len(line.lstrip(b" \t"))]
    return len(head.expandtabs(8)) if b"\t" in head else len(head)
