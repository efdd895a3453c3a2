"""What a function binds, and where."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from patchkit.core.gating.parsing import Function, children, statements, walk

# Calls after which nothing follows: sys.exit, os._exit, pytest.skip ...
_LEAVES: Final = frozenset({"exit", "_exit", "quit", "abort", "skip", "fail", "xfail"})


_SPECIAL: Final = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.comprehension),
    *(ast.MatchMapping, ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
)


class Binding(msgspec.Struct, frozen=True):
    """A place where a function gives a local a value, or takes it away."""

    line: int
    """1-based."""
    name: str
    deleted: bool = False


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the names that an import binds."""
    for alias in node.names:
        yield alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)


def captured(pattern: ast.pattern) -> Iterator[str]:
    """Yield the names that a pattern binds."""
    for node in walk(pattern):
        if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest


def bindings(body: Iterable[ast.AST]) -> Iterator[Binding]:
    """Yield what a function binds and deletes itself: not in inner functions, not the targets of comprehensions.

    A walrus in a comprehension does belong to the function (PEP 572).
    """
    pending = list(body)
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is ast.Name:
            assert isinstance(node, ast.Name)  # noqa: S101 - for mypy
            if type(node.ctx) is not ast.Load:
                yield Binding(node.lineno, node.id, deleted=type(node.ctx) is ast.Del)
        elif kind in _SPECIAL:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    yield Binding(node.lineno, name)
                case ast.Import() | ast.ImportFrom():
                    yield from (Binding(node.lineno, name) for name in imported(node))
                case ast.comprehension():
                    pending += [node.iter, *node.ifs]
                case ast.MatchMapping(rest=name) | ast.ExceptHandler(name=name):
                    pending += children(node)
                    if name is not None:
                        yield Binding(node.lineno, name)
                case ast.MatchAs(name=name) | ast.MatchStar(name=name):
                    pending += children(node)
                    if name is not None:
                        yield Binding(node.lineno, name)
        elif kind is not ast.Constant and kind is not ast.Lambda:
            pending += children(node)


def bound_elsewhere(function: Function) -> frozenset[str]:
    """Return the names that live outside the function (``global``) or that an inner one may bind (``nonlocal``)."""
    named: set[str] = set()
    for node in statements(function.body):
        if isinstance(node, ast.Global | ast.Nonlocal):
            named.update(node.names)
    return frozenset(named)


def leaves(node: ast.stmt) -> bool:
    """Tell whether nothing runs after ``node``: an assertion that fails for sure, a call that never returns."""
    match node:
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name in _LEAVES
    return False
