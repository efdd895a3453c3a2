"""Cutting a Python source down to what a change touched, so that gates cost what the change is worth.

Bodies of functions that both texts have are replaced by a stub, and so are whole classes at module level. What stays is
module level, what changed, and a name for everything that was cut, on its own line: line numbers are those of the text.
Blocks are found by their indentation with one regular expression; a text in which that goes wrong (a line of a string
that stands further left than the code around it) leaves something that does not parse, and is then taken whole.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final

import msgspec

_NAME: Final = rb"(?P<name>[\w\x80-\xff]+)"
# Lines further right than the head, blank ones, comments, and brackets that close what the head opened.
_REST: Final = rb"(?P<rest>(?:(?P=indent)[ \t]+[^\n]*\n|[ \t\r]*(?:#[^\n]*)?\n|(?P=indent)[)\]}][^\n]*\n)*)"
TOP: Final = re.compile(
    rb"^(?P<indent>)(?P<kind>class|def|async[ \t]+def)[ \t]+" + _NAME + rb"[^\n]*\n" + _REST, re.MULTILINE
)
"""A class or function at module level."""
INNER: Final = re.compile(
    rb"^(?P<indent>[ \t]*)(?P<kind>def|async[ \t]+def)[ \t]+" + _NAME + rb"[^\n]*\n" + _REST, re.MULTILINE
)
"""A function that is not part of another one."""
_DEF: Final = re.compile(rb"def[ \t]")
_HEAD: Final = re.compile(INNER.pattern.removesuffix(_REST).removeprefix(b"^"))
_FUNCTION: Final = re.compile(_HEAD.pattern + rb"(?P<rest>.*)", re.DOTALL)
_WIDEST: Final = 64
"""Columns of indentation for which a pattern of its own is worth its making."""
# Of three equal characters bytes.count() knows no better than to look at every byte twice.
_QUOTES: Final = re.compile(rb'"""'), re.compile(rb"'''")
_END: Final = 100
"""Bytes at the end of a block, where most have something else than white space."""
_FEW: Final = 8
"""Up to so many lines a search for each takes less time than to split a text into its lines."""
# One that has its body on the same line ends where the next definition begins.
_HEAD_END: Final = re.compile(rb":[ \t]*(?:#[^\n]*)?\r?\n|\n(?=[ \t]*(?:async[ \t]+)?(?:def|class)[ \t])")


class Blocks(msgspec.Struct, frozen=True):
    """The texts of the classes and functions of a source."""

    top: frozenset[bytes]
    """Classes and functions at module level."""
    inner: frozenset[bytes]
    """Functions elsewhere that are not part of another function: methods, and what stands under an ``if``."""


class Focus(msgspec.Struct, frozen=True):
    """A source without what another source has too."""

    content: bytes
    """The text with stubs; as many lines as the source, and a last newline."""
    frame: tuple[bytes, ...]
    """The lines outside every function: imports, statements at module level, fields and heads of definitions."""
    cut: bytes
    """What the stubs stand for."""


def blocks(content: bytes) -> Blocks:
    """Return the blocks of ``content``."""
    text = _ended(content)
    top: set[bytes] = set()
    inner: set[bytes] = set()
    for piece, match in _pieces(text):
        if match is not None:
            top.add(piece)
        if match is None or match["kind"] == b"class":
            inner.update(found[0] for found in functions_in(piece))
    return Blocks(frozenset(top), frozenset(inner))


