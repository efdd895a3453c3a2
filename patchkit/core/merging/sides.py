"""One side of a merge as seen from the base: where its lines stand, how deep, and in which class or function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from patchkit.core.merging.alignment import Edit, partners
from patchkit.core.merging.insertions import within
from patchkit.core.merging.lexemes import LineKind, LogicalLine, homes
from patchkit.core.merging.logical import Cut, cut_lines
from patchkit.core.merging.pairing import likeness, pair
from patchkit.core.merging.words import says_something
from patchkit.core.remembered import remembered

MOST_PAIRS: Final = 2_000
"""Pairs of lines that are compared in search of moved ones."""


class Version:
    """The changed text or the target, and how it came from the base."""

    def __init__(self, base: Cut, text: Cut) -> None:
        self._cuts = base, text
        self.base, self.lines = base.lines, text.lines
        self.pairing = pair(base, text)
        self.to_new = partners(self.pairing.edits, len(self.base))
        """For each line of the base its line here, in another wording or not; -1 where it has none."""
        for edit in self.pairing.edits:
            if self.pairing.is_modified(edit):
                self.to_new[edit.old] = edit.new

    @staticmethod
    @remembered(most=2_000_000)
    def of(base: str, text: str) -> Version:
        """Return how ``text`` came from ``base``; shared, since a patch goes to many targets and to windows of each."""
        return Version(cut_lines(base), cut_lines(text))

    @cached_property
    def _homes(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        return homes(self.base), homes(self.lines)

    @cached_property
    def _known_headers(self) -> set[int]:
        return {self.to_new[header] for home in self._homes[0] for header in home}

    @cached_property
    def moved_lines(self) -> set[int]:
        """Lines of the base that this side took out and put in elsewhere, in another wording or not.

        Short ones say too little.
        """
        apart = [edit for edit in self.pairing.edits if not self.pairing.is_modified(edit)]
        added = [line for edit in apart for line in self.lines[edit.new : edit.new_end]]
        keys = {line.key for line in added}
        gone = [at for edit in apart for at in range(edit.old, edit.old_end) if says_something(self.base[at].key)]
        found = {at for at in gone if self.base[at].key in keys}
        # What stands in the base has not come from elsewhere, and imports are all alike and in no order that matters.
        known = set(self._cuts[0].keys)
        fresh = [line for line in added if line.kind is LineKind.CODE and not line.is_import and line.key not in known]
        if len(fresh) * len(gone) <= MOST_PAIRS:
            for line in fresh:
                alike = {at: likeness(self.base[at], line) for at in gone}
                best = max(alike.values(), default=0)
                found.update(at for at in gone if best and alike[at] == best)
        return found

    def keeps_order(self, at: int, stays: int) -> bool:
        """Tell whether the base's line ``at``, which this side moved, still is before (after) its neighbour ``stays``.

        So it does where it stands in the same function or class and is indented no more than the neighbour. One that
        was reworded as well stands nowhere.
        """
        if not 0 <= stays < len(self.base) or self.to_new[stays] < 0 or stays in self.moved_lines:
            return False
        there, home = self.to_new[stays], self._homes[1]
        spots = self._spots.get(self.base[at].key, [])
        return bool(spots) and all(
            (spot < there) == (at < stays)
            and home[spot] == home[there]
            and self.lines[spot].indent <= self.lines[there].indent
            for spot in spots
        )

    @cached_property
    def _spots(self) -> dict[str, list[int]]:
        """The lines here by their keys."""
        found: dict[str, list[int]] = {}
        for spot, key in enumerate(self._cuts[1].keys):
            found.setdefault(key, []).append(spot)
        return found

    @cached_property
    def _reordered(self) -> set[tuple[int, ...]]:
        """Classes and functions of the base of which this side put a line, or one like it, in another place."""
        apart = [edit for edit in self.pairing.edits if not self.pairing.is_modified(edit)]
        added = [line for edit in apart for line in self.lines[edit.new : edit.new_end] if line.kind is LineKind.CODE]
        gone = [at for edit in apart for at in range(edit.old, edit.old_end) if self.base[at].kind is LineKind.CODE]
        if len(added) * len(gone) > MOST_PAIRS:
            return {self._homes[0][at] for at in self.moved_lines}
        return {
            self._homes[0][at]
            for at in gone
            if says_something(self.base[at].key) and any(likeness(self.base[at], line) for line in added)
        }

    def reorders(self, at: int) -> bool:
        """Tell whether this side puts lines of the function around the base's line ``at`` in another order."""
        return bool(self.base) and self._homes[0][min(at, len(self.base) - 1)] in self._reordered

    @cached_property
    def gone(self) -> set[str]:
        """The keys of lines of the base that have no line here; of short ones not, which say too little."""
        return {
            line.key
            for line, there in zip(self.base, self.to_new, strict=True)
            if there < 0 and says_something(line.key)
        }

    def partner(self, at: int) -> LogicalLine:
        """Return the line here of the base's line ``at``, which has one."""
        return self.lines[self.to_new[at]]

    def nearest(self, place: int) -> list[int]:
        """Return the nearest of the base's lines before and after ``place`` that have a line here, if there are any."""
        before = next((at for at in range(place - 1, -1, -1) if self.to_new[at] >= 0), None)
        after = next((at for at in range(place, len(self.base)) if self.to_new[at] >= 0), None)
        return [at for at in (before, after) if at is not None]

    def place(self, begin: int, end: int) -> tuple[int, int]:
        """Return where the base's ``[begin, end)`` is here, as far as it is."""
        found = [self.to_new[at] for at in range(begin, end) if self.to_new[at] >= 0]
        if found:
            return found[0], found[-1] + 1
        before = next((self.to_new[at] + 1 for at in range(begin - 1, -1, -1) if self.to_new[at] >= 0), 0)
        return before, before

    def in_base(self, begin: int, end: int) -> tuple[int, int]:
        """Return the physical lines of the base's ``[begin, end)``; an empty range is the place before ``begin``."""
        return self._cuts[0].physical(begin, end)

    def in_text(self, begin: int, end: int) -> tuple[int, int]:
        """Return the physical lines of this side's ``[begin, end)``."""
        return self._cuts[1].physical(begin, end)

    def header_key(self, at: int) -> str:
        """Return the key of the line here that heads the block around the base's line ``at``; empty at module level."""
        there = self.to_new[at]
        head = _last_below(self.lines, self._lines_outer, there, self.lines[there].indent)
        return self.lines[head].key if head >= 0 else ""

    def blank_before(self, at: int) -> bool:
        """Tell whether a blank line stands before the line ``at``, or the text ends there."""
        return at >= len(self.lines) or bool(self.lines[at].blank)

    def at_home(self, at: int) -> bool:
        """Tell whether the base's line ``at`` stands here in the class or function that it stands in in the base."""
        there = self.to_new[at]
        return there >= 0 and self.is_home(at, there)

    def is_home(self, at: int, there: int) -> bool:
        """Tell whether the line ``there`` stands in the class or function that the base's line ``at`` stands in."""
        return tuple(self.to_new[header] for header in self._homes[0][at]) == self._homes[1][there]

    def moved_out(self, edit: Edit, lines: Sequence[LogicalLine]) -> bool:
        """Tell whether this side took the code around an edit into a function that is new in it, line after line."""
        before, after = edit.old - 1, edit.old_end
        if before < 0 or after >= len(self.base) or any(line.kind is LineKind.TEXT for line in lines):
            return False
        first, last = self.to_new[before], self.to_new[after]
        if first < 0 or last - first != after - before:
            return False
        home = self._homes[1][first]
        return bool(home) and home == self._homes[1][last] and home[-1] not in self._known_headers

    def fits(self, edit: Edit, lines: Sequence[LogicalLine]) -> bool:
        """Tell whether an edit that the other side makes stands here in the block that it stands in in the base.

        ``lines`` are all lines of the other side.
        """
        if self.moved_out(edit, lines[edit.new : edit.new_end]):
            return True
        if edit.old < edit.old_end:
            return all(self.at_home(at) for at in range(edit.old, edit.old_end))
        # The block that the insertion belongs to must be there, and must be the one around its place here.
        level = min(line.indent for line in lines[edit.new : edit.new_end])
        at = self.header(edit.old, level)
        if at is None:
            return True
        header = self.to_new[at]
        if header < 0:
            return self._is_between(edit.old, level)
        if not self.at_home(at):
            return False
        # Nothing between the two may end the block.
        place = self.place(edit.old, edit.old)[0]
        return _last_below(self.lines, self._lines_outer, place, self.lines[header].indent + 1) <= header

    def _is_between(self, place: int, level: int) -> bool:
        """Tell whether the base's lines before and after ``place`` stand side by side here too, in one block.

        They are indented by ``level`` in the base. What heads their block may be another line then.
        """
        before, after = place - 1, place
        if before < 0 or after >= len(self.base) or self.to_new[before] < 0:
            return False
        if not self.base[before].indent == self.base[after].indent == level:
            return False
        there = self.to_new[before]
        return (
            self.to_new[after] == there + 1
            and self.at_home(before)
            and self.at_home(after)
            and self.lines[there].indent == self.lines[there + 1].indent
        )

    def owner(self, at: int) -> int | None:
        """Return the base's line that heads the class or function around the base's line ``at``; None at the module."""
        return self._homes[0][at][-1] if self._homes[0][at] else None

    def header(self, place: int, level: int) -> int | None:
        """Return the base's line that heads the block of an insertion before ``place``, indented by ``level``."""
        at = _last_below(self.base, self._base_outer, place, level)
        return at if at >= 0 else None

    @cached_property
    def _base_outer(self) -> list[int]:
        return _outer(self.base)

    @cached_property
    def _lines_outer(self) -> list[int]:
        return _outer(self.lines)

    @cached_property
    def _edits_at(self) -> dict[int, list[int]]:
        """The numbers of the edits by the lines of the base where they begin and end."""
        found: dict[int, list[int]] = {}
        for number, edit in enumerate(self.pairing.edits):
            for place in {edit.old, edit.old_end}:
                found.setdefault(place, []).append(number)
        return found

    def brings(self, edit: Edit, lines: Sequence[LogicalLine]) -> bool | None:
        """Tell whether this side puts the lines that the other side adds right beside their place.

        True when it has all of them, in order, and the edit only adds; False when it has some that say something; None
        when it has none.
        """
        beside: list[str] = []
        near = {number for place in (edit.old, edit.old_end) for number in self._edits_at.get(place, ())}
        for other in map(self.pairing.edits.__getitem__, sorted(near)):
            if edit.old < edit.old_end and other.old == other.old_end:
                # It is the insertion that has to give way, when its turn comes.
                continue
            beside.extend(line.key for line in self.lines[other.new : other.new_end])
        keys = [line.key for line in lines]
        if not beside or not any(says_something(key) for key in set(keys).intersection(beside)):
            return None
        return edit.old == edit.old_end and within(keys, beside)


def _outer(lines: Sequence[LogicalLine]) -> list[int]:
    """Return for each line of code the last one before it that is indented less, for others the last one; -1: none."""
    found: list[int] = []
    around: list[int] = []
    last = -1
    for number, line in enumerate(lines):
        if line.kind is not LineKind.CODE:
            found.append(last)
            continue
        while around and lines[around[-1]].indent >= line.indent:
            around.pop()
        found.append(around[-1] if around else -1)
        around.append(number)
        last = number
    return found


def _last_below(lines: Sequence[LogicalLine], outer: Sequence[int], place: int, level: int) -> int:
    """Return the last line of code before ``place`` that is indented less than ``level``; -1 where there is none.

    ``outer`` is what ``_outer`` says of the lines: so a long block is not gone through for each question.
    """
    at = place - 1
    while at >= 0 and not (lines[at].kind is LineKind.CODE and lines[at].indent < level):
        at = outer[at]
    return at
