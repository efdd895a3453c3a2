"""What the text of a chunk says by itself: found once for each text.

Results and targets share most of their chunks, and so do the releases that a patch is carried to.
"""

from __future__ import annotations

import ast
import re
import symtable
from typing import Final

from patchkit.core.gating.duplicates import any_doubled
from patchkit.core.gating.flow import Unassigned, unassigned
from patchkit.core.gating.layout import Layout
from patchkit.core.gating.parsing import inner_nodes, parse, table
from patchkit.core.remembered import remembered

_OPENS: Final = re.compile(rb"\s*\(")
_NEAR: Final = 200
"""Characters before a name that tell how it is read; white space that goes on for longer tells nothing."""
_OF_ITS_OWN: Final = re.compile(rb"\b(?:self|cls)\s*\.$")
_HEADS: Final = re.compile(rb"\b(?:def|class)$")
_IN_A_NAME: Final = re.compile(rb"[\w\x80-\xff]$")


def is_called(text: bytes, name: bytes) -> bool:
    """Tell whether ``text`` may call ``name`` by itself or through ``self`` or ``cls``, as ``calls`` looks at it."""
    at = text.find(name)
    while at >= 0:
        if _OPENS.match(text, at + len(name)) and _is_by_name(text[max(0, at - _NEAR) : at]):
            return True
        at = text.find(name, at + 1)
    return False


def _is_by_name(before: bytes) -> bool:
    """Tell whether a name behind ``before`` is one of its own that stands in no head, or is read from ``self``."""
    head = before.rstrip()
    if head.endswith(b"."):
        return _OF_ITS_OWN.search(head) is not None
    return (_IN_A_NAME if len(head) == len(before) else _HEADS).search(head) is None


@remembered(most=1_000_000)
def reads(text: bytes) -> tuple[Unassigned, ...]:
    """Return the doubtful reads of locals in a chunk; none when it is no Python."""
    tree = parse(text)
    return () if tree is None else unassigned(tree)


@remembered(most=1_000_000, lasting=False)
def _nodes(text: bytes) -> list[ast.AST] | None:
    """Return the nodes of a chunk, but names and constants; None when it is no Python. Nobody may change the list."""
    tree = parse(text)
    return None if tree is None else inner_nodes(tree)


@remembered(most=1_000_000)
def is_doubled(text: bytes) -> bool:
    """Tell whether something stands twice in a body, list or call of a chunk."""
    nodes = _nodes(text)
    return nodes is not None and any_doubled(nodes)


@remembered(most=1_000_000)
def calls_by_name(text: bytes) -> frozenset[tuple[bytes, bytes]] | None:
    """Return what a chunk calls by name, or through ``self`` or ``cls``, each with the lines of the call."""
    nodes = _nodes(text)
    if nodes is None:
        return None
    lines = text.split(b"\n")
    found: set[tuple[bytes, bytes]] = set()
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name)):
                found.add((name.encode(), b"\n".join(lines[node.lineno - 1 : node.end_lineno])))
    return frozenset(found)


def is_known(read: Unassigned, side: Layout) -> bool:
    """Tell whether a side has a doubtful read as well, no less doubtful."""
    top, *inner = (name.encode() for name in read.scope.split("."))
    found = side.places.get(top, ())
    if len(found) != 1:
        return False
    chunk = side.chunks[found[0]]
    others = frozenset(match[0] for match in chunk.functions if match["name"] not in inner) if chunk.is_class else None
    known = {(each.scope, each.name): each for each in reads(chunk.without(others) if others else chunk.text)}
    same = known.get((read.scope, read.name))
    return same is not None and (same.certain or not read.certain)


@remembered(most=1_000_000)
def unbound(text: bytes) -> frozenset[str]:
    """Return what a chunk reads and does not bind at module level."""
    module = table(text)
    if module is None:
        return frozenset()
    bound, read = _module_names(module)
    return frozenset(read - bound)


def _module_names(module: symtable.SymbolTable) -> tuple[set[str], set[str]]:
    """Return what a chunk binds at module level, and what it reads there and from its functions."""
    bound: set[str] = set()
    read: set[str] = set()
    for symbol in module.get_symbols():
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
            bound.add(symbol.get_name())
        if symbol.is_referenced():
            read.add(symbol.get_name())
    pending = module.get_children()
    while pending:
        found = pending.pop()
        pending += found.get_children()
        if isinstance(found, symtable.Function):
            read.update(found.get_globals())
        else:
            read.update(symbol.get_name() for symbol in found.get_symbols() if symbol.is_global())
    return bound, read
