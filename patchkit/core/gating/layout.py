"""A Python source in chunks, from one class or function at module level to the next, and what each chunk holds.

The texts that gates compare share nearly all of their chunks, and so do the releases that a patch is carried to: what
is found in a chunk is kept with its part of the text (``core.parts``). As in ``patchkit.core.gating.focus``, whose
blocks these are, everything is found by indentation, without a parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from patchkit.core.gating.focus import INNER, functions_in, head_of, is_whole, stub
from patchkit.core.merging.words import IN_THREE, in_quotes
from patchkit.core.parts import of_part, parts_of
from patchkit.core.remembered import remembered

_FIRST: Final = re.compile(rb"(?P<kind>class|def|async[ \t]+def)[ \t]+(?P<name>[\w\x80-\xff]+)")
# A line that goes on with what a definition began: further right, blank, a comment, a closing bracket.
_END: Final = re.compile(rb"\n[^ \t\r\n#)\]}]")
_NESTED_CLASS: Final = re.compile(INNER.pattern.replace(b"def|async[ \\t]+def", b"class"), re.MULTILINE)
_STRINGS: Final = re.compile(in_quotes(IN_THREE + "QQQ").encode(), re.DOTALL)
_IMPORT: Final = re.compile(rb"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+(\([^)]*\)|[^\n(]*)", re.MULTILINE)
# With blanks around the sign: what has none is a keyword argument of a call over several lines.
_ASSIGNED: Final = re.compile(rb"^[ \t]*((?:\w+[ \t]*,[ \t]*)*\w+)(?:[ \t]*:[^=\n]+)? = ", re.MULTILINE)
_NESTED: Final = re.compile(rb"\n[ \t]+(?:async[ \t]+)?(?:def|class)[ \t]+([\w\x80-\xff]+)")
# A search for a word jumps to it, where one for either of two is tried at every byte. No match of one overlaps with one
# of the other: each has a blank behind its keyword alone.
_DEFINED: Final = tuple(re.compile(keyword + rb" ([\w\x80-\xff]+)[(:]") for keyword in (b"def", b"class"))
_COMMENT: Final = re.compile(rb"#[^\n]*")


class Chunk:
    """A class or function at module level and the statements behind it, or what stands before the first of them."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        match = _FIRST.match(text)
        self.name = match["name"] if match is not None else b""
        """Of the class or function; empty when there is none."""
        self.is_class = match is not None and match["kind"] == b"class"

    @cached_property
    def block(self) -> bytes:
        """The text of the class or function itself; empty when there is none."""
        if not self.name:
            return b""
        end = _END.search(self.text)
        return self.text if end is None else self.text[: end.start() + 1]

    @cached_property
    def rest(self) -> bytes:
        """Module level."""
        return self.text[len(self.block) :]

    @cached_property
    def functions(self) -> tuple[re.Match[bytes], ...]:
        """Functions that are not part of another function, in order."""
        found: list[re.Match[bytes]] = []
        if self.block:
            found.extend(functions_in(self.block))
        found.extend(functions_in(self.rest))
        return tuple(found)

    @cached_property
    def texts(self) -> frozenset[bytes]:
        """The texts of the functions."""
        return frozenset(match[0] for match in self.functions)

    @cached_property
    def frame(self) -> tuple[bytes, ...]:
        """The lines outside functions, and the first line of each function."""
        text = b"".join(
            between if match is None else between + match[0].partition(b"\n")[0] + b"\n"
            for between, match in self._pieces
        )
        return tuple(text.split(b"\n"))

    @cached_property
    def is_whole(self) -> bool:
        """Whether no string of three quotes and no line goes on behind it."""
        return is_whole(self.text)

    def without(self, known: frozenset[bytes]) -> bytes:
        """Return the text with a stub for each function of ``known``."""
        if known.isdisjoint(self.texts):
            return self.text
        out: list[bytes] = []
        for between, match in self._pieces:
            out.append(between)
            if match is not None:
                text = match[0]
                out.append(stub(match, shown=False) if text in known and is_whole(text) else text)
        return b"".join(out)

    def alone(self, known: frozenset[bytes]) -> bytes:
        """Return a text that can be read by itself, with stubs for ``known`` functions, each of as many lines."""
        text = self.without(known)
        tail = text.rstrip().rpartition(b"\n")[2]
        # A decorator belongs to the next chunk.
        return text + b"def _():pass\n" if tail[:1] in b"@)" else text

    @cached_property
    def _pieces(self) -> tuple[tuple[bytes, re.Match[bytes] | None], ...]:
        """Each function with what stands between it and the one before, and what stands behind the last one."""
        found: list[tuple[bytes, re.Match[bytes] | None]] = []
        at = 0
        for match in self.functions:
            start = 0 if match.string is self.block else len(self.block)
            found.append((self.text[at : start + match.start()], match))
            at = start + match.end()
        return (*found, (self.text[at:], None))

    @cached_property
    def heads(self) -> tuple[tuple[bytes, bytes], ...]:
        """Name and head of each function, and of the class with its first line."""
        found = [(match["name"], head_of(match[0])) for match in self.functions]
        if self.is_class:
            constructors = b"".join(head for name, head in found if name == b"__init__")
            found.append((self.name, self.block.partition(b"\n")[0] + constructors))
        return tuple(found)

    @cached_property
    def constructor(self) -> bytes:
        """The head of the first constructor in a class; empty when there is none."""
        if self.name == b"__init__":  # the class itself goes by that name
            return next(head for name, head in self.heads if name == b"__init__")
        return next((head_of(match[0]) for match in self.functions if match["name"] == b"__init__"), b"")

    @cached_property
    def imports(self) -> frozenset[bytes]:
        """Names that imports at module level bind, as far as one can see without a parser."""
        found: set[bytes] = set()
        for match in _IMPORT.finditer(self._module_level):
            for part in _COMMENT.sub(b"", match[1]).strip(b"() \t\n\r,").split(b","):
                words = part.split()
                if words:
                    found.add(words[-1] if len(words) > 1 else words[0].partition(b".")[0])
        return frozenset(found)

    @cached_property
    def bound(self) -> frozenset[bytes]:
        """Names that are bound at module level for sure; there may be more."""
        names = {self.name, *self.imports}
        for match in _ASSIGNED.finditer(self._module_level):
            names.update(word.strip() for word in match[1].split(b","))
        names.update(match["name"] for match in functions_in(self.rest))
        names.update(match["name"] for match in _NESTED_CLASS.finditer(self.rest))
        return frozenset(names)

    @cached_property
    def defined(self) -> frozenset[bytes]:
        """The names of all classes and functions."""
        return frozenset(name for pattern in _DEFINED for name in pattern.findall(self.text))

    @cached_property
    def _module_level(self) -> bytes:
        text = _STRINGS.sub(b"", self.rest)
        return b"" if b'"""' in text or b"'''" in text else _NESTED_CLASS.sub(b"", INNER.sub(b"", text))


