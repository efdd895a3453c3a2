"""Drift: whether a class or function still means what it meant where a patch was written.

Compared are fingerprints: the signature, the body as a tree without positions, and the names that are called. Comments,
formatting and docstrings are no part of them.
"""

from __future__ import annotations

import ast
import enum
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from patchkit.core.gating.excerpts import excerpts, excerpts_apart
from patchkit.core.gating.focus import only
from patchkit.core.gating.parsing import Definition, Function, definitions, parse, walk
from patchkit.core.remembered import remembered


class DriftKind(enum.Enum):
    """In what a scope differs; the value is what reports print."""

    SIGNATURE = "signature"
    """Parameters, defaults, annotations, decorators; of a class bases, keywords, decorators; of a dataclass fields."""
    BODY = "body"
    """Statements of a function."""
    CALLS = "calls"
    """The set of names that a function calls."""
    GONE = "gone"
    """The target has no such scope."""


class Fingerprint(msgspec.Struct, frozen=True):
    """What a class or function means, short enough to be stored.

    The same on every Python that runs patchkit, but for f-strings, which 3.12 began to parse and print in another way.
    """

    signature: str
    """As source on one line for each definition of that name."""
    body: str
    """SHA-256 of a function's statements, docstring left out; empty for a class, whose members have their own."""
    calls: tuple[str, ...]
    """Dotted names that a function calls, sorted, each once; of calls on other expressions the last attribute."""


class Drift(msgspec.Struct, frozen=True):
    """How a scope of the target differs from that of the base."""

    scope: str
    """Qualified name."""
    kinds: tuple[DriftKind, ...]
    """In the order of ``DriftKind``; never empty."""
    old_signature: str
    new_signature: str
    """Empty when the scope is gone."""
    calls_added: tuple[str, ...] = ()
    calls_removed: tuple[str, ...] = ()


def fingerprint(content: bytes, scope: str) -> Fingerprint | None:
    """Return the fingerprint of ``scope`` (qualified name), or None where there is none to take.

    None stands for ``<module>``, a scope that ``content`` does not have, and a text that the running Python cannot
    read. Several definitions of one name (overloads, branches of an ``if``) are taken together, in order.
    """
    cut = only(content, frozenset({scope.split(".", maxsplit=1)[0].encode()}))
    found = _by_name(cut) or _by_name(content) or {}
    return _fingerprint(found[scope]) if scope in found else None


def drift(base: bytes, target: bytes, scope: str) -> Drift | None:
    """Return how ``scope`` drifted from ``base`` to ``target``, or None when it means the same.

    None too for ``<module>``, since something at module level changes in every release and names that go missing are
    the gates' business; for a scope that ``base`` does not have; and when one of the texts is not readable by the
    running Python, which the gates report as unchecked.
    """
    found = drifts(base, target, (scope,))[scope]
    return found[0] if found and found[0].scope == scope else None


def drifts(base: bytes, target: bytes, scopes: Iterable[str]) -> dict[str, tuple[Drift, ...]]:
    """Return, for each of ``scopes``, its own drift and that of the signatures around it, innermost first.

    Of the classes and functions around a scope only the signature is compared: their other members are somebody else's.
    What is no Python elsewhere in the texts, or stands in both versions of a function alike, does not matter; where one
    of ``scopes`` is none, nothing is said of any.
    """
    answer: dict[str, tuple[Drift, ...]] = dict.fromkeys(scopes, ())
    # The scopes of a class are looked at together: each excerpt has a line for every function of it.
    by_top: dict[str, list[str]] = {}
    for scope in answer:
        by_top.setdefault(scope.partition(".")[0], []).append(scope)
    for together in map(tuple, by_top.values()):
        for texts in _excerpts(base, target, together):
            found = _drifts_in(*texts, *together)
            if found is not None:
                answer.update(zip(together, found, strict=True))
                break
        else:
            return dict.fromkeys(answer, ())
    return answer


