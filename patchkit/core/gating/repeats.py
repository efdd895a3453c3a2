"""Statements that a patch adds once and that a merge holds twice, mostly since upstream had added them too."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from patchkit.core.gating.focus import holding, only
from patchkit.core.gating.line_sets import have_a_part_twice, more_lines
from patchkit.core.gating.parsing import ScopesByLine, parse, walk
from patchkit.core.merging.alignment import edited_lines
from patchkit.core.scopes import MODULE

# Lines of which alone no run is made: an entry on a line of its own, a branch, a way out.
_NO_STATEMENT: Final = re.compile(rb"[^()\[\]{}]*,$|(?:else|try|finally):$|(?:pass|break|continue|return(?: None)?)$")

_GOES_ON: Final = (b"(", b"[", b"{", b",", b":", b"\\")
"""At the end of a line that is only the beginning of a statement."""
_SHORT: Final = 3
"""Characters of a line, such as a closing bracket, that may be anywhere and is no suspect."""
_FEW: Final = 8
"""Up to so many lines a search for each takes less time than to compare the lines of three texts."""

_Key = tuple[str, bytes]


class Repeat(msgspec.Struct, frozen=True):
    """A run of statements that stands twice in one scope."""

    scope: str
    """Qualified name of the class or function, or ``<module>``."""
    line: int
    """1-based line of the first statement of the later copy."""
    statements: int
    """How many statements the run has, those inside compound statements counted too."""
    upstreamed: bool
    """Whether the target has added every line of it too."""


def repeats(base: bytes, changed: bytes, target: bytes, result: bytes) -> tuple[Repeat, ...]:
    """Return the runs that ``changed`` added to ``base`` and that ``result`` holds more often than anybody else.

    A line counts when in its scope ``changed`` has it more often than ``base``, and ``result`` more often than
    ``changed`` and ``target``, white space at its ends aside; and when ``target`` too has it more often than ``base``,
    or ``result`` has more new ones than ``changed`` has. A run is one or more neighbouring statements made of
    nothing but such lines. One simple statement is a run only if upstream added it too, and if it does something: what
    only leaves (``return None``, ``continue``) stands in many places. Where one of the texts does not parse there is
    none.
    """
    suspects = _suspects(base, changed, target, result)
    if not suspects:
        return ()
    texts = base, changed, target, result
    names = frozenset[bytes]().union(*(holding(content, suspects) for content in texts))
    read = [_read(content, names) for content in texts]
    in_base, in_changed, in_target, in_result = (Counter(keys) for _, keys in read)
    tree, keys = read[-1]
    upstream = frozenset(key for key in in_target if in_target[key] > in_base[key])
    twice = [
        not key[1]
        or (
            in_result[key] > max(in_changed[key], in_target[key])
            and in_changed[key] > in_base[key]
            and (key in upstream or in_result[key] - in_target[key] > in_changed[key] - in_base[key])
        )
        for key in keys
    ]
    found = _Copies(keys, twice, upstream)
    if all(tree is not None for tree, _ in read) and tree is not None:
        found.visit(tree)
    return tuple(sorted(found.repeats, key=lambda repeat: repeat.line))


def _read(content: bytes, names: frozenset[bytes]) -> tuple[ast.Module | None, list[_Key]]:
    """Return a tree with the definitions called one of ``names``, and for each line its scope and stripped text.

    The text of comments and blank lines is empty.
    """
    cut = only(content, names)
    tree = parse(cut)
    if tree is None:
        cut, tree = content, parse(content)
    if tree is None:
        return None, []
    scopes = ScopesByLine(tree, MODULE)
    numbered = enumerate((line.strip() for line in cut.split(b"\n")), start=1)
    return tree, [(scopes.at(number), b"" if line.startswith(b"#") else line) for number, line in numbered]


def _suspects(base: bytes, changed: bytes, target: bytes, result: bytes) -> frozenset[bytes]:
    """Return the lines of which the patch brings some and the result has more than anybody else, scopes aside."""
    # The quick question first: where no part stands twice, more lines than in the base are lines that the patch brings.
    brought = _telling(edited_lines(base, changed)[1].split(b"\n"))
    if len(brought) <= _FEW and not have_a_part_twice(base, changed) and not _twice(brought, result):
        return frozenset()
    new = _telling(more_lines(changed, base))
    if len(new) <= _FEW:
        new = _twice(new, result)
    for other in (target, changed):
        if new:
            new &= more_lines(result, other)
    new = _that_go_on(new, result)
    return frozenset() if all(map(_NO_STATEMENT.match, new)) else frozenset(new)


def _telling(lines: Iterable[bytes]) -> set[bytes]:
    """Return the lines that are no comment and more than a bracket or so, without the white space at their ends."""
    stripped = map(bytes.strip, lines)
    return {line for line in stripped if len(line) > _SHORT and not line.startswith(b"#")}


def _twice(lines: Iterable[bytes], result: bytes) -> set[bytes]:
    """Return the lines that stand in the result twice, be it as a part of a line.

    What stands there once cannot stand there more often than elsewhere.
    """
    return {line for line in lines if result.count(line) > 1}


def _that_go_on(suspects: set[bytes], result: bytes) -> set[bytes]:
    """Return the suspects without those that only begin a statement of which no line that follows is one as well.

    ``if (`` comes more often in most results, and stands in most functions.
    """
    if not any(line.endswith(_GOES_ON) for line in suspects):
        return suspects
    lines = [line for text in result.split(b"\n") if (line := text.strip()) and not line.startswith(b"#")]
    behind: dict[bytes, set[bytes]] = {}
    for line, other in pairwise(lines):
        if line in suspects:
            behind.setdefault(line, set()).add(b"" if len(other) <= _SHORT else other)
    while True:
        alive = {
            line
            for line in suspects
            if not line.endswith(_GOES_ON) or not behind.get(line, set()).isdisjoint({b"", *suspects})
        }
        if alive == suspects:
            return alive
        suspects = alive


_Path = tuple[tuple[ast.AST, str], ...]
"""The compound statements around a statement, outermost first, each with the field that holds it."""


def _exclusive(one: _Path, two: _Path) -> bool:
    """Tell whether two statements stand in different branches of one ``if``, so that never both are run."""
    for (node, field), (other, other_field) in zip(one, two, strict=False):
        if node is not other:
            return False
        if field != other_field:
            return isinstance(node, ast.If)
    return False


class _Copies:
    """The walk that tells second copies of statements from first ones, in the order of the text."""

    def __init__(self, keys: Sequence[_Key], twice: Sequence[bool], upstream: frozenset[_Key]) -> None:
        self.repeats: list[Repeat] = []
        self._keys = keys
        self._twice = twice
        self._upstream = upstream
        self._seen: dict[tuple[_Key, ...], list[_Path]] = {}
        self._path: _Path = ()

    def visit(self, node: ast.AST) -> None:
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                self._path = (*self._path, (node, field))
                self._body(body)
                self._path = self._path[:-1]

    def _body(self, body: Sequence[ast.AST]) -> None:
        run: list[ast.AST] = []
        for child in body:
            key = self._key(child) if isinstance(child, ast.stmt) else ()
            if key and any(not _exclusive(path, self._path) for path in self._seen.get(key, ())):
                run.append(child)
                continue
            self._close(run)
            self.visit(child)
            self._seen.setdefault(key, []).append(self._path)
        self._close(run)

    def _key(self, node: ast.stmt) -> tuple[_Key, ...]:
        """Return the lines of a statement, or nothing when one of them does not stand twice."""
        lines = slice(node.lineno - 1, node.end_lineno)
        return tuple(key for key in self._keys[lines] if key[1]) if all(self._twice[lines]) else ()

    def _close(self, run: list[ast.AST]) -> None:
        size = sum(1 for node in run for child in walk(node) if isinstance(child, ast.stmt))
        imports = all(isinstance(node, ast.Import | ast.ImportFrom) for node in run)
        if run and isinstance(run[0], ast.stmt) and not imports:
            line = run[0].lineno
            keys = {key for node in run if isinstance(node, ast.stmt) for key in self._key(node)}
            upstreamed = keys <= self._upstream
            if size > 1 or (upstreamed and not _only_leaves(run[0])):
                self.repeats.append(Repeat(self._keys[line - 1][0], line, size, upstreamed))
        run.clear()


def _only_leaves(node: ast.stmt) -> bool:
    """Tell whether a statement does nothing but leave what it stands in, with nothing or a constant."""
    match node:
        case ast.Pass() | ast.Break() | ast.Continue() | ast.Return(value=None | ast.Constant()):
            return True
    return False
