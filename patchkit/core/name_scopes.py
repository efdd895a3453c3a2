"""The scopes of a Python source, as far as one name is concerned."""

from __future__ import annotations

import ast
from typing import Final

_OWN: Final = frozenset({"self", "cls"})
_SUPER: Final = frozenset({"super"})


class NameScope:
    """A class, function, lambda, comprehension, or the module."""

    def __init__(self, around: NameScope | None, node: ast.AST, name: str) -> None:
        self.around = around
        self.node = node
        self.name: str = name if around is None or not around.name else f"{around.name}.{name}"
        """Qualified name; "" for the module."""
        self.binds = False
        self.is_global = self.is_nonlocal = False
        self.is_parameter = False

    @property
    def is_class(self) -> bool:
        """Whether its names are not seen from the functions in it."""
        return isinstance(self.node, ast.ClassDef)

    def binder(self) -> NameScope:
        """Return the scope whose binding the name is here; the module where there is none."""
        scope: NameScope = self
        while scope.around is not None and not scope.is_global:
            # What a class body binds is seen in that body alone.
            if scope.binds and not scope.is_nonlocal and (scope is self or not scope.is_class):
                return scope
            scope = scope.around
        while scope.around is not None:
            scope = scope.around
        return scope

    def bases(self) -> frozenset[str]:
        """Return the simple names of what a class is derived from; of anything else none."""
        named = self.node.bases if isinstance(self.node, ast.ClassDef) else []
        return frozenset(ast.unparse(each).partition("[")[0].rpartition(".")[2] for each in named)

    def class_name(self) -> str:
        """Return the qualified name of the class around, "" where there is none."""
        scope: NameScope | None = self
        while scope is not None and not scope.is_class:
            scope = scope.around
        return scope.name if scope is not None else ""


def object_of(node: ast.expr, scope: NameScope) -> str:
    """Return what an expression names, as text; ``self`` and ``cls`` with the class around."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    text = ast.unparse(node)
    first = root.func if isinstance(root, ast.Call) else root
    is_own = isinstance(first, ast.Name) and first.id in (_OWN if first is root else _SUPER)
    return f"{scope.class_name()}@{text}" if is_own else text
