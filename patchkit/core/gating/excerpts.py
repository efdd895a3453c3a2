"""What a text has of some classes and functions, and of the classes around them: no more than tells what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from patchkit.core.gating.focus import is_whole, stub
from patchkit.core.gating.layout import Chunk, Layout, layout


def excerpts(one: bytes, two: bytes, scopes: Iterable[str]) -> tuple[bytes, bytes]:
    """Return what each text has of ``scopes`` (qualified names) and the classes and functions around them.

    Lines keep their text and order, not their number. Functions of a class that are none of ``scopes``, and those that
    both texts have word for word, are stubs of one line. All of a text where a string or a continued line goes on from
    one chunk into the next.
    """
    sides = layout(one), layout(two)
    wanted = [*scopes]
    tops = {scope.split(".", maxsplit=1)[0].encode() for scope in wanted}
    plain = [
        {chunk.name: _plain(chunk) for chunk in side.chunks if chunk.is_class and chunk.name in tops} for side in sides
    ]
    both = {name: texts & plain[1].get(name, frozenset()) for name, texts in plain[0].items()}
    return _excerpt(one, sides[0], wanted, both), _excerpt(two, sides[1], wanted, both)


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


def _excerpt(content: bytes, text: Layout, scopes: Iterable[str], both: Mapping[bytes, frozenset[bytes]]) -> bytes:
    if not text.is_whole:
        return content
    paths = [scope.encode().split(b".") for scope in scopes]
    tops = frozenset(path[0] for path in paths)
    members = frozenset(name for path in paths for name in path[1:])
    names = b"|".join(map(re.escape, sorted(tops)))
    nested = re.compile(rb"\n[ \t]+(?:async[ \t]+)?(?:def|class)[ \t]+(?:" + names + rb")\b")
    out: list[bytes] = []
    above = b""
    for chunk in text.chunks:
        if chunk.name in tops:
            out.append(_decorators(above))
            out.append(_cut(chunk, members, both.get(chunk.name, frozenset())) if chunk.is_class else chunk.block)
        above = chunk.rest
        if above and nested.search(b"\n" + above):
            out.append(above)
            above = b""
    return b"".join(out)


def _cut(chunk: Chunk, members: frozenset[bytes], known: frozenset[bytes]) -> bytes:
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
