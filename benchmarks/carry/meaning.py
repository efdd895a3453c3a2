"""What a Python text means: its tree, in which the order of declarations that say nothing of each other does not count.

Functions and classes side by side are declarations (docs/carry.md): their order among each other says nothing, unless
one is read when another is made, as a decorator, a default or a base class is, or two bind one name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def meaning(text: str) -> str | None:
    """Return what a text means; None when it does not parse."""
    try:
        return ast.dump(_InOneOrder().visit(ast.parse(text)))
    except (SyntaxError, ValueError):
        return None


class _InOneOrder(ast.NodeTransformer):
    """Puts definitions that stand side by side in the order of their names."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef) and isinstance(body, list):
            node.body = [statement for run in _runs(body) for statement in _sorted(run)]
        return node


def _runs(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield the definitions that stand side by side, and every other statement by itself."""
    run: list[ast.stmt] = []
    for statement in body:
        if not isinstance(statement, _Definition):
            yield run
            yield [statement]
            run = []
        else:
            run.append(statement)
    yield run


def _sorted(run: list[ast.stmt]) -> list[ast.stmt]:
    names = [statement.name for statement in run if isinstance(statement, _Definition)]
    read = {name for statement in run if isinstance(statement, _Definition) for name in _read_when_made(statement)}
    if read.intersection(names):
        return run
    # Of two of one name the second one counts, and stays the second one.
    return sorted(run, key=lambda statement: getattr(statement, "name", ""))


def _read_when_made(node: ast.AST) -> Iterator[str]:
    """Yield the names that are read when a definition is made: all but those in the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and _is_in_body(node, child):
            continue
        if isinstance(child, ast.Name):
            yield child.id
        yield from _read_when_made(child)


def _is_in_body(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, child: ast.AST) -> bool:
    return any(child is each for each in (node.body if isinstance(node.body, list) else [node.body]))
