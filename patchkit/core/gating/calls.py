"""Calls that do not fit the signature of what they call, as far as one file can tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import msgspec

from patchkit.core.gating.focus import Touched
from patchkit.core.gating.parsing import Definition, Function, children, walk
from patchkit.core.scopes import MODULE

# Under these a function takes the arguments that its own head says; any other decorator may change them.
_PLAIN: Final = frozenset({"staticmethod", "classmethod"})


class Misfit(msgspec.Struct, frozen=True):
    """A call that would raise TypeError."""

    scope: str
    """Qualified name of the function that calls, or ``<module>``."""
    callee: str
    """Qualified name of what is called; for a class its ``__init__``."""
    problem: str
    """``takes no <keyword>``, ``lacks <parameter>`` or ``too many arguments``."""
    line: int
    """1-based line of the call."""
    end: int
    """1-based last line of the call."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays the same when lines move."""
        return self.scope, self.callee, self.problem


class _Signature(msgspec.Struct, frozen=True):
    positional: tuple[str, ...]
    only_positional: int
    keywords: frozenset[str]
    required: frozenset[str]
    more_positional: bool
    more_keywords: bool


def misfits(tree: ast.Module, touched: Touched | None = None) -> tuple[Misfit, ...]:
    """Return the calls in ``tree`` that do not fit, in order of lines.

    Looked at are calls of functions and classes of the module by their name and of methods of the same class through
    ``self`` or ``cls``. Left alone are calls with ``*`` or ``**``, decorated functions, names that are bound more than
    once or in an inner scope, and classes that may get their ``__init__`` from elsewhere. With ``touched`` only calls
    that may be new are looked at.
    """
    signatures = dict(_signatures(tree))
    called = {name.rsplit(".", 1)[-1] for name in signatures}
    found: list[Misfit] = []
    pending: list[tuple[ast.AST, str, str, tuple[Function, ...]]] = [(tree, "", "", ())] if signatures else []
    while pending:
        node, scope, owner, around = pending.pop()
        if touched is not None and not touched.node(node):
            continue
        if isinstance(node, ast.Call):
            callee = _callee(node.func, owner, called)
            problem = _problem(node, signatures[callee]) if callee in signatures else None
            if problem is not None and ("." in callee or not any(callee in _locals(function) for function in around)):
                found.append(Misfit(scope or MODULE, callee, problem, node.lineno, node.end_lineno or node.lineno))
        elif isinstance(node, Definition):
            scope = f"{scope}.{node.name}" if scope else node.name
            if isinstance(node, ast.ClassDef):
                owner = scope
            else:
                around = (*around, node)
        pending += [(child, scope, owner, around) for child in children(node)]
    return tuple(sorted(found, key=lambda misfit: (misfit.line, misfit.callee, misfit.problem)))


def called_names(tree: ast.Module, touched: Touched) -> frozenset[str]:
    """Return the names of what is called, by itself or through ``self`` or ``cls``, in calls that may be new."""
    names: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if touched.node(node):
            if isinstance(node, ast.Call):
                match node.func:
                    case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                        names.add(name)
            pending += children(node)
    return frozenset(names)


def _callee(function: ast.expr, owner: str, called: set[str]) -> str:
    if isinstance(function, ast.Name):
        return function.id if function.id in called else ""
    if isinstance(function, ast.Attribute) and function.attr in called and isinstance(function.value, ast.Name):
        return f"{owner}.{function.attr}" if owner and function.value.id in ("self", "cls") else ""
    return ""


def _locals(function: Function) -> frozenset[str]:
    bound: set[str] = set()
    for node in walk(function):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias():
                bound.add((node.asname or node.name).split(".")[0])
    return frozenset(bound - {function.name})


def _signatures(tree: ast.Module) -> Iterator[tuple[str, _Signature]]:
    """Yield the signatures that are beyond doubt, by qualified name; a class goes by its own name."""
    once = _once(tree.body)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and once.get(node.name) == 1:
            members = _once(node.body)
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and members.get(member.name) == 1:
                    signature = _signature(member, method=True)
                    if signature is not None:
                        yield f"{node.name}.{member.name}", signature
                        if member.name == "__init__" and not node.decorator_list and not node.keywords:
                            yield node.name, signature
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and once.get(node.name) == 1:
            signature = _signature(node, method=False)
            if signature is not None:
                yield node.name, signature


def _once(body: list[ast.stmt]) -> dict[str, int]:
    """Count how often each name is bound in a body, whatever stands around the statements."""
    counts: dict[str, int] = {}
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        names: list[str] = []
        if isinstance(node, Definition):
            names = [node.name]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names = [node.id]
        elif isinstance(node, ast.alias):
            names = [(node.asname or node.name).split(".")[0]]
        for name in names:
            counts[name] = counts.get(name, 0) + 1
        if not isinstance(node, Definition):
            pending.extend(children(node))
    return counts


def _signature(function: Function, *, method: bool) -> _Signature | None:
    decorators = {decorator.id if isinstance(decorator, ast.Name) else "" for decorator in function.decorator_list}
    if not decorators <= _PLAIN:
        return None
    arguments = function.args
    positional = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]]
    required = positional[: len(positional) - len(arguments.defaults)]
    only_positional = len(arguments.posonlyargs)
    if method and "staticmethod" not in decorators:
        if not positional:
            return None
        positional, required, only_positional = positional[1:], required[1:], max(only_positional - 1, 0)
    only_keyword = [argument.arg for argument in arguments.kwonlyargs]
    required += [name for name, default in zip(only_keyword, arguments.kw_defaults, strict=True) if default is None]
    return _Signature(
        positional=tuple(positional),
        only_positional=only_positional,
        keywords=frozenset(positional[only_positional:] + only_keyword),
        required=frozenset(required),
        more_positional=arguments.vararg is not None,
        more_keywords=arguments.kwarg is not None,
    )


def _problem(call: ast.Call, signature: _Signature) -> str | None:
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    given = [keyword.arg for keyword in call.keywords if keyword.arg is not None]
    if not signature.more_keywords:
        for name in given:
            if name not in signature.keywords:
                return f"takes no {name}"
    if len(call.args) > len(signature.positional) and not signature.more_positional:
        return "too many arguments"
    if len(given) < len(call.keywords):
        return None  # ** may bring what is missing
    missing = signature.required - set(given) - set(signature.positional[: len(call.args)])
    return f"lacks {min(missing)}" if missing else None