def _excerpts(base: bytes, target: bytes, scopes: tuple[str, ...]) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield what tells of ``scopes``, as little as there is first, and what both texts have but was left out."""
    yield excerpts_apart(base, target, scopes)
    yield *excerpts(base, target, scopes), b""
    # What stands around an excerpt may be what makes it Python.
    yield base, target, b""


@remembered(most=1_000_000)
def _drifts_in(base: bytes, target: bytes, common: bytes, *scopes: str) -> tuple[tuple[Drift, ...], ...] | None:
    """Return the drift of each scope and of the signatures around it.

    None where one of the texts is no Python, or ``common`` may call what only one of them calls.
    """
    if base == target:
        return ((),) * len(scopes)
    before, after = _by_name(base), _by_name(target)
    if before is None or after is None:
        return None

    @cache
    def compared(name: str, *, whole: bool) -> Drift | None:
        found = _compare(name, before[name], after.get(name), whole=whole) if name in before else None
        return found if found is None or DriftKind.BODY not in found.kinds else _with_calls(found, base, target)

    found = tuple(
        tuple(drift for name in (scope, *_around(scope)) if (drift := compared(name, whole=name == scope)) is not None)
        for scope in scopes
    )
    called = (name for each in found for drift in each for name in (*drift.calls_added, *drift.calls_removed))
    return None if common and any(_may_call(common, name) for name in called) else found


def _may_call(text: bytes, name: str) -> bool:
    """Tell whether ``text`` may call what ``_called`` names so."""
    # In other letters than these a name can be written in several ways.
    if not text.isascii():
        return True
    word = re.escape(name.rpartition(".")[2].encode())
    return re.search(rb"\b" + word + rb"[\s)]*[(\\#]", text) is not None


def _around(scope: str) -> Iterator[str]:
    while "." in scope:
        scope = scope.rpartition(".")[0]
        yield scope


@remembered(most=1_000_000, lasting=False)
def _by_name(content: bytes) -> dict[str, list[Definition]] | None:
    """Return the definitions in a text by qualified name; None when it is no Python."""
    tree = parse(content)
    if tree is None:
        return None
    found: dict[str, list[Definition]] = {}
    for name, node in definitions(tree):
        found.setdefault(name, []).append(node)
    return found


def _with_calls(drift: Drift, base: bytes, target: bytes) -> Drift:
    """Return the drift of a scope that both texts have, with what is called in one of them only."""
    before, after = _called_in(base, drift.scope), _called_in(target, drift.scope)
    if before == after:
        return drift
    added, removed = tuple(sorted(after - before)), tuple(sorted(before - after))
    return replace(drift, kinds=(*drift.kinds, DriftKind.CALLS), calls_added=added, calls_removed=removed)


@remembered(most=1_000_000)
def _called_in(content: bytes, scope: str) -> frozenset[str]:
    return frozenset(_calls((_by_name(content) or {})[scope]))


def _compare(scope: str, old: list[Definition], new: list[Definition] | None, *, whole: bool) -> Drift | None:
    if new is None:
        return Drift(scope, (DriftKind.GONE,), _signature(old), "")
    kinds: list[DriftKind] = []
    # To write a signature takes longer than to compare its tree.
    if not _all_same(map(_head_nodes, old), map(_head_nodes, new)) and _signature(old) != _signature(new):
        kinds.append(DriftKind.SIGNATURE)
    if whole and not _all_same(_bodies(old), _bodies(new)):
        kinds.append(DriftKind.BODY)
    return Drift(scope, tuple(kinds), _signature(old), _signature(new)) if kinds else None


def _bodies(nodes: list[Definition]) -> list[list[ast.stmt]]:
    return [_without_docstring(node.body) for node in nodes if not isinstance(node, ast.ClassDef)]


def _head_nodes(node: Definition) -> list[object]:
    if isinstance(node, ast.ClassDef):
        # Which of its statements are fields depends on a decorator: that is for the written signature to say.
        fields = [*_dataclass_fields(node)] if node.decorator_list else []
        return [node.name, node.decorator_list, node.bases, node.keywords, fields]
    return [node.name, type(node).__name__, node.decorator_list, node.args, node.returns]


def _all_same(one: Iterable[object], two: Iterable[object]) -> bool:
    return _same([*one], [*two])


def _same(one: object, two: object) -> bool:
    """Tell whether ``_write`` would write the same of both, without writing it."""
    if type(one) is not type(two):
        return False
    if isinstance(one, list):
        assert isinstance(two, list)  # noqa: S101 - for mypy
        return len(one) == len(two) and all(map(_same, one, two))
    if not isinstance(one, ast.AST):
        return repr(one) == repr(two)
    has_body = isinstance(one, Function | ast.ClassDef)
    for field in one._fields:
        if field in _SILENT:
            continue
        left: Any = getattr(one, field, None)
        right: Any = getattr(two, field, None)
        if has_body and field == "body":
            left, right = _without_docstring(left), _without_docstring(right)
        if not _same(left, right):
            return False
    return True


def _fingerprint(nodes: list[Definition]) -> Fingerprint:
    functions = [node for node in nodes if not isinstance(node, ast.ClassDef)]
    out: list[str] = []
    for node in functions:
        for statement in _without_docstring(node.body):
            _write(statement, out)
        out.append(";")
    body = hashlib.sha256("\n".join(out).encode("utf-8", "backslashreplace")).hexdigest() if functions else ""
    return Fingerprint(_signature(nodes), body, tuple(sorted(_calls(nodes))))


def _calls(nodes: list[Definition]) -> set[str]:
    return {name for body in _bodies(nodes) for statement in body for name in _called(statement)}


def _signature(nodes: list[Definition]) -> str:
    return "\n".join(_head(node) for node in nodes)


def _head(node: Definition) -> str:
    decorators = "".join(f"@{ast.unparse(decorator)} " for decorator in node.decorator_list)
    if isinstance(node, ast.ClassDef):
        arguments = [*map(ast.unparse, node.bases), *(ast.unparse(keyword) for keyword in node.keywords)]
        fields = f" fields {', '.join(_dataclass_fields(node))}" if "dataclass" in decorators else ""
        return f"{decorators}class {node.name}({', '.join(arguments)}){fields}"
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{decorators}{keyword} {node.name}({ast.unparse(node.args)}){returns}"


def _dataclass_fields(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id


def _called(node: ast.AST) -> Iterator[str]:
    for child in walk(node):
        if isinstance(child, ast.Call):
            parts: list[str] = []
            function = child.func
            while isinstance(function, ast.Attribute):
                parts.append(function.attr)
                function = function.value
            if isinstance(function, ast.Name):
                parts.append(function.id)
            elif parts:
                del parts[1:]
            if parts:
                yield ".".join(reversed(parts))


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


# What depends on the Python that parses, or says nothing: u"" prefixes, comments as types, whether a name is stored.
_SILENT: Final = frozenset({"kind", "type_comment", "ctx"})


def _write(node: ast.AST, out: list[str]) -> None:
    """Append a text of the tree that no Python version changes, as 3.13 did that of ``ast.dump``."""
    out.append(type(node).__name__)
    values = node.__dict__
    body = isinstance(node, Function | ast.ClassDef)
    for field in node._fields:
        value = values.get(field)
        if value is None and field != "value":
            continue
        if field in _SILENT or value == []:
            continue
        out.append(field)
        if isinstance(value, list):
            for child in _without_docstring(value) if body and field == "body" else value:
                if isinstance(child, ast.AST):
                    _write(child, out)
                else:
                    out.append(repr(child))
        elif isinstance(value, ast.AST):
            _write(value, out)
        else:
            out.append(repr(value))
    out.append(")")