def focus(content: bytes, other: Blocks, keep: frozenset[bytes] = frozenset()) -> Focus:
    """Cut the blocks of ``other`` out of ``content``; functions and classes called one of ``keep`` show their head."""
    text = _ended(content)
    out: list[bytes] = []
    frame: list[bytes] = []
    cut: list[bytes] = []
    for piece, match in _pieces(text):
        if match is not None and match["kind"] != b"class":
            if piece in other.top and is_whole(piece):
                out.append(stub(match, shown=match["name"] in keep))
                cut.append(piece)
            else:
                out.append(piece)
            frame.append(piece[: piece.index(b"\n")])
            continue
        if match is not None and match["name"] not in keep and piece in other.top and is_whole(piece):
            out.append(stub(match, shown=False))
            frame.append(piece[: piece.index(b"\n")])
            cut.append(piece)
            continue
        shown = keep | {b"__init__"} if match is not None and match["name"] in keep else keep
        at = 0
        for found in functions_in(piece):
            between = piece[at : found.start()]
            out.append(between)
            frame.extend(between.split(b"\n"))
            frame.append(found[0][: found[0].index(b"\n")])
            if found[0] in other.inner and is_whole(found[0]):
                out.append(stub(found, shown=found["name"] in shown))
                cut.append(found[0])
            else:
                out.append(found[0])
            at = found.end()
        out.append(piece[at:])
        frame.extend(piece[at:].split(b"\n"))
    return Focus(b"".join(out), tuple(frame), b"".join(cut))


class Touched:
    """Which lines of a text may be new: those that have another neighbour than anywhere in the other text.

    Pairs of neighbouring lines are counted, as in a multiset, so that a line that the other text has elsewhere is seen
    where it is inserted, and both lines around something that was taken out.
    """

    def __init__(self, content: bytes, other: bytes) -> None:
        lines = content.split(b"\n")
        pairs = list(pairwise(lines))
        known = Counter(pairwise(other.split(b"\n")))
        known.subtract(pairs)
        marks = bytearray(len(lines) + 2)
        for number, pair in enumerate(pairs, start=1):
            if known[pair] < 0:
                marks[number] = marks[number + 1] = 1
        self._before = list(accumulate(marks))

    def within(self, first: int, last: int) -> bool:
        """Tell whether any of the 1-based lines from ``first`` to ``last`` may be new."""
        end = len(self._before) - 1
        return self._before[min(last, end)] > self._before[min(first, end) - 1]

    def node(self, node: ast.AST) -> bool:
        """Tell whether a node may be new; what has no lines of its own may."""
        first = getattr(node, "lineno", None)
        return first is None or self.within(first, getattr(node, "end_lineno", None) or first)


def without(found: Blocks, words: Iterable[bytes]) -> Blocks:
    """Return the blocks of ``found`` that have none of ``words`` in their text."""
    unwanted = list(words)
    if not unwanted:
        return found
    top = frozenset(block for block in found.top if not any(word in block for word in unwanted))
    return Blocks(top, frozenset(block for block in found.inner if not any(word in block for word in unwanted)))


def new_heads(here: Blocks, there: Blocks) -> frozenset[bytes]:
    """Return the names of functions that have a head (from ``def`` to the colon) here that they do not have there."""
    known = {head_of(block) for block in there.top | there.inner}
    new = (block for block in (here.top | here.inner) - (there.top | there.inner) if not block.startswith(b"class"))
    return frozenset(match["name"] for block in new if head_of(block) not in known for match in INNER.finditer(block))


def new_classes(here: Blocks, there: Blocks) -> frozenset[bytes]:
    """Return the names of the classes at module level that are not the same in both texts."""
    found = (TOP.match(block) for block in here.top - there.top)
    return frozenset(match["name"] for match in found if match is not None and match["kind"] == b"class")


def head_of(block: bytes, at: int = 0) -> bytes:
    """Return a definition, which begins at ``at``, up to its colon, without white space."""
    end = _HEAD_END.search(block, at)
    return b"".join(block[at : end.end() if end is not None else len(block)].split())


def head_lines(block: bytes) -> int:
    """Return how many lines a definition has up to its colon."""
    end = _HEAD_END.search(block)
    return block.count(b"\n", 0, end.end() if end is not None else len(block))


