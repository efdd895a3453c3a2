"""Calls that reach another parameter than the one they were written for, since the other side changed the signature.

Where ``calls`` tells what would raise TypeError, and so has to know the callee, this goes by names alone: decorated
functions, methods of other objects and constructors that a dataclass makes are looked at as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import msgspec

from patchkit.core.gating.layout import Chunk, layout
from patchkit.core.gating.parsing import LEAVES, Definition, Function, children, parse
from patchkit.core.gating.references import has_word
from patchkit.core.remembered import remembered
from patchkit.core.scopes import MODULE

_FIELDS: Final = ("dataclass", "NamedTuple", "Struct", "BaseModel")
"""How decorators and bases are called that make a constructor of a class's fields."""


class Head(msgspec.Struct, frozen=True):
    """What a function takes by place and by name, ``self`` left out."""

    positional: tuple[str, ...]
    named: frozenset[str]


class Passed(msgspec.Struct, frozen=True):
    """A call."""

    scope: str
    """Qualified name of the function that calls, or ``<module>``."""
    callee: str
    """A function, method or class as ``Calls.heads`` names it."""
    text: str
    """The same for calls that say the same."""
    positional: int
    """How many arguments it passes by place, up to the first ``*``."""
    keywords: tuple[str, ...]
    line: int
    """1-based."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays the same when lines move."""
        return self.scope, self.callee, self.text


class Calls:
    """The calls in a tree of functions, methods and classes called one of ``names``, and the heads that these have.

    ``f`` names functions and classes wherever they stand, ``C.f`` a method of the class ``C``, and ``.f`` the methods
    of all classes. A class goes by the head of its ``__init__``, or by its fields.
    """

    def __init__(self, tree: ast.Module, names: frozenset[bytes]) -> None:
        self.heads: dict[str, set[Head]] = {}
        self.calls: list[Passed] = []
        self._names = frozenset(name.decode("utf-8", "replace") for name in names)
        self._bases: dict[str, tuple[str, ...]] = {}
        found: list[tuple[ast.Call, str, str]] = []
        pending: list[tuple[ast.AST, str, str, bool]] = [(tree, "", "", False)]
        while pending:
            node, scope, owner, is_member = pending.pop()
            if isinstance(node, Definition):
                self._define(node, owner if is_member else "")
                scope = f"{scope}.{node.name}" if scope else node.name
            elif isinstance(node, ast.Call):
                found.append((node, scope, owner))
            if isinstance(node, ast.ClassDef):
                owner = node.name
                is_member = True
            elif isinstance(node, Function):
                is_member = False
            pending += [(child, scope, owner, is_member) for child in children(node) if type(child) not in LEAVES]
        for node, scope, owner in found:
            self._call(node, scope or MODULE, owner)

    def _define(self, node: Definition, owner: str) -> None:
        if isinstance(node, ast.ClassDef):
            self._bases[node.name] = tuple(map(_last_word, node.bases))
            fields = _fields(node) if node.name in self._names else None
            if fields is not None:
                self.heads.setdefault(node.name, set()).add(fields)
            return
        is_constructor = bool(owner) and node.name == "__init__"
        if not (node.name in self._names or (is_constructor and owner in self._names)):
            return
        head = _head(node, is_method=bool(owner))
        names = [f"{owner}.{node.name}", f".{node.name}"] if owner else [node.name]
        for name in [*names, owner] if is_constructor else names:
            self.heads.setdefault(name, set()).add(head)

    def _call(self, node: ast.Call, scope: str, owner: str) -> None:
        function, given = node.func, node.args
        if _last_word(function) == "partial" and given and not isinstance(given[0], ast.Starred):
            function, given = given[0], given[1:]
        if _last_word(function) not in self._names:
            return
        for callee in self._callees(function, owner):
            starred = (number for number, argument in enumerate(given) if isinstance(argument, ast.Starred))
            keywords = tuple(keyword.arg for keyword in node.keywords if keyword.arg)
            places = next(starred, len(given))
            self.calls.append(Passed(scope, callee, ast.dump(node), places, keywords, node.lineno))

    def _callees(self, function: ast.expr, owner: str) -> Iterator[str]:
        """Yield the name in ``heads`` of what is called; for ``super()`` those of the bases that are there."""
        match function:
            case ast.Name(id=name):
                yield name
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
                yield from (f"{base}.{name}" for base in self._bases.get(owner, ()))
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if f"{owner}.{name}" in self.heads:
                yield f"{owner}.{name}"
            case ast.Attribute(attr=name):
                yield f".{name}"


