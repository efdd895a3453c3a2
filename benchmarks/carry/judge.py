"""How near a carried file is to the human's, and whether a difference is known to be a mistake.

Right: the same bytes, the same but for blank lines and white space at line ends, the same syntax tree, or the same but
for the order and grouping of imports. Wrong, silently: clean, not right, and one of: a line-based tool reaches the
human's file, it does not parse, a changed line landed in another class or function, it reads a name that nothing binds.
Otherwise clean and different is unknown: the human may have added something of their own. Where no human did it
(RELEASE_JUMP), wrong is also an added line left out, or more foreign lines touched than the change has.

Nothing is executed. ``review`` is neither right nor wrong; what it would have been is told apart, to judge the gates.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from functools import cached_property

import msgspec

from benchmarks.carry.cases import Case, Texts
from benchmarks.carry.python_text import PythonText, ScopedLine, same_tree

Changes = tuple[Counter[ScopedLine], Counter[ScopedLine]]
"""Scoped lines that a step adds, and that it removes, counted in the whole file: a move inside a scope is no change."""


class Status(Enum):
    """What a carrier answered."""

    CLEAN = "clean"
    REVIEW = "review"
    CONFLICT = "conflict"
    ERROR = "error"


class Letter(Enum):
    """The judgement on one content."""

    EXACT = "E"
    BLANK = "B"
    TREE = "A"
    IMPORTS = "I"
    WRONG = "W"
    UNKNOWN = "U"
    NO_ANSWER = "K"
    """Nothing seen against it, and no human's file to compare with."""


CORRECT = frozenset({Letter.EXACT, Letter.BLANK, Letter.TREE})
RIGHT = CORRECT | {Letter.IMPORTS}

_MARKER = re.compile(rb"^(?:<<<<<<<|>>>>>>>|&&&&&&&) ", re.MULTILINE)
"""How git and wiggle begin the lines around a conflict."""


class Judgement(msgspec.Struct, frozen=True, omit_defaults=True):
    """A letter, and for a content that is not right what was seen against it; numbers count lines or names."""

    letter: Letter
    unparseable: bool = False
    """False too where the target does not parse either."""
    misplaced: int = 0
    unbound: int = 0
    left_out: int = 0
    """Added lines of the change that are neither added nor in the target already."""
    foreign: int = 0
    """Lines touched that the change does not touch, if they are more than the change's own; else 0."""


class Judge:
    """The judge of one case. Keeps the views of its texts and the judgements given: tools that agree share them."""

    def __init__(self, case: Case, texts: Texts) -> None:
        self._human_exact = case.human_exact
        self._base = PythonText(texts.base)
        self._changed = PythonText(texts.changed)
        self._target = PythonText(texts.target)
        self._human = None if texts.human is None else PythonText(texts.human)
        self._given: dict[bytes, Judgement] = {}

    def has_markers(self, content: bytes) -> bool:
        """Whether a result holds conflict markers that the target had not, which makes it a conflict."""
        return bool(_MARKER.search(content)) and not _MARKER.search(self._target.content)

    def judge(self, content: bytes) -> Judgement:
        """Judge a clean result."""
        if content not in self._given:
            self._given[content] = self._judge(PythonText(content))
        return self._given[content]

    def _judge(self, result: PythonText) -> Judgement:
        if self._human is not None:
            letter = _likeness(result, self._human)
            if letter is not None:
                return Judgement(letter)
        unparseable = result.tree is None and self._target.tree is not None
        misplaced = self._misplaced(result)
        unbound = self._unbound(result)
        wrong = unparseable or misplaced > 0 or unbound > 0
        if self._human is not None:
            letter = Letter.WRONG if wrong or self._human_exact else Letter.UNKNOWN
            return Judgement(letter, unparseable, misplaced, unbound)
        left_out, foreign = self._left_out(result), self._foreign(result)
        letter = Letter.WRONG if wrong or left_out or foreign else Letter.NO_ANSWER
        return Judgement(letter, unparseable, misplaced, unbound, left_out, foreign)

    @cached_property
    def _source_changes(self) -> Changes | None:
        return _changes(self._base, self._changed)

    @cached_property
    def _human_changes(self) -> Changes | None:
        return None if self._human is None else _changes(self._target, self._human)

    def _misplaced(self, result: PythonText) -> int:
        """Count lines of the change that the result adds (removes) in a scope where neither change nor human does.

        Lines with fewer than four letters or digits say nothing about their place.
        """
        source, carried, human = self._source_changes, _changes(self._target, result), self._human_changes
        if source is None or carried is None:
            return 0
        count = 0
        for side in (0, 1):
            of_the_change = {line for line, _ in source[side]}
            allowed = source[side] | human[side] if human else source[side]
            count += sum(
                number
                for (line, _), number in (carried[side] - allowed).items()
                if line in of_the_change and sum(map(str.isalnum, line)) >= 4
            )
        return count

    def _unbound(self, result: PythonText) -> int:
        """Count names that only the result leaves unbound: neither the target nor the changed file did."""
        if result.unbound is None or self._target.unbound is None or self._changed.unbound is None:
            return 0
        return len(result.unbound - self._target.unbound - self._changed.unbound)

    def _left_out(self, result: PythonText) -> int:
        missing = (self._changed.lines - self._base.lines) - (result.lines - self._target.lines)
        return sum(number for line, number in missing.items() if not self._target.lines[line])

    def _foreign(self, result: PythonText) -> int:
        added, removed = self._changed.lines - self._base.lines, self._base.lines - self._changed.lines
        touched = (result.lines - self._target.lines - added) + (self._target.lines - result.lines - removed)
        return touched.total() if touched.total() > added.total() + removed.total() else 0


def _likeness(result: PythonText, human: PythonText) -> Letter | None:
    """Return the strictest level on which both are the same, or None."""
    if result.content == human.content:
        return Letter.EXACT
    if result.visible == human.visible:
        return Letter.BLANK
    if same_tree(result, human, import_order=True):
        return Letter.TREE
    if same_tree(result, human, import_order=False):
        return Letter.IMPORTS
    return None


def _changes(old: PythonText, new: PythonText) -> Changes | None:
    if old.scoped_lines is None or new.scoped_lines is None:
        return None
    return new.scoped_lines - old.scoped_lines, old.scoped_lines - new.scoped_lines
