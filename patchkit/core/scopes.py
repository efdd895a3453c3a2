"""Where classes and functions begin and end, by qualified name.

tree-sitter (through ast-grep) reads the text rather than ``ast``: a release may be written for a newer Python than the
one that runs patchkit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from patchkit.core.remembered import remembered

if TYPE_CHECKING:
    from ast_grep_py import Config

MODULE = "<module>"
"""The scope of what stands at module level."""

LARGEST_SOURCE = 8 << 20
"""Bytes of the largest text that is read as Python: ten times as large as any that people write. Its syntax tree takes
up to 240 times as much memory."""

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
    if len(content) > LARGEST_SOURCE or b"\0" in content:
        return (Scope(MODULE, 0, content.count(b"\n")),)
    from ast_grep_py import SgRoot  # noqa: PLC0415 - 25 ms that who asks for no scope does without

    root = SgRoot(content.decode("utf-8", "replace"), "python").root()
    found = [Scope(MODULE, 0, content.count(b"\n"))]
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
    return tuple(found)


def named(content: bytes, name: str) -> tuple[Scope, ...]:
    """Return the scopes called ``name``; several when a name is defined twice, none when it is unknown."""
    return tuple(scope for scope in scopes(content) if scope.name == name)
