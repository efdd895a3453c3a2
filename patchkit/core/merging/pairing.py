"""Logical lines of two texts in pairs: equal ones, and where lines changed, those that are most alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from patchkit.core.merging.alignment import Edit, edits
from patchkit.core.merging.lexemes import LineKind, LogicalLine
from patchkit.core.merging.logical import Cut
from patchkit.core.remembered import remembered

ALIKE = 0.5
"""Share of common words from which two lines can be versions of one line."""
RENAMED = 0.75
"""The same for the header of a definition whose name differs."""
_MOST_PAIRS = 40_000
_SHORT = 12
"""Words of a line that may have nothing but punctuation in common with another one."""
_PUNCTUATION = re.compile(r"\W+")


class Pairing(NamedTuple):
    """How one text became another, line by line."""

    edits: list[Edit]
    """In order; an edit of one line to one line with ``modified`` set is the same line in another wording."""
    modified: set[int]
    """Old lines (0-based) that are in an edit of their own with their new version."""

    def is_modified(self, edit: Edit) -> bool:
        """Tell whether an edit is one line in another wording."""
        return edit.old_end == edit.old + 1 and edit.old in self.modified


def pair(one: Cut, two: Cut) -> Pairing:
    """Pair the lines of two texts."""
    found: list[Edit] = []
    modified: set[int] = set()
    old, new = one.lines, two.lines
    changes = edits(one.keys, two.keys)
    gone = {old[at].key for edit in changes for at in range(edit.old, edit.old_end)}
    # Lines that were taken out here and put in there have moved; they are no new wording of another line.
    moved = {new[at].key for edit in changes for at in range(edit.new, edit.new_end)} & gone
    for edit in changes:
        at, new_at = edit.old, edit.new
        here = moved.intersection(one.keys[edit.old : edit.old_end] + two.keys[edit.new : edit.new_end])
        lines = tuple(old[edit.old : edit.old_end]), tuple(new[edit.new : edit.new_end])
        for left, right in _alike(*lines, frozenset(here)) if all(lines) else ():
            spot, new_spot = left + edit.old, right + edit.new
            if spot > at or new_spot > new_at:
                found.append(Edit(at, spot, new_at, new_spot))
            found.append(Edit(spot, spot + 1, new_spot, new_spot + 1))
            modified.add(spot)
            at, new_at = spot + 1, new_spot + 1
        if edit.old_end > at or edit.new_end > new_at:
            found.append(Edit(at, edit.old_end, new_at, edit.new_end))
    return Pairing(found, modified)


# Of one text after the other most changes are the same, and so are their lines: those of a piece are shared.
@remembered(most=16_000)
def _alike(old: tuple[LogicalLine, ...], new: tuple[LogicalLine, ...], moved: frozenset[str]) -> list[tuple[int, int]]:
    """Return the pairs, in the order of both, whose likeness summed up is greatest; nobody may change the answer.

    ``moved`` are keys of lines that are versions of no other line.
    """
    rows, columns = len(old), len(new)
    if rows * columns > _MOST_PAIRS:
        return []
    # best[i][j]: the greatest sum for old[i:], new[j:].
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    scores = _scores(old, new, moved)
    for row, column in _same_beginnings(old, new):
        if old[row].key not in moved and new[column].key not in moved:
            scores[row][column] = max(scores[row][column], ALIKE)
    for row in range(rows - 1, -1, -1):
        here, below, score = best[row], best[row + 1], scores[row]
        for column in range(columns - 1, -1, -1):
            here[column] = max(
                below[column], here[column + 1], below[column + 1] + score[column] if score[column] else 0
            )
    pairs: list[tuple[int, int]] = []
    row = column = 0
    while row < rows and column < columns:
        score_here = scores[row][column]
        if score_here and best[row][column] == best[row + 1][column + 1] + score_here:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return _in_place(pairs, scores)


def _in_place(pairs: Sequence[tuple[int, int]], scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the pairs without those that would be more alike with their new lines exchanged.

    Such lines changed places and words at once, and nobody can tell which one became which.
    """
    doubtful = {
        pair
        for one, two in combinations(pairs, 2)
        if scores[one[0]][two[1]] + scores[two[0]][one[1]] > scores[one[0]][one[1]] + scores[two[0]][two[1]]
        for pair in (one, two)
    }
    return [pair for pair in pairs if pair not in doubtful]


