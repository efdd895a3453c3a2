"""Locals that are read where no assignment, or not every path, has come by: UnboundLocalError before it happens.

A walk over one function along its statements, in the manner of Java's definite assignment, but lenient wherever real
code relies on what a reader knows: loops are taken to run at least once, the body of a ``with`` to its end, a read
under the same condition as an assignment comes after it, a name that an inner function may bind is left alone. Names
that nothing in the function binds are globals and not our business.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

import msgspec

from patchkit.core.gating.assignment import Guard, Reads, State, join, operands
from patchkit.core.gating.bindings import captured, imported, leaves
from patchkit.core.gating.parsing import Function, definitions

STRAY: Final = frozenset({"break", "continue"})
"""Names that are no names: such a statement outside a loop, which the parser lets pass and the compiler does not."""


class Unassigned(msgspec.Struct, frozen=True):
    """A read of a local that may have no value, or a statement of ``STRAY``."""

    scope: str
    """Qualified name of the function."""
    name: str
    line: int
    """1-based line of the first such read."""
    certain: bool
    """Whether no assignment can have been executed before the read; else some path has none."""


def unassigned(tree: ast.Module) -> tuple[Unassigned, ...]:
    """Return the doubtful reads of every function in ``tree``, at most one for each function and name."""
    found: list[Unassigned] = []
    for scope, node in definitions(tree):
        if not isinstance(node, ast.ClassDef) and not (len(node.body) == 1 and isinstance(node.body[0], ast.Pass)):
            reads = _Walk(node).reads
            found.extend(Unassigned(scope, name, line, certain) for name, (line, certain) in reads.items())
    return tuple(found)


class _Walk(Reads):
    """One function, statement by statement."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self._loops: list[list[State]] = []
        self._run(function.body)
        self._excuse()

    def _run(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            if self._state is None:
                return
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:  # noqa: PLR0912 - one branch a kind of statement
        match node:
            case ast.If():
                self._if(node)
            case ast.For() | ast.AsyncFor() | ast.While():
                self._loop(node)
            case ast.Try():
                self._try(node)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._read(item.context_expr)
                    self._target(item.optional_vars)
                self._run(node.body)
            case ast.Match():
                self._match(node)
            case ast.Return() | ast.Raise():
                self._children(node)
                self._state = None
            case ast.Break() | ast.Continue():
                if not self._loops:
                    self.reads[type(node).__name__.lower()] = node.lineno, True
                elif self._state is not None:
                    self._loops[-1].append(self._state)
                self._state = None
            case ast.Assign():
                self._read(node.value)
                for target in node.targets:
                    self._target(target)
            case ast.AugAssign():
                if isinstance(node.target, ast.Name):
                    self._name(node.target.id, node.target.lineno)
                self._read(node.value)
                self._target(node.target)
            case ast.AnnAssign():
                # The annotation of a local is never evaluated (PEP 526), and without a value nothing is bound.
                self._read(node.value)
                if node.value is not None or not isinstance(node.target, ast.Name):
                    self._target(node.target)
            case ast.Delete():
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._name(target.id, target.lineno)
                        self._unbind([target.id])
                    else:
                        self._read(target)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._definition(node)
            case ast.Import() | ast.ImportFrom():
                self._bind(*imported(node))
            case _ if type(node).__name__ == "TryStar":
                self._try(node)  # type: ignore[arg-type] # ast.TryStar is not there before Python 3.11
            case _:
                self._children(node)
                if leaves(node):
                    self._state = None

    def _if(self, node: ast.If) -> None:
        self._read(node.test)
        before = self._state
        self._run_under(node.body, [(test, True) for test in operands(node.test)])
        taken, self._state = self._state, before
        self._run_under(node.orelse, [(node.test, False)])
        self._state = join(taken, self._state)

    def _run_under(self, body: list[ast.stmt], guards: list[Guard]) -> None:
        self._guards += guards
        self._run(body)
        del self._guards[len(self._guards) - len(guards) :]

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if not isinstance(node, ast.While):
            self._read(node.iter)
        assert self._state is not None  # noqa: S101 - _run stops at None, and expressions never leave
        head = self._interrupted(self._state, node.body)
        self._state = head
        endless = False
        if isinstance(node, ast.While):
            self._read(node.test)
            endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        else:
            self._target(node.target)
        left: list[State] = []
        self._loops.append(left)
        self._run(node.body)
        self._loops.pop()
        if endless:
            self._state = None
        elif self._left() and not left:
            self._state = head
        self._run(node.orelse)
        for state in left:
            self._state = join(self._state, state)

    def _left(self) -> bool:
        return self._state is None

    def _try(self, node: ast.Try) -> None:
        before = self._state
        assert before is not None  # noqa: S101 - as in _loop
        raised = self._interrupted(before, node.body)
        self._run(node.body)
        self._run(node.orelse)
        after = self._state
        for handler in node.handlers:
            self._state = raised
            self._read(handler.type)
            if handler.name:
                self._bind(handler.name)
            self._run(handler.body)
            if handler.name:
                self._unbind([handler.name])  # the interpreter deletes it at the end of the clause
            after = join(after, self._state)
        if node.finalbody:
            # What a finally clause reads after a failure is left alone: it usually asks first.
            every = self._bits_of(self._locals)
            self._state = after or State(every, every)
            self._run(node.finalbody)
            self._state = None if after is None else self._state
        else:
            self._state = after

    def _match(self, node: ast.Match) -> None:
        self._read(node.subject)
        before = self._state
        after: State | None = None
        complete = False
        for case in node.cases:
            self._state = before
            self._bind(*captured(case.pattern))
            self._read(case.guard)
            self._run(case.body)
            after = join(after, self._state)
            complete = complete or (
                case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            )
        self._state = after if complete else join(after, before)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self._read(decorator)
        if isinstance(node, ast.ClassDef):
            for expression in [*node.bases, *(keyword.value for keyword in node.keywords)]:
                self._read(expression)
        else:
            for default in [*node.args.defaults, *node.args.kw_defaults]:
                self._read(default)
        self._bind(node.name)
