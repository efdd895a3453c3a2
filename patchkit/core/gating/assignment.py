"""Which locals have a value when the expressions of a function are evaluated."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import attrgetter
from typing import Final, NamedTuple

from patchkit.core.gating.bindings import bindings, bound_elsewhere
from patchkit.core.gating.parsing import Function, children, walk

_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_line: Final = attrgetter("line")

Guard = tuple[ast.expr, bool]
"""A condition, and whether it holds or does not."""


class State(NamedTuple):
    """What is assigned on every path to a place, and on some path: a bit for each name (see ``Reads``).

    There is a state for every assignment of a function. Sets of names would make a long one take the square of its
    length.
    """

    sure: int
    maybe: int

    def bind(self, names: int) -> State:
        """Return the state after ``names`` got values."""
        return State(self.sure | names, self.maybe | names)

    def unbind(self, names: int) -> State:
        """Return the state after ``names`` were deleted."""
        return State(self.sure & ~names, self.maybe & ~names)


def join(one: State | None, two: State | None) -> State | None:
    """Return what holds where two paths meet; None is a path that never gets there."""
    if one is None or two is None:
        return one or two
    return State(one.sure & two.sure, one.maybe | two.maybe)


class Reads:
    """The expressions of one function: what they bind, and which of their reads are doubtful."""

    def __init__(self, function: Function) -> None:
        self.reads: dict[str, tuple[int, bool]] = {}
        """For each name the 1-based line of its first doubtful read, and whether that is certain to fail."""
        arguments = function.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self._bits: dict[str, int] = {}
        self._bindings = sorted(bindings(function.body), key=_line)
        self._locals = frozenset(binding.name for binding in self._bindings) - bound_elsewhere(function)
        self._guards: list[Guard] = []
        self._bound_under: dict[str, list[tuple[Guard, ...]]] = {}
        self._read_under: dict[str, tuple[Guard, ...]] = {}
        parameters = self._bits_of(argument.arg for argument in given if argument is not None)
        self._state: State | None = State(parameters, parameters)

    def _bits_of(self, names: Iterable[str]) -> int:
        """Return the bits of ``names`` in a state."""
        bits = 0
        for name in names:
            bits |= self._bits.get(name) or self._bits.setdefault(name, 1 << len(self._bits))
        return bits

    def _excuse(self) -> None:
        """Drop possible reads under conditions that imply those under which the name is bound."""
        for name, (_, certain) in list(self.reads.items()):
            if not certain:
                under = self._read_under[name]
                if any(_implied(guards, under) for guards in self._bound_under.get(name, ())):
                    del self.reads[name]

    def _interrupted(self, state: State, body: list[ast.stmt]) -> State:
        """Return what holds when any part of ``body`` has been run after ``state``."""
        first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
        begin = bisect_left(self._bindings, first, key=_line)
        inside = self._bindings[begin : bisect_right(self._bindings, last, key=_line)]
        deleted = self._bits_of(binding.name for binding in inside if binding.deleted)
        return State(state.sure & ~deleted, state.maybe | self._bits_of(binding.name for binding in inside))

    def _bind(self, *names: str) -> None:
        if self._state is not None:
            self._state = self._state.bind(self._bits_of(names))
            if self._guards:
                for name in names:
                    self._bound_under.setdefault(name, []).append(tuple(self._guards))

    def _unbind(self, names: Iterable[str]) -> None:
        if self._state is not None:
            self._state = self._state.unbind(self._bits_of(names))

    def _name(self, name: str, line: int) -> None:
        if self._state is None or name not in self._locals:
            return
        bit = self._bits_of((name,))
        if self._state.sure & bit:
            return
        certain = not self._state.maybe & bit
        if name not in self.reads or (certain and not self.reads[name][1]):
            self.reads[name] = (line, certain)
            self._read_under[name] = tuple(self._guards)
        self._state = self._state.bind(bit)  # later reads on the same path say nothing new

    def _children(self, node: ast.AST) -> None:
        for child in children(node):
            self._read(child)

    def _target(self, node: ast.expr | None) -> None:
        if isinstance(node, ast.Name):
            self._bind(node.id)
        elif isinstance(node, ast.Tuple | ast.List):
            for element in node.elts:
                self._target(element)
        elif isinstance(node, ast.Starred):
            self._target(node.value)
        elif node is not None:
            self._children(node)

    def _read(self, node: ast.AST | None, hidden: frozenset[str] = frozenset()) -> None:
        """Look at an expression, in the order of evaluation; ``hidden`` are the targets of comprehensions around it."""
        kind = type(node)
        if kind is ast.Constant or node is None:
            return
        if kind is ast.Name:
            assert isinstance(node, ast.Name)  # noqa: S101 - for mypy
            if node.id in self._locals and node.id not in hidden and isinstance(node.ctx, ast.Load):
                self._name(node.id, node.lineno)
        elif kind is ast.NamedExpr:
            assert isinstance(node, ast.NamedExpr)  # noqa: S101 - as above
            self._read(node.value, hidden)
            self._target(node.target)
        elif kind is ast.Lambda:
            assert isinstance(node, ast.Lambda)  # noqa: S101 - as above
            for default in [*node.args.defaults, *node.args.kw_defaults]:
                self._read(default, hidden)
        elif kind is ast.BoolOp or kind is ast.IfExp:
            self._conditional(node, hidden)
        elif isinstance(node, _COMPREHENSIONS):
            self._read(node.generators[0].iter, hidden)
            if kind is not ast.GeneratorExp:  # that one runs later
                targets = {
                    name.id
                    for generator in node.generators
                    for name in walk(generator.target)
                    if isinstance(name, ast.Name)
                }
                for child in children(node):
                    self._read(child, hidden | targets)
        else:
            for child in children(node):
                self._read(child, hidden)

    def _conditional(self, node: ast.AST, hidden: frozenset[str]) -> None:
        """Look at ``a and b``, where b is read only if a holds, and at ``b if a else c``."""
        before = len(self._guards)
        match node:
            case ast.BoolOp(op=ast.And()):
                for value in node.values:
                    self._read(value, hidden)
                    self._guards.append((value, True))
            case ast.IfExp():
                self._read(node.test, hidden)
                self._guards.append((node.test, True))
                self._read(node.body, hidden)
                self._guards[-1] = node.test, False
                self._read(node.orelse, hidden)
            case _:
                for child in children(node):
                    self._read(child, hidden)
        del self._guards[before:]


def operands(test: ast.expr) -> list[ast.expr]:
    """Return the conditions that make up ``test`` if it is a conjunction, else itself."""
    return list(test.values) if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _implied(binding: tuple[Guard, ...], read: tuple[Guard, ...]) -> bool:
    """Tell whether a read under ``read`` comes only where what is bound under ``binding`` is bound.

    Conditions around both say nothing: they hold on every path from one to the other.
    """
    common = 0
    for one, two in zip(binding, read, strict=False):
        if one[0] is not two[0] or one[1] != two[1]:
            break
        common += 1
    rest = set(map(_as_text, binding[common:]))
    return bool(rest) and rest <= set(map(_as_text, read[common:]))


def _as_text(guard: Guard) -> tuple[str, bool]:
    test, holds = guard
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    return ast.dump(test), holds