@remembered(most=1_000_000)
def calls(content: bytes, names: frozenset[bytes]) -> Calls | None:
    """Return the calls in ``content`` of what is called one of ``names``; None when it is no Python."""
    tree = parse(excerpt(content, names)) or parse(content)
    return None if tree is None else Calls(tree, names)


def excerpt(content: bytes, names: frozenset[bytes]) -> bytes:
    """Return ``content`` with stubs for functions that have none of ``names`` in them.

    The constructor of a class that is called one of ``names`` stays, and with it those beside it.
    """
    return b"".join(_shown(chunk, names) for chunk in layout(content).chunks)


def _shown(chunk: Chunk, names: frozenset[bytes]) -> bytes:
    is_made = any(b"class " + name in chunk.text for name in names)
    return chunk.without(
        frozenset(
            match[0]
            for match in chunk.functions
            if not (is_made and match["name"] == b"__init__") and not any(has_word(match[0], name) for name in names)
        )
    )


def misled(changed: Calls, target: Calls, result: Calls) -> Iterator[tuple[Passed, str, bool]]:
    """Yield each call that reaches another parameter in the result than on every side that has it.

    With it come what is wrong and whether the patch brought the call.
    """
    sides = [(side, {call.key for call in side.calls}) for side in (changed, target)]
    passed = [
        {(call.callee, keyword) for call in side.calls for keyword in call.keywords} for side in (target, changed)
    ]
    for call in result.calls:
        if call.callee not in result.heads:
            continue
        told = [
            _problem(call, side.heads, result.heads, others)
            for (side, keys), others in zip(sides, passed, strict=True)
            if call.key in keys
        ]
        if told and all(told):
            yield call, told[0] or "", call.key not in sides[1][1]


def _problem(
    call: Passed, there: dict[str, set[Head]], here: dict[str, set[Head]], passed: set[tuple[str, str]]
) -> str | None:
    """Tell what a call written for one set of heads misses with another; None when there is nothing.

    What the other side has ``passed`` by name itself goes through its ``**``.
    """
    before, after = there.get(call.callee, set()), here[call.callee]
    if before == after:
        return None
    for keyword in call.keywords:
        known = (any(keyword in head.named for head in heads) for heads in (before, after))
        if tuple(known) == (True, False) and (call.callee, keyword) not in passed:
            return f"takes no {keyword}"
    places = {head.positional for head in before}, {head.positional for head in after}
    if len(places[0]) == len(places[1]) == 1:
        old, new = places[0].pop(), places[1].pop()
        for one, two in zip(old[: call.positional], new, strict=False):
            # A parameter of another name at the same place has been renamed, unless one of the two stands elsewhere.
            if one != two and (one in new or two in old):
                return f"passes as {two} what was written for {one}"
    return None


def _head(function: Function, *, is_method: bool) -> Head:
    arguments = function.args
    positional = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]]
    if is_method and "staticmethod" not in map(_last_word, function.decorator_list):
        del positional[:1]
    return Head(tuple(positional), frozenset([*positional, *(argument.arg for argument in arguments.kwonlyargs)]))


def _fields(node: ast.ClassDef) -> Head | None:
    """Return what a constructor takes that is made of the fields of a class; None when there is none.

    With a base the places are not known, since its fields come first.
    """
    makers = [*map(_last_word, node.decorator_list), *map(_last_word, node.bases)]
    if not any(maker.endswith(_FIELDS) for maker in makers):
        return None
    names = [
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    ]
    is_whole = all(_last_word(base) in _FIELDS for base in node.bases)
    return Head(tuple(names) if is_whole else (), frozenset(names))


def _last_word(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
