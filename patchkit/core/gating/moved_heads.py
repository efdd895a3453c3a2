"""Whether one side calls what the other side gave another head: asked of the text, before any tree is made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import Final

from patchkit.core.gating.focus import head_of
from patchkit.core.gating.layout import Chunk, Sides, layout
from patchkit.core.gating.references import places
from patchkit.core.remembered import remembered

_DEF: Final = re.compile(rb"def[ \t]+([\w\x80-\xff]+)")
_BEFORE: Final = re.compile(rb"[ \t]*(?:async[ \t]+)?")
_FIELD: Final = re.compile(rb"[ \t]+(\w+)[ \t]*:")
_BRACKET: Final = re.compile(rb"[()\[\]{},]")
_PARAMETER: Final = re.compile(rb"[*]*[\w\x80-\xff]+|[*/]")
_PARTIAL: Final = re.compile(rb"partial\([\w.]*\Z")
_NEAR: Final = 200
"""Bytes before a name that are looked at."""

_Names = tuple[bytes, ...]
_Head = bytes | tuple[bytes, ...]
"""A head without white space, or the lines of a class without a constructor, whose fields are its parameters."""


def heads_moved(base: bytes, changed: bytes, target: bytes) -> frozenset[bytes]:
    """Return what one of ``changed`` and ``target`` gave another head, and the other calls where the base did not."""
    old, ours, theirs = map(layout, (base, changed, target))
    sides = Sides(ours, old), Sides(theirs, old)
    return frozenset(name for one, two in (sides, sides[::-1]) for name in _moved(one) if _calls(two, name))


def _moved(side: Sides) -> frozenset[bytes]:
    """Return what has a head that no longer begins with the parameters that it had; more at the end mislead nobody."""
    here, there = dict[bytes, set[_Head]](), dict[bytes, set[_Head]]()
    functions, others = side.functions
    for found, texts, chunks in ((here, functions - others, side.here), (there, others - functions, side.there)):
        for name, head in (*_heads(texts), *_constructors(chunks)):
            found.setdefault(name, set()).add(head)
    # Nearly all heads stand there as they did, so that their parameters need not be told apart.
    return frozenset(
        name for name, heads in here.items() if _misleads(there.get(name, frozenset[_Head]()) - heads, heads)
    )


def _misleads(gone: Set[_Head], heads: Set[_Head]) -> bool:
    """Tell whether none of ``heads`` begins with the parameters of one that is gone."""
    begun = set(map(_names, heads)) if gone else set[_Names]()
    return any(not any(names[: len(old)] == old for names in begun) for old in set(map(_names, gone)))


def _names(head: _Head) -> _Names:
    return parameters(head) if isinstance(head, bytes) else tuple(filter(None, map(_field, head)))


def _heads(texts: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for text in texts:
        yield from _heads_in(text)


@remembered(most=1_000_000)
def _heads_in(text: bytes) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((match[1], head_of(text, match.start())) for match in _defs(text))


def _defs(text: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the matches of ``_DEF`` with which a line begins."""
    # A pattern for the whole line would be tried at every line, where a search for the keyword jumps to it.
    at = 0
    while at >= 0 and (found := _DEF.search(text, at)):
        if _BEFORE.fullmatch(text, text.rfind(b"\n", at, found.start()) + 1 or at, found.start()):
            yield found
        # Whatever else the line has does not begin it.
        at = text.find(b"\n", found.end())


def _constructors(chunks: Iterable[Chunk]) -> Iterator[tuple[bytes, _Head]]:
    """Yield each class with the head of its constructor, or else with the lines that hold its fields."""
    for chunk in chunks:
        if chunk.is_class:
            yield chunk.name, chunk.constructor or chunk.frame


def _field(line: bytes) -> bytes:
    match = _FIELD.match(line)
    return b"" if match is None else match[1]


def parameters(head: bytes) -> _Names:
    """Return the names of the parameters of a head without white space, ``*`` and ``/`` among them."""
    found: list[bytes] = []
    depth = 0
    for match in _BRACKET.finditer(head):
        sign = match[0]
        begins = depth == (sign == b",") and sign in b"(,"
        depth += (sign in b"([{") - (sign in b")]}")
        name = _PARAMETER.match(head, match.end()) if begins else None
        if name is not None:
            found.append(name[0])
        if depth == 0:
            break
    return tuple(found)


def _calls(side: Sides, name: bytes) -> bool:
    functions, others = side.functions
    return any(_calls_in(text, name) for text in (*(functions - others), *side.new_frame) if name in text)


def _calls_in(text: bytes, name: bytes) -> bool:
    """Tell whether a text calls ``name``, or gives it to ``partial``, other than where it defines it."""
    for at in places(text, name):
        before, end = text[max(0, at - _NEAR) : at], at + len(name)
        if text[end : end + 1] != b"(":
            if _PARTIAL.search(before):
                return True
        elif not before.endswith((b"def ", b"class ")):
            return True
    return False
