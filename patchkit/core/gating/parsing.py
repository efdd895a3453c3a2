"""Python sources as syntax trees: the one place that calls the parser of the running Python."""

from __future__ import annotations

import ast
import symtable
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from patchkit.core.remembered import remembered

Version = tuple[int, int]
"""Major and minor version of a Python, such as ``(3, 10)``."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser and walks over its trees raise on texts that are no Python, hold a NUL, or nest too deep."""


def parse(content: bytes, python: Version | None = None) -> ast.Module | None:
    """Parse ``content``, or return None when the running Python cannot.

    ``python`` refuses syntax that is newer than that version, as far as ``ast.parse`` knows (its ``feature_version``);
    a version newer than the running Python asks for nothing more. Byte order marks and coding cookies are the
    parser's business. The tree is shared by everyone who asks for the same text: nobody may change it.
    """
    return _parse(content) if python is None else _parsed(content, python)


# A tree takes some 25 times the memory of its text.
@remembered(most=1_000_000, lasting=False)
def _parse(content: bytes) -> ast.Module | None:
    return _parsed(content, None)


def _parsed(content: bytes, python: Version | None) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a doubtful escape in somebody's file is no concern of ours
        try:
            _require_encoding(content)
            return ast.parse(content, feature_version=python)
        except UNREADABLE:
            return None


@remembered(most=1_000_000, lasting=False)
def table(content: bytes) -> symtable.SymbolTable | None:
    """Return the compiler's symbol table of ``content``, or None when the running Python cannot read it.

    The tree stays in C, which takes a third of the time of ``parse``.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _require_encoding(content)
            return symtable.symtable(content, "<text>", "exec")  # type: ignore[arg-type] # typeshed knows no bytes
        except UNREADABLE:
            return None


def _require_encoding(content: bytes) -> None:
    """Raise SyntaxError or ValueError for bytes that the encoding of a source has not.

    In a comment the parser passes over them; the interpreter does not when it reads a file (PEP 263).
    """
    if content.isascii():
        return
    from io import BytesIO  # noqa: PLC0415 - most sources are ASCII
    from tokenize import detect_encoding  # noqa: PLC0415 - as above

    content.decode(detect_encoding(BytesIO(content).readline)[0])


def parses(content: bytes) -> bool:
    """Tell whether the running Python can read ``content``: a stricter and quicker question than ``parse``."""
    return table(content) is not None


def compile_error(content: bytes) -> tuple[int, str] | None:
    """Return the 1-based line and the message of what the compiler refuses, which may be what a parser takes.

    That is ``await`` in a function that is not async, a ``__future__`` import below a statement, or two names with a
    star on the left of one assignment. Nothing is run.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _require_encoding(content)
            compile(content, "<text>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return error.lineno or 1, error.msg
        except UNREADABLE as error:
            return 1, str(error) or "it nests too deep"
    return None


def syntax_error(content: bytes, python: Version | None = None) -> tuple[int, str]:
    """Return the 1-based line and the message of what keeps ``content`` from being read, which it must be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _require_encoding(content)
            ast.parse(content, feature_version=python)
            symtable.symtable(content, "<text>", "exec")  # type: ignore[arg-type] # as in table
        except SyntaxError as error:
            return error.lineno or 1, error.msg
        except UNREADABLE as error:
            return 1, str(error) or "it nests too deep"
    raise ValueError("nothing is wrong with this text")


# Fields that hold no nodes worth a visit: names as strings, operators, contexts.
_NO_NODES: Final = frozenset(
    {"arg", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "module", "op", "ops", "rest"}
    | {"simple", "type_comment", "type_ignores"}
)
LEAVES: Final = frozenset({ast.Name, ast.Constant})
"""Most of the nodes of a tree; there are none below them."""
_NO_CHILDREN: Final = (ast.Constant, ast.Global, ast.MatchSingleton, ast.Nonlocal, ast.alias)


class _FieldsByKind(dict[type[ast.AST], tuple[str, ...]]):
    """Some fields of each kind of node, found when they are first asked for; a cached function takes longer to ask."""

    def __init__(self, find: Callable[[type[ast.AST]], tuple[str, ...]]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = found = self._find(kind)
        return found


def _with_nodes(kind: type[ast.AST]) -> tuple[str, ...]:
    """Return the fields that hold nodes worth a visit."""
    return () if issubclass(kind, _NO_CHILDREN) else tuple(name for name in kind._fields if name not in _NO_NODES)


_fields: Final = _FieldsByKind(_with_nodes)


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right below ``node``, without operators and contexts.

    ``ast.iter_child_nodes`` gives those too, and takes three times as long; walks are most of what gates cost.
    """
    found: list[ast.AST] = []
    fields = _fields[type(node)]
    # Names and constants, which are most of what there is.
    if not fields:
        return found
    values = node.__dict__
    for field in fields:
        value = values.get(field)
        if type(value) is list:
            found += [child for child in value if child is not None] if None in value else value
        elif value is not None and type(value) is not str:
            found.append(value)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield ``node`` and everything below it that ``children`` knows, in no particular order."""
    pending = [node]
    while pending:
        found = pending.pop()
        yield found
        if type(found) not in LEAVES:
            pending += children(found)


def inner_nodes(tree: ast.AST) -> list[ast.AST]:
    """Return ``tree`` and what ``children`` knows below it, but names and constants, in no particular order."""
    found = [tree]
    for node in found:  # which grows meanwhile
        found += [child for child in children(node) if type(child) not in LEAVES]
    return found


def statements(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield ``nodes`` and the statements, handlers and cases in them, those of inner definitions included."""
    pending = list(nodes)
    while pending:
        found = pending.pop()
        yield found
        pending += below(found)


def _with_blocks(kind: type[ast.AST]) -> tuple[str, ...]:
    """Return the fields that may hold statements, handlers or cases: none for most statements."""
    blocks = ("body", "orelse", "finalbody", "handlers", "cases")
    return tuple(name for name in blocks if name in kind._fields)


_blocks: Final = _FieldsByKind(_with_blocks)


def below(node: ast.AST) -> list[ast.AST]:
    """Return the statements, handlers and cases right below ``node``."""
    found: list[ast.AST] = []
    fields = _blocks[type(node)]
    if not fields:
        return found
    values = node.__dict__
    for field in fields:
        value = values.get(field)
        if type(value) is list:  # a lambda's body and that of a conditional expression are no list
            found += value
    return found


def definitions(tree: ast.AST, around: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield the qualified name and node of every class and function, outer ones first (names as in ``core.scopes``)."""
    for child in below(tree):
        if isinstance(child, Definition):
            name = f"{around}.{child.name}" if around else child.name
            yield name, child
            yield from definitions(child, name)
        elif _blocks[type(child)]:
            yield from definitions(child, around)


class ScopesByLine:
    """Which class or function each line of a tree stands in."""

    def __init__(self, tree: ast.Module, module: str) -> None:
        self._module = module
        self._names: list[str] = []
        for name, node in definitions(tree):  # inner ones come after those around them
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            last = node.end_lineno or node.lineno
            self._names.extend([module] * (last + 1 - len(self._names)))
            self._names[first : last + 1] = [name] * (last + 1 - first)

    def at(self, line: int) -> str:
        """Return the qualified name of the innermost scope that holds the 1-based ``line``."""
        return self._names[line] if line < len(self._names) else self._module
