"""Where a name stands in a Python source, and what it is there: whose binding, whose keyword, whose attribute."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from patchkit.core.gating.parsing import Definition, Function, children, parse
from patchkit.core.lines import split_lines
from patchkit.core.name_scopes import NameScope, object_of

_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Use(Enum):
    """What a name is where it stands."""

    NAME = auto()
    KEYWORD = auto()
    """The name before the ``=`` in a call or behind a class: a parameter of what is called."""
    IMPORT = auto()
    """A name as another module has it."""
    ATTRIBUTE = auto()


class Spot(NamedTuple):
    """One place of a name."""

    at: int
    """0-based byte; -1 inside of an f-string, where older Pythons do not tell."""
    row: int
    """0-based line."""
    use: Use
    owner: str
    """The scope that binds the name ("" for the module, and for a name that nothing binds); the function that is
    called; the module that it is imported from; the object of which it is an attribute."""
    caller: str
    """The qualified name of the scope around it, "" for the module."""
    others: frozenset[str] = frozenset()
    """Of a keyword: the names among the other arguments; of an attribute: the name with which the expression begins."""
    is_new: bool = False
    """Whether it stands where a definition or an import binds it, or is an attribute that gets a value there."""


class NameSpots:
    """Every place of one name in the code of a source."""

    def __init__(self, content: bytes, tree: ast.Module, name: str) -> None:
        self._name = name
        self._word = re.compile(rb"(?<![\w\x80-\xff])%b(?![\w\x80-\xff])" % re.escape(name.encode()))
        self._content = content
        self._starts = [0]
        for line in split_lines(content):
            self._starts.append(self._starts[-1] + len(line))
        self._found: list[tuple[Spot, NameScope]] = []
        self.scopes = [NameScope(None, tree, "")]
        self.imported: set[str] = set()
        """Every name that an import binds."""
        self._in_string = False
        for node in tree.body:
            self._visit(node, self.scopes[0])
        self.spots = [
            spot._replace(owner=scope.binder().name) if spot.use is Use.NAME else spot for spot, scope in self._found
        ]
        self.is_sure = all(spot.at < 0 or self._word.match(content, spot.at) for spot in self.spots)
        """Whether each place was found in the bytes."""

    def binder_at(self, row: int) -> str:
        """Return the scope whose binding the name would be in a 0-based line; "" for the module."""
        inner = self.scopes[0]
        for scope in self.scopes[1:]:
            node = scope.node
            # The name in a definition's head is outside, its text is the definition's.
            if isinstance(node, Definition) and node.lineno - 1 <= row < (node.end_lineno or node.lineno):
                inner = scope
        return inner.binder().name

    def binder_in(self, name: str) -> str | None:
        """Return the scope whose binding the name would be in the scopes called ``name``; None where they differ."""
        found = {scope.binder().name for scope in self.scopes if scope.name == name}
        return found.pop() if len(found) == 1 else None

    def counts(self) -> Counter[str]:
        """Return how many scopes of each qualified name there are."""
        return Counter(scope.name for scope in self.scopes)

    def words(self) -> Iterator[tuple[int, int]]:
        """Yield byte and line of each place where the name is a word, be it code, a string or a comment."""
        for match in self._word.finditer(self._content):
            yield match.start(), bisect_right(self._starts, match.start()) - 1

    def _at(self, line: int, column: int) -> int:
        return -1 if self._in_string else self._starts[line - 1] + column

    def _note(
        self,
        at: int,
        row: int,
        use: Use,
        owner: str,
        scope: NameScope,
        *,
        others: frozenset[str] = frozenset(),
        is_new: bool = False,
    ) -> None:
        spot = Spot(-1 if self._in_string else at, row, use, owner, scope.name, others, is_new)
        self._found.append((spot, scope))

    def _binds(self, node: ast.AST, scope: NameScope, *, first: int | None = None, is_new: bool = False) -> None:
        """Note that a node with a position binds the name, which is the first word of it behind byte ``first``."""
        scope.binds = True
        line: int = getattr(node, "lineno", 1)
        start = self._starts[line - 1] + getattr(node, "col_offset", 0) if first is None else first
        match = self._word.search(self._content, start)
        at = match.start() if match else start
        row = self._content.count(b"\n", self._starts[line - 1], at) + line - 1
        self._note(at, row, Use.NAME, "", scope, is_new=is_new)

    def _visit(self, node: ast.AST, scope: NameScope) -> None:
        match node:
            case ast.Name():
                if node.id == self._name:
                    scope.binds |= not isinstance(node.ctx, ast.Load)
                    self._note(self._at(node.lineno, node.col_offset), node.lineno - 1, Use.NAME, "", scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._function(node, scope)
            case ast.ClassDef():
                self._class(node, scope)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._comprehension(node, scope)
            case ast.Call():
                self._call(node, scope)
            case ast.Attribute():
                self._attribute(node, scope)
            case ast.Import() | ast.ImportFrom():
                self._import(node, scope)
            case ast.NamedExpr():
                self._visit(node.value, scope)
                # In a comprehension it binds outside of that (PEP 572).
                while isinstance(scope.node, _COMPREHENSIONS) and scope.around is not None:
                    scope = scope.around
                self._visit(node.target, scope)
            case ast.JoinedStr():
                was, self._in_string = self._in_string, True
                self._all(children(node), scope)
                self._in_string = was
            case _:
                self._named(node, scope)
                self._all(children(node), scope)

    def _all(self, nodes: list[ast.AST], scope: NameScope) -> None:
        for node in nodes:
            self._visit(node, scope)

    def _inside(self, scope: NameScope, node: ast.AST, name: str) -> NameScope:
        inner = NameScope(scope, node, name)
        self.scopes.append(inner)
        return inner

    def _function(self, node: Function | ast.Lambda, scope: NameScope) -> None:
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        spread = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
        outside: list[ast.AST] = [*arguments.defaults, *[each for each in arguments.kw_defaults if each is not None]]
        outside += [each.annotation for each in given + spread if each.annotation is not None]
        body: list[ast.AST] = []
        if isinstance(node, ast.Lambda):
            name, body = "<lambda>", [node.body]
        else:
            if node.name == self._name:
                self._binds(node, scope, is_new=True)
            outside += [*node.decorator_list, *([node.returns] if node.returns is not None else [])]
            name, body = node.name, [*node.body]
        self._all(outside, scope)
        inner = self._inside(scope, node, name)
        for argument in given + spread:
            if argument.arg == self._name:
                inner.is_parameter |= argument in given
                self._binds(argument, inner)
        self._all(body, inner)

    def _class(self, node: ast.ClassDef, scope: NameScope) -> None:
        if node.name == self._name:
            self._binds(node, scope, is_new=True)
        self._all([*node.decorator_list, *node.bases], scope)
        for keyword in node.keywords:
            self._keyword(keyword, "class " + node.name, frozenset(), scope)
        self._all([*node.body], self._inside(scope, node, node.name))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: NameScope
    ) -> None:
        first = node.generators[0]
        self._visit(first.iter, scope)
        inner = self._inside(scope, node, "<comprehension>")
        for generator in node.generators:
            self._all([generator.target, *generator.ifs], inner)
            if generator is not first:
                self._visit(generator.iter, inner)
        self._all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt], inner)

    def _call(self, node: ast.Call, scope: NameScope) -> None:
        self._all([node.func, *node.args], scope)
        others: frozenset[str] = frozenset()
        if any(keyword.arg == self._name for keyword in node.keywords):
            others = frozenset(
                each.id if isinstance(each, ast.Name) else each.attr
                for each in (*node.args, *[keyword.value for keyword in node.keywords])
                if isinstance(each, ast.Name | ast.Attribute)
            )
        for keyword in node.keywords:
            self._keyword(keyword, object_of(node.func, scope), others, scope)

    def _keyword(self, node: ast.keyword, owner: str, others: frozenset[str], scope: NameScope) -> None:
        if node.arg == self._name:
            at = self._at(node.lineno, node.col_offset)
            self._note(at, node.lineno - 1, Use.KEYWORD, owner, scope, others=others)
        self._visit(node.value, scope)

    def _attribute(self, node: ast.Attribute, scope: NameScope) -> None:
        self._visit(node.value, scope)
        if node.attr == self._name:
            line, column = node.end_lineno or node.lineno, (node.end_col_offset or 0) - len(self._name.encode())
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            name = object_of(node.value, scope)
            others = frozenset({root.id} if isinstance(root, ast.Name) else ())
            is_new = not isinstance(node.ctx, ast.Load)
            self._note(self._at(line, column), line - 1, Use.ATTRIBUTE, name, scope, others=others, is_new=is_new)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: NameScope) -> None:
        source = "import"
        if isinstance(node, ast.ImportFrom):
            source = f"from {'.' * node.level}{node.module or ''} import"
            if self._name in (node.module or "").split("."):
                at = self._word.search(self._content, self._at(node.lineno, node.col_offset))
                self._note(at.start() if at else 0, node.lineno - 1, Use.IMPORT, source, scope)
        for alias in node.names:
            start = self._at(alias.lineno, alias.col_offset)
            end = self._at(alias.end_lineno or alias.lineno, alias.end_col_offset or 0)
            bound = alias.asname or alias.name.split(".")[0]
            self.imported.add(bound)
            places = [match.start() for match in self._word.finditer(self._content, start, end)]
            for place in places:
                if alias.asname == self._name and place == places[-1]:
                    self._binds(alias, scope, first=place, is_new=True)
                    continue
                is_new = bound == self._name and alias.asname is None
                scope.binds |= is_new
                self._note(place, alias.lineno - 1, Use.IMPORT, f"{source} {alias.name}", scope, is_new=is_new)

    def _named(self, node: ast.AST, scope: NameScope) -> None:
        """Note what other nodes than names bind or declare."""
        match node:
            case ast.Global() | ast.Nonlocal() if self._name in node.names:
                declared = isinstance(node, ast.Global)
                self._binds(node, scope)
                scope.is_global |= declared
                scope.is_nonlocal |= not declared
            case ast.ExceptHandler() if node.name == self._name and node.type is not None:
                end = self._starts[(node.type.end_lineno or 1) - 1] + (node.type.end_col_offset or 0)
                self._binds(node, scope, first=end)
            case ast.MatchStar() if node.name == self._name:
                self._binds(node, scope)
            case ast.MatchAs() if node.name == self._name:
                inner = node.pattern
                start = None
                if inner is not None:
                    start = self._starts[inner.end_lineno - 1] + inner.end_col_offset
                self._binds(node, scope, first=start)


def name_spots(content: bytes, name: str) -> NameSpots | None:
    """Return where a name stands; None where the running Python cannot read the source, or tell places in it."""
    try:
        content.decode("utf-8")
        tree = parse(content)
        found = NameSpots(content, tree, name) if tree is not None else None
    except (UnicodeDecodeError, RecursionError):
        return None
    return found if found is not None and found.is_sure else None
