"""Statements that nothing can reach, since one above them in their block leaves it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from patchkit.core.gating.merged import Merged
from patchkit.core.gating.parsing import Definition, below
from patchkit.core.scopes import MODULE

_LEAVES: Final = re.compile(rb"\b(?:return|raise|break|continue)\b")
_LEAVING: Final = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_BLOCKS: Final = ("body", "orelse", "finalbody")


class Unreachable(NamedTuple):
    """A statement that is not run."""

    line: int
    """1-based."""
    word: str
    """The keyword of the statement above that leaves."""
    scope: str
    """Qualified name of the class or function, or ``<module>``."""


def unreachable(merged: Merged) -> Iterator[Unreachable]:
    """Yield for each block of the result the first statement behind one that leaves, if no side has it behind one.

    A scope with no more of them than one of the sides has there is left alone: it is one of these, with other words.
    """
    if not (merged.one_brings(_LEAVES) and merged.chunks):
        return
    found = [(part.above, each) for part in merged.trees for each in _dead(part.tree)]
    if not found:
        return
    known = [[each for part in side for each in _dead(part.tree)] for side in merged.sides]
    said = {(each.scope, each.text) for side in known for each in side}
    counts = [Counter(each.scope for each in side) for side in known]
    here = Counter(each.scope for _, each in found)
    for above, each in found:
        if (each.scope, each.text) not in said and all(here[each.scope] > side[each.scope] for side in counts):
            yield Unreachable(above + each.line, each.word, each.scope)


class _Dead(NamedTuple):
    scope: str
    line: int
    text: str
    word: str


def _dead(tree: ast.Module) -> Iterator[_Dead]:
    """Yield the first statement of each block that stands behind one that leaves."""
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        scope, node = pending.pop()
        if isinstance(node, Definition):
            scope = f"{scope}.{node.name}" if scope else node.name
        for name in _BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list):
                at = next((at for at, each in enumerate(block[:-1]) if isinstance(each, _LEAVING)), None)
                if at is not None:
                    behind = block[at + 1]
                    word = type(block[at]).__name__.lower()
                    yield _Dead(scope or MODULE, behind.lineno, ast.dump(behind), word)
        pending += [(scope, child) for child in below(node)]
