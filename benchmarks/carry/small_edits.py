"""Small edits of Python sources that can be made one by one or together: the truth for merges of two of them.

An edit is a set of changes of places of the source that it was made for. Two edits whose places are apart can be made
together, and what comes of it is what a merge of the two should say, whatever lines they share.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

IN, OUT, CUT, END, PASTE = "\x01", "\x02", "\x03", "\x04", "\x05"
"""Marks: lines from IN to OUT are indented by four more columns; what stands from CUT to END goes to where PASTE is."""


_numbers = itertools.count()


def fresh_name() -> str:
    """Return a name that no source has."""
    return f"fresh_{next(_numbers)}"


class Change(NamedTuple):
    """The characters ``[begin, end)`` of a source are replaced by ``text``; an insertion when ``begin == end``."""

    begin: int
    end: int
    text: str


class SmallEdit(NamedTuple):
    """One edit, and what it is."""

    what: str
    changes: tuple[Change, ...]
    removes: bool = False
    """Whether it takes code away whose change by another edit is a contradiction."""

    @property
    def begin(self) -> int:
        """Its first character."""
        return min(change.begin for change in self.changes)

    @property
    def end(self) -> int:
        """The character after its last one."""
        return max(change.end for change in self.changes)

    @property
    def marked(self) -> bool:
        """Whether it indents or moves what stands between its changes."""
        return any(mark in change.text for change in self.changes for mark in (IN, CUT))


def applied(source: str, edits: Sequence[SmallEdit]) -> str:
    """Return the source with all edits made; of insertions at one place those of the edit named first come first."""
    changes = [
        (change.begin, change.end, number, change.text) for number, edit in enumerate(edits) for change in edit.changes
    ]
    parts: list[str] = []
    at = 0
    for begin, end, _, text in sorted(changes, key=lambda one: (one[0], one[1] != one[0], one[3] != END, one[2])):
        parts += [source[at:begin], text]
        at = max(at, end)
    text = "".join([*parts, source[at:]])
    while CUT in text:
        begin, end = text.index(CUT), text.index(END)
        moved = text[begin + 1 : end]
        text = (text[:begin] + text[end + 1 :]).replace(PASTE, moved, 1)
    return _indented(text) if IN in text else text


def _indented(text: str) -> str:
    lines: list[str] = []
    depth = 0
    for line in text.split("\n"):
        bare = line.lstrip(IN + OUT)
        depth += _balance(line[: len(line) - len(bare)])
        plain = bare.replace(IN, "").replace(OUT, "")
        lines.append("    " * depth + plain if plain.strip() else plain)
        depth += _balance(bare)
    return "\n".join(lines)


def _balance(text: str) -> int:
    return text.count(IN) - text.count(OUT)


def apart(one: SmallEdit, two: SmallEdit) -> bool:
    """Tell whether the places of two edits are apart, so that both can be made."""
    if one.marked and two.marked and one.begin <= two.end and two.begin <= one.end:
        # A move in a block that the other makes, or out of it: where it ends has two answers.
        return False
    for here in one.changes:
        for there in two.changes:
            if here.begin < there.end and there.begin < here.end:
                return False
            if here.begin == here.end and there.begin < here.begin < there.end:
                return False
            if there.begin == there.end and here.begin < there.begin < here.end:
                return False
    if (one.marked and two.removes) or (two.marked and one.removes):
        return one.end < two.begin or two.end < one.begin or _inside(one, two) or _inside(two, one)
    return True


def _inside(one: SmallEdit, two: SmallEdit) -> bool:
    """Tell whether the one is in the marked inside of the other, and is not all of it."""
    places = sorted(change.begin for change in two.changes)
    return two.marked and places[0] < one.begin and one.end < places[1]


class Source:
    """A source with its tree, and the edits that can be made in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._ascii = text.isascii()
        self.names = sorted({node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)})

    def at(self, line: int, column: int) -> int:
        """Return the character of a position of ``ast`` (1-based line, 0-based column)."""
        return self._starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> tuple[int, int]:
        """Return the characters of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def whole(self, node: ast.stmt) -> tuple[int, int]:
        """Return the characters of the lines of a statement, decorators included."""
        assert node.end_lineno is not None
        return self._starts[self.first_line(node) - 1], min(self._starts[node.end_lineno], len(self.text))

    @staticmethod
    def first_line(node: ast.stmt) -> int:
        """Return the 1-based line with which a statement begins, decorators included."""
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        return min([node.lineno, *(line.lineno for line in decorators)])

    def indent(self, node: ast.stmt) -> str:
        """Return the indentation of a statement."""
        return " " * node.col_offset

    def bodies(self) -> Iterator[list[ast.stmt]]:
        """Yield all lists of statements whose statements are on lines of their own."""
        for node in ast.walk(self.tree):
            for field in ("body", "orelse", "finalbody"):
                body = getattr(node, field, None)
                if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                    if field == "orelse" and self.text.startswith("elif", self.span(body[0])[0]):
                        continue
                    if all(
                        self.text[self.whole(one)[0] : self.span(one)[0]].strip() == ""
                        or hasattr(one, "decorator_list")
                        for one in body
                    ):
                        yield body