def _scores(old: Sequence[LogicalLine], new: Sequence[LogicalLine], moved: frozenset[str]) -> list[list[float]]:
    """Return the likeness of each old line to each new one."""
    # Most pairs have nothing to do with each other, and need not be looked at.
    sorts: dict[_Sort, list[int]] = {}
    for column, line in enumerate(new):
        if line.key not in moved:
            sorts.setdefault(_sort(line), []).append(column)
    scores = [[0.0] * len(new) for _ in old]
    for row, line in zip(scores, old, strict=True):
        if line.key in moved:
            continue
        columns = sorts.get(_sort(line))
        if columns is None:
            continue
        if line.definition is not None:
            for column in columns:
                row[column] = likeness(line, new[column])
            continue
        said = line.words
        size = len(said)
        for column in columns:
            words = new[column].words
            other = len(words)
            if min(size, other) >= ALIKE * max(size, other):
                # What ``likeness`` would ask first is the sort.
                row[column] = _share(said, words)
    return scores


_Sort = tuple[LineKind, str, str]


def _sort(line: LogicalLine) -> _Sort:
    """Return what two lines have to have in common to be alike at all."""
    head = line.definition
    return line.kind, head[0] if head else "", "" if head or line.kind is not LineKind.CODE else _keyword(line)


def _same_beginnings(old: Sequence[LogicalLine], new: Sequence[LogicalLine]) -> list[tuple[int, int]]:
    """Return the pairs of calls that are equal up to their bracket, and of assignments to one name.

    Only those count of which there is no other one here.
    """
    pairs: list[tuple[int, int]] = []
    for beginning in (_beginning, _assigned):
        starts: list[dict[str, int]] = []
        for lines in (old, new):
            found = [(start, at) for at, line in enumerate(lines) if (start := beginning(line))]
            times = Counter(start for start, _ in found)
            starts.append({start: at for start, at in found if times[start] == 1})
        pairs += [(at, starts[1][start]) for start, at in starts[0].items() if start in starts[1]]
    return pairs


def _beginning(line: LogicalLine) -> str:
    """Return what stands before the bracket of a call, ``x = f(`` or ``f.g(``; empty for other lines."""
    if line.kind is not LineKind.CODE or line.definition is not None or line.is_import:
        return ""
    head, bracket, _ = line.key.partition("\x1f(")
    words = head.split("\x1f")
    called = bool(bracket) and words[-1].isidentifier() and words[0] not in _KEYWORDS
    return head if called else ""


def _assigned(line: LogicalLine) -> str:
    """Return what stands before the value of an assignment to a name or an attribute, ``x =`` or ``self.x +=``."""
    if line.kind is not LineKind.CODE:
        return ""
    match = _ASSIGNED.match(line.key)
    return match[0] if match is not None else ""


_ASSIGNED = re.compile(r"[A-Za-z_]\w*(?:\x1f\.\x1f\w+)*\x1f[-+*/%&|^@]?=(?=\x1f)")


def likeness(one: LogicalLine, two: LogicalLine) -> float:
    """Return the share of common words, 0 to 1; 0 when the two cannot be versions of one line."""
    if one.kind is not two.kind:
        return 0.0
    heads = one.definition, two.definition
    if heads[0] is None and heads[1] is None:
        if one.kind is LineKind.CODE and _keyword(one) != _keyword(two):
            return 0.0
        return _share(one.words, two.words)
    if heads[0] is None or heads[1] is None or heads[0][0] != heads[1][0]:
        return 0.0
    if heads[0] == heads[1]:
        return 1.0
    alike = _alike_names(heads[0][1], heads[1][1])
    return LCSseq.normalized_similarity(one.words, two.words, score_cutoff=RENAMED) if alike else 0.0


def _share(one: Sequence[str], two: Sequence[str]) -> float:
    """Return the share of common words from ``ALIKE`` up, else 0; 0 where all that is common is punctuation."""
    share = LCSseq.normalized_similarity(one, two, score_cutoff=ALIKE)
    # Long lines with half of their words in common have more than brackets and commas.
    if share and len(one) <= _SHORT and not any(word in two for word in one if not _PUNCTUATION.fullmatch(word)):
        return 0.0
    return share


def _alike_names(one: str, two: str) -> bool:
    """Tell whether two names share at least half of the parts of the longer one."""
    parts = [set(_PART.findall(name.lower() if "_" in name else name)) for name in (one, two)]
    return 2 * len(parts[0] & parts[1]) >= max(len(parts[0]), len(parts[1]))


_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_KEYWORDS = {
    "if",
    "elif",
    "else",
    "for",
    "while",
    "with",
    "try",
    "except",
    "finally",
    "return",
    "import",
    "from",
    "raise",
    "assert",
    "del",
    "pass",
    "@",
}


def _keyword(line: LogicalLine) -> str:
    first = line.words[0] if line.words else ""
    return first if first in _KEYWORDS else ""