def holding(content: bytes, lines: Iterable[bytes]) -> frozenset[bytes]:
    """Return the names of the definitions at module level that have one of ``lines``, white space at its ends aside."""
    wanted = frozenset(lines)
    few = len(wanted) <= _FEW
    return frozenset(
        match["name"]
        for piece, match in _pieces(_ended(content))
        if match is not None
        and not (few and not any(line in piece for line in wanted))
        and not wanted.isdisjoint(map(bytes.strip, piece.split(b"\n")))
    )


def only(content: bytes, names: frozenset[bytes]) -> bytes:
    """Return ``content`` with a stub for each class and function at module level but those called one of ``names``."""
    out: list[bytes] = []
    for piece, match in _pieces(_ended(content)):
        cut = match is not None and match["name"] not in names and is_whole(piece)
        out.append(stub(match, shown=False) if cut and match is not None else piece)
    return b"".join(out)


def functions_in(text: bytes) -> Iterator[re.Match[bytes]]:
    """Yield what ``INNER`` finds in a text.

    The pattern is tried at every byte outside of functions, and goes through what it finds line by line; searches jump
    to the keyword and to the line behind the function.
    """
    if b"\t" in text or b"\r" in text or not text.endswith(b"\n"):
        yield from INNER.finditer(text)
        return
    at = 0
    while (found := _DEF.search(text, at)) is not None:
        function = _function_at(text, max(at, text.rfind(b"\n", at, found.start()) + 1))
        if function is None:
            # Whatever else the line has does not begin it.
            at = text.find(b"\n", found.end())
        else:
            yield function
            at = function.end()


def _function_at(text: bytes, start: int) -> re.Match[bytes] | None:
    """Return the function that begins at the beginning of a line; the text has no tabs, and its last line an ending."""
    head = _HEAD.match(text, start)
    if head is None:
        return None
    width = len(head["indent"])
    if width > _WIDEST:
        return INNER.match(text, start)
    end = _behind(width).search(text, head.end() - 1)
    return _FUNCTION.match(text, start, len(text) if end is None else end.start() + 1)


@lru_cache(maxsize=_WIDEST + 1)
def _behind(width: int) -> re.Pattern[bytes]:
    """Return a pattern for the beginning of a line that is no part of a function with so many blanks before it."""
    # Most lines are further right, which is seen at once. What ends it stands at its level, brackets further left.
    bracket = rb"| {0,%d}[)\]}]" % (width - 1) if width else b""
    return re.compile(rb"\n(?!%s)(?: {0,%d}[^ \n#)\]}]%s)" % (b" " * (width + 1), width, bracket))


def _ended(content: bytes) -> bytes:
    return content if content.endswith(b"\n") else content + b"\n"


def _pieces(text: bytes) -> Iterator[tuple[bytes, re.Match[bytes] | None]]:
    """Yield the text in pieces: a block at module level with its match, or what stands between two with None."""
    at = 0
    for match in TOP.finditer(text):
        if match.start() > at:
            yield text[at : match.start()], None
        yield match[0], match
        at = match.end()
    if at < len(text):
        yield text[at:], None


def is_whole(block: bytes) -> bool:
    """Tell whether no string of three quotes and no line goes on after the block, nor comes from before it."""
    # The end is tried first by itself, since to strip all of a block copies it.
    end = block[-_END:].rstrip() or block.rstrip()
    return not end.endswith(b"\\") and not any(len(quotes.findall(block)) % 2 for quotes in _QUOTES)


def stub(match: re.Match[bytes], *, shown: bool) -> bytes:
    """Return a definition of the same name on the first line, or with its own head, and as many lines."""
    block = match[0]
    lines = block.count(b"\n")
    if shown:
        end = _HEAD_END.search(block)
        if end is not None and end.end() < len(block):
            head = block[: end.end()]
            return head + match["indent"] + b" pass" + b"\n" * (lines - head.count(b"\n"))
        return block
    if match["kind"] == b"class":
        return b"class " + match["name"] + b":pass" + b"\n" * lines
    return match["indent"] + b"def " + match["name"] + b"(*_a,**_k):pass" + b"\n" * lines
