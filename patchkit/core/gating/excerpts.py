"""What a text has of some classes and functions, and of the classes around them: no more than tells what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from patchkit.core.gating.common_statements import Apart, apart
from patchkit.core.gating.focus import is_whole, stub
from patchkit.core.gating.layout import Chunk, Layout, layout

_NOTHING: Final[Mapping[bytes, bytes]] = {}


def excerpts(one: bytes, two: bytes, scopes: Iterable[str]) -> tuple[bytes, bytes]:
    """Return what each text has of ``scopes`` (qualified names) and the classes and functions around them.

    Lines keep their text and order, not their number. Functions of a class that are none of ``scopes``, and those that
    both texts have word for word, are stubs of one line. All of a text where a string or a continued line goes on from
    one chunk into the next.
    """
    return _excerpts(one, two, [*scopes], _NOTHING, _NOTHING)


def excerpts_apart(one: bytes, two: bytes, scopes: Iterable[str]) -> Apart:
    """Return the same without statements that both versions of a function begin or end with, and those statements.

    Functions around one of ``scopes``, and those of which a text has several with one name, are all there.
    """
    wanted = [*scopes]
    pairs = [*_pairs(layout(one), layout(two), wanted)]
    cut = [apart(*pair) for pair in pairs]
    here = {text: each.one for (text, _), each in zip(pairs, cut, strict=True)}
    there = {text: each.two for (_, text), each in zip(pairs, cut, strict=True)}
    return Apart(*_excerpts(one, two, wanted, here, there), b"".join(each.common for each in cut))


def _pairs(one: Layout, two: Layout, scopes: list[str]) -> Iterator[tuple[bytes, bytes]]:
    """Yield both versions of each function that is one of ``scopes`` and holds none of them."""
    if not (one.is_whole and two.is_whole):  # one of the excerpts is all of its text
        return
    for scope in scopes:
        if any(other.startswith(scope + ".") for other in scopes):
            continue
        path = scope.encode().split(b".")
        versions = [_functions(side, path) for side in (one, two)]
        if all(len(texts) == 1 for texts in versions):
            yield versions[0][0], versions[1][0]


def _functions(side: Layout, path: list[bytes]) -> list[bytes]:
    """Return the texts of the functions at module level, or in a class there, that go by a qualified name."""
    chunks = _called(side, path[0])
    if len(path) == 1:
        return [chunk.block for chunk in chunks if not chunk.is_class]
    return [
        match[0]
        for chunk in chunks
        for match in chunk.functions
        if len(path) == 2 and match.string is chunk.block and match["name"] == path[1]
    ]


def _excerpts(
    one: bytes, two: bytes, wanted: list[str], here: Mapping[bytes, bytes], there: Mapping[bytes, bytes]
) -> tuple[bytes, bytes]:
    """Return both excerpts; ``here`` and ``there`` tell what stands for some functions of either text."""
    sides = layout(one), layout(two)
    tops = {scope.split(".", maxsplit=1)[0].encode() for scope in wanted}
    plain = [
        {chunk.name: _plain(chunk) for name in tops for chunk in _called(side, name) if chunk.is_class}
        for side in sides
    ]
    both = {name: texts & plain[1].get(name, frozenset()) for name, texts in plain[0].items()}
    return _excerpt(one, sides[0], wanted, both, here), _excerpt(two, sides[1], wanted, both, there)


def _called(side: Layout, name: bytes) -> list[Chunk]:
    return [side.chunks[at] for at in side.places.get(name, ())]


def _plain(chunk: Chunk) -> frozenset[bytes]:
    """Return the functions in a class that have no decorators."""
    block = chunk.block
    return frozenset(
        match[0] for match in chunk.functions if match.string is block and not _is_decorated(block, match.start())
    )


def _is_decorated(block: bytes, at: int) -> bool:
    # The line above that is not blank.
    end = at
    while end and block[end - 1 : end].isspace():
        end -= 1
    return block[block.rfind(b"\n", 0, end) + 1 : end].lstrip()[:1] in (b"@", b")", b"]", b"}")


def _excerpt(
    content: bytes,
    text: Layout,
    scopes: Iterable[str],
    both: Mapping[bytes, frozenset[bytes]],
    shorter: Mapping[bytes, bytes],
) -> bytes:
    if not text.is_whole:
        return content
    paths = [scope.encode().split(b".") for scope in scopes]
    tops = frozenset(path[0] for path in paths)
    members = frozenset(name for path in paths for name in path[1:])
    nested = {at for name in tops for at in text.nested.get(name, ())}
    out: list[bytes] = []
    for at in sorted(nested.union(*(text.places.get(name, ()) for name in tops))):
        chunk = text.chunks[at]
        if chunk.name in tops:
            if at and at - 1 not in nested:
                out.append(_decorators(text.chunks[at - 1].rest))
            if chunk.is_class:
                out.append(_cut(chunk, members, both.get(chunk.name, frozenset()), shorter))
            else:
                out.append(shorter.get(chunk.block, chunk.block))
        if at in nested:
            out.append(chunk.rest)
    return b"".join(out)


def _cut(chunk: Chunk, members: frozenset[bytes], known: frozenset[bytes], shorter: Mapping[bytes, bytes]) -> bytes:
    """Return a class with stubs for the functions that are none of ``members`` or are ``known``."""
    out: list[bytes] = []
    at = 0
    for match in chunk.functions:
        if match.string is not chunk.block:
            continue
        text = match[0]
        if (match["name"] not in members or text in known) and is_whole(text):
            out += [chunk.block[at : match.start()], stub(match, shown=False).rstrip(b"\n"), b"\n"]
            at = match.end()
        elif text in shorter:
            out += [chunk.block[at : match.start()], shorter[text]]
            at = match.end()
    return b"".join([*out, chunk.block[at:]])


def _decorators(above: bytes) -> bytes:
    """Return the decorators at the end of what stands above a definition."""
    lines = above.splitlines(keepends=True)
    first = at = len(lines)
    while at and (not lines[at - 1].strip() or lines[at - 1][:1] in b" \t)]}#@"):
        at -= 1
        if lines[at].startswith(b"@"):
            first = at
    return b"".join(lines[first:])
