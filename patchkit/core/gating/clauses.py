"""Clauses (``else``, ``elif``, ``except``, ``finally``, ``case``) that a merge put behind another statement."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from patchkit.core.gating.merged import Merged
from patchkit.core.gating.parsing import Definition, below
from patchkit.core.scopes import MODULE

_COMPOUND: Final = re.compile(rb"^[ \t]*(?:else|elif|except|finally|case|if|for|while|try|match|async)\b", re.MULTILINE)
_TRIES: Final = (ast.Try, getattr(ast, "TryStar", ast.Try))
"""``try`` with ``except*`` is a kind of its own since Python 3.11."""
_WITH_ELSE: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, *_TRIES)


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
    known = [_Clauses(trees) for trees in merged.sides]
    here = _Clauses(tree for tree, _ in merged.trees)
    new = here.counts - (known[0].counts | known[1].counts)
    if not new:
        return
    bereft = {
        (header.scope, text)
        for side in known
        for header, text in side.counts - here.counts
        if 0 < side.headers[header] <= here.headers[header]
    }
    for tree, above in merged.trees:
        for clause, line in _clauses(tree):
            if clause in new and (clause.header.scope, clause.text) in bereft:
                yield Stray(above + line, clause.text.partition(" ")[0], clause.header.scope)


class _Clauses:
    """The clauses of some trees, and the statements that may have some."""

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        self.counts = Counter[_Clause]()
        self.headers = Counter[_Header]()
        for tree in trees:
            self.counts.update(clause for clause, _ in _clauses(tree))
            self.headers.update(header for header, _ in _headers(tree))


def _headers(tree: ast.Module) -> Iterator[tuple[_Header, ast.AST]]:
    """Yield the compound statements that may have clauses, an ``elif`` not among them."""
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        scope, node = pending.pop()
        inner = below(node)
        if isinstance(node, Definition):
            scope = f"{scope}.{node.name}" if scope else node.name
        elif isinstance(node, ast.If):
            yield _Header(scope or MODULE, _said("if", node.test)), node
            for branch in _elifs(node):
                inner.remove(branch)
                inner += below(branch)
        elif isinstance(node, ast.For | ast.AsyncFor):
            yield _Header(scope or MODULE, _said("for", node.target, node.iter)), node
        elif isinstance(node, ast.While):
            yield _Header(scope or MODULE, _said("while", node.test)), node
        elif isinstance(node, _TRIES):
            yield _Header(scope or MODULE, _said("try", node.body[0])), node
        elif isinstance(node, ast.Match):
            yield _Header(scope or MODULE, _said("match", node.subject)), node
        pending += [(scope, child) for child in inner]


def _clauses(tree: ast.Module) -> Iterator[tuple[_Clause, int]]:
    for header, node in _headers(tree):
        for text, line in _of(node):
            yield _Clause(header, text), line


def _of(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the clauses of a statement, each with a line of it."""
    if isinstance(node, ast.Match):
        for case in node.cases:
            yield _said("case", case.pattern, case.guard), case.pattern.lineno
        return
    if isinstance(node, _TRIES):
        for handler in node.handlers:
            yield _said("except", handler.type), handler.lineno
        if node.finalbody:
            yield "finally", node.finalbody[0].lineno
    if isinstance(node, ast.If):
        branches = _elifs(node)
        for branch in branches:
            yield _said("elif", branch.test), branch.lineno
        node = [node, *branches][-1]
    if isinstance(node, _WITH_ELSE) and node.orelse:
        yield "else", node.orelse[0].lineno


def _elifs(node: ast.If) -> list[ast.If]:
    """Return the ``elif`` branches, each of which is in the one before; an ``if`` in an ``else`` is further right."""
    found = [node]
    while True:
        match found[-1].orelse:
            case [ast.If() as branch] if branch.col_offset == node.col_offset:
                found.append(branch)
            case _:
                return found[1:]


def _said(word: str, *nodes: ast.AST | None) -> str:
    return " ".join([word, *(ast.dump(node) for node in nodes if node is not None)])
