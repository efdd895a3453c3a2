"""Whether one side calls what the other side gave another head: asked of the text, before any tree is made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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


def heads_moved(base: bytes, changed: bytes, target: bytes) -> frozenset[bytes]:
    """Return what one of ``changed`` and ``target`` gave another head, and the other calls where the base did not."""
    old, ours, theirs = map(layout, (base, changed, target))
    sides = Sides(ours, old), Sides(theirs, old)
    return frozenset(name for one, two in (sides, sides[::-1]) for name in _moved(one) if _calls(two, name))


def _moved(side: Sides) -> frozenset[bytes]:
    """Return what has a head that no longer begins with the parameters that it had; more at the end mislead nobody."""
    here, there = dict[bytes, set[_Names]](), dict[bytes, set[_Names]]()
    functions, others = side.functions
    for found, texts, chunks in ((here, functions - others, side.here), (there, others - functions, side.there)):
        for name, names in (*_heads(texts), *_constructors(chunks)):
            found.setdefault(name, set()).add(names)
    return frozenset(
        name
        for name, heads in here.items()
        if any(not any(head[: len(old)] == old for head in heads) for old in there.get(name, ()))
    )


def _heads(texts: Iterable[bytes]) -> Iterator[tuple[bytes, _Names]]:
    for text in texts:
        yield from _heads_in(text)


@remembered(most=1_000_000)
def _heads_in(text: bytes) -> tuple[tuple[bytes, _Names], ...]:
    return tuple((match[1], parameters(head_of(text, match.start()))) for match in _defs(text))


def _defs(text: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the matches of ``_DEF`` with which a line begins."""
    # A pattern for the whole line would be tried at every line, where a search for the keyword jumps to it.
    at = 0
    while at >= 0 and (found := _DEF.search(text, at)):
        if _BEFORE.fullmatch(text, text.rfind(b"\n", at, found.start()) + 1 or at, found.start()):
            yield found
        # Whatever else the line has does not begin it.
        at = text.find(b"\n", found.end())


def _constructors(chunks: Iterable[Chunk]) -> Iterator[tuple[bytes, _Names]]:
    """Yield each class with the parameters of its constructor, or else with its fields."""
    for chunk in chunks:
        if chunk.is_class:
            heads = [parameters(head) for name, head in chunk.heads if name == b"__init__"]
            yield chunk.name, heads[0] if heads else tuple(filter(None, map(_field, chunk.frame)))


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
