"""What stands twice where Python, argparse or a reader expects it once."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from patchkit.core.gating.constants import constants
from patchkit.core.gating.focus import Touched
from patchkit.core.gating.parsing import LEAVES, Definition, children
from patchkit.core.scopes import MODULE

# Decorators under which a second definition of the same name belongs to the first.
_CHAINED: Final = frozenset({"overload", "setter", "getter", "deleter", "register", "dispatch", "variant", "instance"})
# Nodes that may hold something twice: bodies, lists, calls; and those that hold nothing at all.
_TELLING: Final = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Call, ast.Dict, ast.Set, ast.Assign, ast.AugAssign}
    | {ast.Module, ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.ExceptHandler}
    | {ast.match_case, getattr(ast, "TryStar", ast.Try)}
)


class Place(msgspec.Struct, frozen=True):
    """Something that has a name, in a list, body or call where names ought to differ."""

    kind: str
    """``definition``, ``import``, ``field``, ``value``, ``parameter``, ``keyword``, ``key`` or ``entry``."""
    scope: str
    """Qualified name of the class or function around it, or ``<module>``."""
    name: str


class Twice(msgspec.Struct, frozen=True):
    """How often it stands there."""

    count: int
    """At least 2. Where the scope has several such lists or bodies, the largest count."""
    line: int
    """1-based line of the last one."""
    harmless: bool = False
    """Whether all of them are imports of one thing from one place."""


def doubled(tree: ast.Module, touched: Touched | None = None) -> dict[Place, Twice]:
    """Return everything in ``tree`` that stands twice in one body, list or call.

    Definitions and imports are told apart by the name that they bind, in one body: branches of an ``if`` or ``try`` are
    bodies of their own. Overloads, setters and functions registered with a dispatcher do not count, nor does ``_``.
    With ``touched`` only what may be new is looked at.
    """
    found: dict[Place, Twice] = {}
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, scope = pending.pop()
        if touched is not None and not touched.node(node):
            continue
        if type(node) in _TELLING:
            if isinstance(node, Definition):
                scope = f"{scope}.{node.name}" if scope else node.name
            for kind, items in _lists(node):
                _count(kind, scope or MODULE, items, found)
            for body in _bodies(node):
                _excuse(scope or MODULE, body, found)
        pending += [(child, scope) for child in children(node) if type(child) not in LEAVES]
    return found


def any_doubled(nodes: Iterable[ast.AST]) -> bool:
    """Tell whether ``doubled`` finds anything in a tree, given all of its nodes but names and constants."""
    return any(_is_doubled(items) for node in nodes if type(node) in _TELLING for _kind, items in _lists(node))


def _lists(node: ast.AST) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield what a node holds that should differ: the kind of it, and each name with its 1-based line."""
    match node:
        case ast.ClassDef():
            yield "field", [*_fields(node)]
            yield "value", [*constants(node)]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield "parameter", [*_parameters(node.args)]
        case ast.Call():
            if len(node.keywords) > 1:
                yield "keyword", [(keyword.arg, keyword.value.lineno) for keyword in node.keywords if keyword.arg]
            return
        case ast.Dict():
            yield "key", [*_keys(node.keys)]
        case ast.Set():
            yield "entry", [*_keys(node.elts)]
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.AugAssign(target=ast.Name(id="__all__")):
            if isinstance(node.value, ast.List | ast.Tuple):
                yield "entry", [*_constants(node.value.elts)]
    for body in _bodies(node):
        yield "definition", [*_definitions(body)]
        yield "import", [*_imports(body)]


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list):
            yield body


def _is_doubled(items: Sequence[tuple[str, int]]) -> bool:
    return len({name for name, _line in items}) < len(items)


def _count(kind: str, scope: str, items: Sequence[tuple[str, int]], found: dict[Place, Twice]) -> None:
    if not _is_doubled(items):
        return
    counts = Counter(name for name, _ in items)
    for name, line in items:
        place = Place(kind, scope, name)
        if counts[name] > 1 and (place not in found or found[place].count <= counts[name]):
            found[place] = Twice(counts[name], line)


def _definitions(body: Iterable[ast.stmt]) -> Iterator[tuple[str, int]]:
    for node in body:
        if isinstance(node, Definition) and node.name != "_" and not any(_chained(d) for d in node.decorator_list):
            yield node.name, node.lineno


def _chained(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _CHAINED


def _imports(body: Iterable[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Yield what imports bind; of ``import a.b`` and ``import a.c`` the whole name, since both bind ``a`` alike."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, alias.lineno


def _excuse(scope: str, body: Iterable[ast.stmt], found: dict[Place, Twice]) -> None:
    """Note which names a body imports twice from the same place."""
    places: dict[str, list[tuple[str, ...]]] = {}
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            where = ("." * node.level + (node.module or ""),) if isinstance(node, ast.ImportFrom) else ()
            for alias in node.names:
                places.setdefault(alias.asname or alias.name, []).append((*where, alias.name))
    for name, sources in places.items():
        twice = found.get(Place("import", scope, name))
        if twice is not None and len(sources) == twice.count:
            found[Place("import", scope, name)] = Twice(twice.count, twice.line, harmless=len({*sources}) == 1)


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield name, statement.lineno


def _parameters(arguments: ast.arguments) -> Iterator[tuple[str, int]]:
    given = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    for argument in given:
        if argument is not None:
            yield argument.arg, argument.lineno


def _keys(nodes: Iterable[ast.expr | None]) -> Iterator[tuple[str, int]]:
    """Yield keys that are constants or names, dotted ones too; calls may give another value each time."""
    for node in nodes:
        if isinstance(node, ast.Constant):
            yield repr(node.value), node.lineno
        elif isinstance(node, ast.Name | ast.Attribute):
            named: ast.expr = node
            while isinstance(named, ast.Attribute):
                named = named.value
            if isinstance(named, ast.Name):
                yield ast.unparse(node), node.lineno


def _constants(nodes: Iterable[ast.expr | None]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, ast.Constant):
            yield repr(node.value), node.lineno


def options(tree: ast.Module, touched: Touched) -> dict[str, int]:
    """Return the option strings that may be new, each with the 1-based line of its last ``add_argument``."""
    found: dict[str, int] = {}
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if not touched.node(node):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            for argument in node.args:
                name = argument.value if isinstance(argument, ast.Constant) else None
                if isinstance(name, str) and name.startswith("-"):
                    found[name] = max(argument.lineno, found.get(name, 0))
        pending += children(node)
    return found


def count_option(content: bytes, name: str) -> int:
    """Count how often a file gives an option to ``add_argument``, wherever, since parsers are handed about."""
    quoted = rb"[\"']" + re.escape(name.encode("utf-8", "replace")) + rb"[\"']"
    return len(re.findall(rb"add_argument\(\s*(?:[\"'][^\"'\n]*[\"']\s*,\s*)*" + quoted, content))
