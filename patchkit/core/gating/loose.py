"""Names that no scope around them binds, found in one pass: what decides whether pyflakes is worth asking.

pyflakes takes several times as long as the parser. It knows more (the order of statements at module level, strings that
are annotations, ``__all__``), but whatever it finds unbound in a function for another reason than these is loose.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from typing import Final

from patchkit.core.gating.parsing import children, walk

GIVEN: Final = frozenset(dir(builtins)) | frozenset(
    {
        "__annotations__",
        "__builtins__",
        "__debug__",
        "__file__",
        "__path__",
        "__module__",
        "__qualname__",
        "WindowsError",
    }
)
"""What needs no binding; pyflakes itself would add the names that an environment variable lists."""

_WORD: Final = re.compile(rb"[^\W\d][\w\x80-\xff]*")
_HEAD: Final = re.compile(rb"[ \t]*(?:class|(?:async[ \t]+)?def)[ \t]+([\w\x80-\xff]+)")
_FROM: Final = re.compile(rb"[ \t]*from[ \t]+[\w.\x80-\xff]+[ \t]+import\b")
_KEYWORDS: Final = frozenset(word.encode() for word in keyword.kwlist)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *_COMPREHENSIONS)
_NAMING: Final = (ast.ExceptHandler, ast.Global, ast.MatchAs, ast.MatchMapping, ast.MatchStar, ast.Nonlocal, ast.alias)


class _Scope:
    """What the nodes of one scope bind and read themselves."""

    def __init__(self, node: ast.AST, nodes: list[ast.AST], seen: frozenset[str]) -> None:
        self.node = node
        self.seen = seen
        """What functions around it bind; the module left out, since a set for each function would cost its square."""
        self.bound = _parameters(node)
        self.read: set[str] = set()
        self.declared: set[str] = set()
        self.inner: list[tuple[ast.AST, list[ast.AST]]] = []
        pending = nodes
        while pending:
            child = pending.pop()
            kind = type(child)
            if kind is ast.Name:
                assert isinstance(child, ast.Name)  # noqa: S101 - for mypy
                (self.bound if type(child.ctx) is ast.Store else self.read).add(child.id)
            elif kind in _SCOPES:
                self._enter(child, pending)
            elif kind in _NAMING:
                self._named(child)
                pending += children(child)
            elif kind is not ast.Constant:
                pending += children(child)

    def _enter(self, node: ast.AST, pending: list[ast.AST]) -> None:
        """Note a scope inside, and leave to this one what is evaluated here."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.bound.add(node.name)
                pending += node.decorator_list
                pending += children(node.args)
                if node.returns is not None:
                    pending.append(node.returns)
                self.inner.append((node, [*node.body]))
            case ast.ClassDef():
                self.bound.add(node.name)
                pending += [*node.decorator_list, *node.bases, *node.keywords]
                self.inner.append((node, [*node.body]))
            case ast.Lambda():
                pending += children(node.args)
                self.inner.append((node, [node.body]))
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pending.append(node.generators[0].iter)
                self.inner.append((node, children(node)))
                # A walrus in it binds here (PEP 572).
                self.bound.update(child.target.id for child in walk(node) if isinstance(child, ast.NamedExpr))

    def _named(self, node: ast.AST) -> None:
        match node:
            case ast.alias():
                self.bound.add((node.asname or node.name).split(".")[0])
            case ast.Global() | ast.Nonlocal():
                self.bound.update(node.names)
                self.declared.update(node.names)
            case ast.MatchMapping(rest=str(name)) | ast.ExceptHandler(name=str(name)):
                self.bound.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self.bound.add(name)


def _scopes(tree: ast.Module) -> list[_Scope]:
    """Return every scope of ``tree``, the module first."""
    found = [_Scope(tree, [*tree.body], frozenset())]
    at = 0
    while at < len(found):
        scope = found[at]
        at += 1
        # The names of a class body are not seen from its methods, and those of the module by everyone.
        seen = scope.seen if isinstance(scope.node, ast.ClassDef | ast.Module) else scope.seen | scope.bound
        found += [_Scope(node, nodes, seen) for node, nodes in scope.inner]
    return found


def module_names(tree: ast.Module) -> frozenset[str]:
    """Return what is bound at module level, under conditions too, and whatever a ``global`` statement names."""
    return _module_names(_scopes(tree))


def _module_names(scopes: list[_Scope]) -> frozenset[str]:
    return frozenset(scopes[0].bound).union(*(scope.declared for scope in scopes))


def loose_names(tree: ast.Module) -> frozenset[str]:
    """Return the names that ``tree`` reads and that no scope around the read binds; none under a star import."""
    scopes = _scopes(tree)
    known = _module_names(scopes) | GIVEN
    if "*" in known:
        return frozenset()
    return frozenset(
        name
        for scope in scopes
        for name in scope.read
        if not (name in scope.bound or name in scope.seen or name in known)
    )


def _parameters(node: ast.AST) -> set[str]:
    bound = {getattr(parameter, "name", "") for parameter in getattr(node, "type_params", ())}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        bound.update(argument.arg for argument in given if argument is not None)
        bound.add("__class__")
    return bound


def bindable_words(line: bytes) -> list[bytes]:
    """Return the words of a line outside functions that may be bound by it; of ``from x import y`` not those of x."""
    head = _HEAD.match(line)
    if head is not None:
        return [head[1]]
    text = line.partition(b"#")[0]
    source = _FROM.match(text)
    return [word for word in _WORD.findall(text, source.end() if source else 0) if word not in _KEYWORDS]
