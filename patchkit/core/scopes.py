"""Where classes and functions begin and end, by qualified name.

tree-sitter (through ast-grep) reads the text rather than ``ast``: a release may be written for a newer Python than the
one that runs patchkit.
"""

from __future__ import annotations

import re
from operator import sub
from typing import TYPE_CHECKING

import msgspec

from patchkit.core.remembered import remembered

if TYPE_CHECKING:
    from ast_grep_py import Config, SgNode

MODULE = "<module>"
"""The scope of what stands at module level."""

LARGEST_SOURCE = 8 << 20
"""Bytes of the largest text that is read as Python: ten times as large as any that people write. Its syntax tree takes
up to 240 times as much memory."""

_SMALL = 16 << 10
"""Bytes of a text that is read whole: it takes a millisecond."""
_LARGEST_PIECE = 128 << 10
"""Bytes of the largest piece: to look for what is wrong in it takes the square of how deep its syntax tree is."""
_STARTS = re.compile(rb"^(?:def |class |async def |@)", re.MULTILINE)
_NEXT = {b"d": b"def a(): 0\n", b"c": b"class a: 0\n", b"a": b"async def a(): 0\n", b"@": b"@a\ndef a(): 0\n"}
"""What stands for the piece behind another one, by its first byte."""
_GOES_ON = re.compile(rb"\\\r?\n(?:[ \t\f]*(?:#[^\n]*)?\r?\n)*\Z")
"""A last line that ends with a backslash: what is behind it is read as one line with it, be that right or wrong."""
_WRONG: Config = {"rule": {"any": [{"kind": "ERROR"}, {"regex": "^$"}]}}
"""What is wrong, and what the parser puts in where something is missing: nothing else is without a character."""

_RULE: Config = {"rule": {"any": [{"kind": "class_definition"}, {"kind": "function_definition"}]}}


class Scope(msgspec.Struct, frozen=True):
    """A class or function, or the module."""

    name: str
    """Qualified name without ``<locals>``, such as ``_ParamAndGradBuffer.__init__``."""
    first: int
    """0-based first line, decorators included."""
    last: int
    """0-based last line, inclusive."""

    def holds(self, start: int, end: int) -> bool:
        """Tell whether the change ``[start, end)`` (0-based lines; empty for an insertion) lies inside.

        An insertion belongs to a scope when the line before or the line after it does, since what is added at the end
        of a function stands after the function's last line.
        """
        return self.first <= start and end - 1 <= self.last


# Releases share texts, and each patch on a file asks for the scopes of what the one before it left.
@remembered(most=4_000_000)
def scopes(content: bytes) -> tuple[Scope, ...]:
    """Return every scope of a Python source, the module first, in order of their first line.

    What is no source, as it has a NUL in it, and what is larger than ``LARGEST_SOURCE`` has the module alone.
    """
    module = Scope(MODULE, 0, content.count(b"\n"))
    if len(content) > LARGEST_SOURCE or b"\0" in content:
        return (module,)
    found = _by_pieces(content) if len(content) > _SMALL else None
    return (module, *(_definitions(content) if found is None else found))


def _by_pieces(content: bytes) -> list[Scope] | None:
    """Return the definitions of a long text, read in pieces; None where it has to be read whole.

    A piece goes from one definition at module level to the next.

    Texts of which one comes from the other by a change of a few lines have nearly all of these pieces in common. The
    sources of statements one after the other are the source of all of them, so that this is exact where each piece is
    whole statements without an error (see ``_piece``).
    """
    starts = [0]
    is_decorated = False
    for match in _STARTS.finditer(content):
        if not is_decorated and match.start():
            starts.append(match.start())
        is_decorated = content.startswith(b"@", match.start())
    ends = [*starts[1:], len(content)]
    if max(map(sub, ends, starts)) > _LARGEST_PIECE:
        return None
    found: list[Scope] = []
    line = 0
    for start, end in zip(starts, ends, strict=True):
        text = content[start:end]
        inside = _piece(text, content[end : end + 1])
        if inside is None:
            return None
        found.extend([Scope(name, line + first, line + last) for name, first, last in inside])
        line += text.count(b"\n")
    return found


@remembered(most=4_000_000)
def _piece(text: bytes, following: bytes) -> tuple[tuple[str, int, int], ...] | None:
    """Return name, first and last line of each definition in whole statements; None where they are not whole, or wrong.

    ``following`` is the first byte of the next piece; empty at the end. They are not whole where the next statement
    would be a part of them, or where a part is missing.
    """
    if following and _GOES_ON.search(text):
        return None
    root = _read(text + _NEXT.get(following, b""))
    if root.find(_WRONG) is not None:
        return None
    found = tuple((scope.name, scope.first, scope.last) for scope in _found(root))
    if not following:
        return found
    begin = root.children()[-1].range().start
    is_apart = (begin.line, begin.column) == (text.count(b"\n"), 0)
    return found[:-1] if is_apart else None


def _definitions(content: bytes) -> list[Scope]:
    return _found(_read(content))


def _read(content: bytes) -> SgNode:
    from ast_grep_py import SgRoot  # noqa: PLC0415 - 25 ms that who asks for no scope does without

    return SgRoot(content.decode("utf-8", "replace"), "python").root()


def _found(root: SgNode) -> list[Scope]:
    found: list[Scope] = []
    # find_all gives definitions in the order of the text, so that those around the next one are a stack.
    around: list[tuple[str, int]] = []
    for node in root.find_all(_RULE):
        span = node.range()
        while around and around[-1][1] < span.start.index:
            around.pop()
        prefix = f"{around[-1][0]}." if around else ""
        field = node.field("name")
        name = prefix + (field.text() if field else "")
        around.append((name, span.end.index))
        parent = node.parent()
        if parent is not None and parent.kind() == "decorated_definition":
            span = parent.range()
        found.append(Scope(name, span.start.line, span.end.line))
    return found


def named(content: bytes, name: str) -> tuple[Scope, ...]:
    """Return the scopes called ``name``; several when a name is defined twice, none when it is unknown."""
    return tuple(scope for scope in scopes(content) if scope.name == name)
