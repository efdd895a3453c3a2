"""What the judge sees in a text: lines without spaces, the class or function around each, the tree, the names.

A text that Python cannot parse has no tree, no scopes and no names (None). Contents are decoded as UTF-8 with
surrogate escapes, so that every file can be judged.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

Import = tuple[str, int, str, str]
"""Module ("" for ``import x``), leading dots, name, name after ``as``."""
ScopedLine = tuple[str, str]
"""A line without any white space, and the qualified name of the innermost class or function around it."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ALWAYS_BOUND = frozenset(dir(builtins)) | {"__file__", "__path__", "__class__"}


class PythonText:
    """One file's content, every view of it computed when first asked for and kept."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.text = content.decode("utf-8", "surrogateescape")

    @cached_property
    def visible(self) -> str:
        """The text without blank lines and without white space at the ends of lines."""
        return "\n".join(line.rstrip() for line in self.text.split("\n") if line.strip())

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree under the running Python's grammar."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escapes in Megatron-LM's own strings
                return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def lines(self) -> Counter[str]:
        """How often each line stands in the file; white space removed, blank lines left out."""
        return Counter(_squeezed(line) for line in self.text.split("\n") if line.strip())

    @cached_property
    def scoped_lines(self) -> Counter[ScopedLine] | None:
        """As ``lines``, but the same line in another class or function is another line."""
        if self.tree is None:
            return None
        lines = self.text.split("\n")
        scopes = [""] * (len(lines) + 1)
        for name, first, last in _definitions(self.tree, ""):
            # From the outside in, so that the innermost name stays.
            for index in range(first - 1, min(last, len(scopes))):
                scopes[index] = name
        return Counter((_squeezed(line), scope) for line, scope in zip(lines, scopes, strict=False) if line.strip())

    @cached_property
    def unbound(self) -> frozenset[str] | None:
        """Names that are read but bound nowhere in the file; one set a file. None also where a ``*`` is imported."""
        if self.tree is None:
            return None
        read: set[str] = set()
        bound: set[str] = set(_ALWAYS_BOUND)
        for node in ast.walk(self.tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    read.add(name)
                case ast.Name(id=name):
                    bound.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    bound.add(name)
                case ast.arg(arg=name):
                    bound.add(name)
                case ast.alias(name="*"):
                    return None
                case ast.alias(name=name, asname=new_name):
                    bound.add((new_name or name).partition(".")[0])
                case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                    bound.add(name)
                case ast.MatchMapping(rest=str(name)):
                    bound.add(name)
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    bound.update(names)
        return frozenset(read - bound)


def same_tree(one: PythonText, other: PythonText, *, import_order: bool) -> bool:
    """Whether both parse, to the same tree; False when one does not parse.

    Without ``import_order``, the imports of a body are compared as a set, wherever in that body they stand and however
    they are grouped into statements.
    """
    if one.tree is None or other.tree is None:
        return False
    pairs: list[tuple[object, object]] = [(one.tree, other.tree)]
    # A list, not recursion: a long chain of operators is a deep tree.
    while pairs:
        left, right = pairs.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, ast.AST) and isinstance(right, ast.AST):
            for field in left._fields:
                before, after = getattr(left, field, None), getattr(right, field, None)
                if not import_order and field in {"body", "orelse", "finalbody"}:
                    pairs.append((_imports(before), _imports(after)))
                    before, after = _without_imports(before), _without_imports(after)
                pairs.append((before, after))
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True


def _squeezed(line: str) -> str:
    return "".join(line.split())


def _imports(body: object) -> frozenset[Import]:
    found: set[Import] = set()
    for statement in body if isinstance(body, list) else ():
        if isinstance(statement, ast.Import):
            found.update(("", 0, alias.name, alias.asname or "") for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            module, dots = statement.module or "", statement.level
            found.update((module, dots, alias.name, alias.asname or "") for alias in statement.names)
    return frozenset(found)


def _without_imports(body: object) -> object:
    if not isinstance(body, list):
        return body
    return [statement for statement in body if not isinstance(statement, ast.Import | ast.ImportFrom)]


def _definitions(node: ast.AST, outer: str) -> Iterator[tuple[str, int, int]]:
    """Yield qualified name, first (decorators included) and last 1-based line of every definition, outer ones first."""
    for child in _statements(node):
        if isinstance(child, _DEFINITIONS):
            name = f"{outer}.{child.name}" if outer else child.name
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            yield name, first, child.end_lineno or child.lineno
            yield from _definitions(child, name)
        else:
            yield from _definitions(child, outer)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements, handlers and match cases right below ``node``: definitions are nowhere else."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        children = getattr(node, field, None)
        if isinstance(children, list):
            yield from children
