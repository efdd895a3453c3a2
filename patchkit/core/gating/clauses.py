"""Clauses (``else``, ``elif``, ``except``, ``finally``, ``case``) that a merge put behind another statement."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from patchkit.core.gating.merged import Merged, Tree
from patchkit.core.gating.parsing import Definition, below
from patchkit.core.scopes import MODULE

_COMPOUND: Final = re.compile(
    rb"^[ \t]*(?:else|elif|except|finally|case|if|for|while|try|match|async)\b.*", re.MULTILINE
)
_TRIES: Final[tuple[type[ast.Try], ...]] = (ast.Try, getattr(ast, "TryStar", ast.Try))
"""``try`` with ``except*`` is a kind of its own since Python 3.11."""
_WITH_CLAUSES: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Match, *_TRIES)


class _Header(NamedTuple):
    scope: str
    text: str


class _Clause(NamedTuple):
    header: _Header
    text: str
    """Its own words; those below it do not count."""


class Stray(NamedTuple):
    """A clause of a statement at which neither side has it."""

    line: int
    """1-based: of the clause, or of the first statement in it where the clause has no line of its own in a tree."""
    word: str
    """The keyword."""
    scope: str


def stray_clauses(merged: Merged) -> Iterator[Stray]:
    """Yield the clauses of the result that belong to another statement than on the side that they come from.

    That is one at a statement where neither side has it, while a statement where a side has it stands in the same scope
    of the result, as often as on that side, without it.
    """
    # For a clause to get another statement above it one side has to put that in, and the other one the clause.
    if not (merged.both_edit(_COMPOUND) and merged.chunks):
        return
    rows, *others = map(_compound, (merged.texts, *merged.texts_of_sides))
    if rows in others:
        return
    known = list(map(_Clauses, merged.sides))
    here = _Clauses(merged.trees)
    new = here.counts - (known[0].counts | known[1].counts)
    if not new:
        return
    bereft = {
        (header.scope, text)
        for side in known
        for header, text in side.counts - here.counts
        if 0 < side.headers[header] <= here.headers[header]
    }
    for part in merged.trees if bereft else ():
        for clause, line in _clauses(part):
            if clause in new and (clause.header.scope, clause.text) in bereft:
                yield Stray(part.above + line, clause.text.partition(" ")[0], clause.header.scope)


def _compound(texts: Iterable[bytes]) -> list[bytes]:
    """Return the lines that begin a compound statement or a clause, in order; the same ones belong together alike."""
    return [line for text in texts for line in _COMPOUND.findall(text)]


class _Clauses:
    """The clauses of some parts of a text, and the statements that may have some."""

    def __init__(self, parts: Sequence[Tree]) -> None:
        self._parts = parts

    @cached_property
    def counts(self) -> Counter[_Clause]:
        return Counter(clause for part in self._parts for clause, _ in _clauses(part))

    @cached_property
    def headers(self) -> Counter[_Header]:
        found = Counter[_Header]()
        for part in self._parts:
            lines = part.text.split(b"\n")
            found.update(_Header(scope, _head(node, lines)) for scope, node in _statements(part))
        return found


def _statements(part: Tree) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the compound statements that may have clauses, an ``elif`` not among them, with their scopes."""
    pending: list[tuple[str, ast.AST]] = [("", part.tree)]
    while pending:
        scope, node = pending.pop()
        inner = below(node)
        if isinstance(node, Definition):
            scope = f"{scope}.{node.name}" if scope else node.name
        elif isinstance(node, ast.If):
            for branch in _elifs(node):
                inner.remove(branch)
                inner += below(branch)
        if isinstance(node, ast.stmt) and isinstance(node, _WITH_CLAUSES):
            yield scope or MODULE, node
        pending += [(scope, child) for child in inner]


def _clauses(part: Tree) -> Iterator[tuple[_Clause, int]]:
    lines = part.text.split(b"\n")
    for scope, node in _statements(part):
        found = list(_of(node, lines))
        if found:
            header = _Header(scope, _head(node, lines))
            for text, line in found:
                yield _Clause(header, text), line


def _head(node: ast.stmt, lines: Sequence[bytes]) -> str:
    """Return what begins a compound statement; of ``try`` its first statement."""
    match node:
        case (
            ast.If(test=end) | ast.While(test=end) | ast.For(iter=end) | ast.AsyncFor(iter=end) | ast.Match(subject=end)
        ):
            return _said("", lines, node, end)
    first: ast.stmt = node.__dict__["body"][0]
    return _said("try", lines, first, first)


def _of(node: ast.stmt, lines: Sequence[bytes]) -> Iterator[tuple[str, int]]:
    """Yield the clauses of a statement, each with a line of it."""
    if isinstance(node, ast.Match):
        for case in node.cases:
            yield _said("case", lines, case.pattern, case.guard or case.pattern), case.pattern.lineno
        return
    if isinstance(node, _TRIES):
        for handler in node.handlers:
            kind = _said("except", lines, handler, handler.type) if handler.type is not None else "except"
            yield kind, handler.lineno
        if node.finalbody:
            yield "finally", node.finalbody[0].lineno
    if isinstance(node, ast.If):
        branches = _elifs(node)
        for branch in branches:
            yield _said("elif", lines, branch, branch.test), branch.lineno
        node = [node, *branches][-1]
    below_else: list[ast.stmt] = node.__dict__.get("orelse", [])
    if below_else:
        yield "else", below_else[0].lineno


def _elifs(node: ast.If) -> list[ast.If]:
    """Return the ``elif`` branches, each of which is in the one before; an ``if`` in an ``else`` is further right."""
    found = [node]
    while True:
        match found[-1].orelse:
            case [ast.If() as branch] if branch.col_offset == node.col_offset:
                found.append(branch)
            case _:
                return found[1:]


_Placed = ast.stmt | ast.expr | ast.pattern | ast.excepthandler


def _said(word: str, lines: Sequence[bytes], first: _Placed, last: _Placed) -> str:
    """Return the lines from one node to the end of another, without white space, behind a keyword."""
    text = b"".join(lines[first.lineno - 1 : last.end_lineno])
    return f"{word} {b''.join(text.split()).decode('utf-8', 'replace')}"