class Layout:
    """The chunks of one text."""

    def __init__(self, chunks: tuple[Chunk, ...]) -> None:
        self.chunks = chunks
        self.texts = frozenset(chunk.text for chunk in chunks)
        self.places: dict[bytes, list[int]] = {}
        """The numbers of the chunks by the name of their class or function; empty for those without."""
        for number, chunk in enumerate(chunks):
            self.places.setdefault(chunk.name, []).append(number)
        self._bound: set[bytes] = set()
        self._read = 0

    @cached_property
    def is_whole(self) -> bool:
        """Whether no string and no line goes on from one chunk into the next."""
        return all(chunk.is_whole for chunk in self.chunks)

    def binds(self, name: bytes) -> bool:
        """Tell whether ``name`` is bound at module level for sure."""
        if name in self.places or name in self._bound:
            return True
        # Chunks are read as far as the names that are asked for need it. Threads may share the layout: one counts as
        # read when its names are there.
        for number in range(self._read, len(self.chunks)):
            bound = self.chunks[number].bound
            self._bound.update(bound)
            self._read = number + 1
            if name in bound:
                return True
        return False

    @cached_property
    def nested(self) -> dict[bytes, list[int]]:
        """The numbers of the chunks by the indented classes and functions in their rest."""
        found: dict[bytes, list[int]] = {}
        for number, chunk in enumerate(self.chunks):
            for name in frozenset(_NESTED.findall(b"\n" + chunk.rest)) if chunk.rest else ():
                found.setdefault(name, []).append(number)
        return found

    def beside(self, other: Layout) -> list[Chunk]:
        """Return the chunks that ``other`` does not have."""
        return [chunk for chunk in self.chunks if chunk.text not in other.texts]


_chunk: Final = of_part(Chunk)


@remembered(most=1_000_000, lasting=False)
def layout(content: bytes) -> Layout:
    """Return the layout of ``content``."""
    return Layout(tuple(map(_chunk, parts_of(content if content.endswith(b"\n") else content + b"\n"))))


def functions_of(chunks: Iterable[Chunk]) -> frozenset[bytes]:
    """Return the texts of all functions in ``chunks``."""
    return frozenset[bytes]().union(*(chunk.texts for chunk in chunks))


class Sides:
    """Two layouts and where they differ."""

    def __init__(self, here: Layout, there: Layout) -> None:
        self.here = here.beside(there)
        """Chunks that only the first has."""
        self.there = there.beside(here)
        """Chunks that only the second has."""

    @cached_property
    def functions(self) -> tuple[frozenset[bytes], frozenset[bytes]]:
        """Functions in chunks that only one has, of either."""
        return functions_of(self.here), functions_of(self.there)

    @cached_property
    def new_frame(self) -> frozenset[bytes]:
        """Lines outside functions that only the first has."""
        here, there = (frozenset(line for chunk in side for line in chunk.frame) for side in (self.here, self.there))
        return here - there

    @cached_property
    def _heads(self) -> tuple[dict[bytes, list[bytes]], dict[bytes, list[bytes]]]:
        return _heads(self.here), _heads(self.there)

    @cached_property
    def new_heads(self) -> frozenset[bytes]:
        """Names of functions and classes with a head that only the first has."""
        here, there = self._heads
        known = frozenset(head for heads in there.values() for head in heads)
        return frozenset(name for name, heads in here.items() if not known.issuperset(heads))

    def same_heads(self, name: bytes) -> bool:
        """Tell whether what goes by ``name`` has the same head or heads in both."""
        return self._heads[0].get(name) == self._heads[1].get(name)


def _heads(chunks: Iterable[Chunk]) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = {}
    for chunk in chunks:
        for name, head in chunk.heads:
            found.setdefault(name, []).append(head)
    return found
