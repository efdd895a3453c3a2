"""Lines of a hunk that were carried without a conflict, and that are gone once a person has edited the file.

Whoever solves one conflict of a file can take out, by a slip, what another hunk does. Where something stands in the
place of a line that has half of its words, the line was changed and not lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from rapidfuzz.distance import LCSseq

from patchkit.core.carried import Conflict
from patchkit.core.lines import split_lines
from patchkit.core.merging.alignment import Edit, edits
from patchkit.core.rebasing.lineage import Lines, Run

_WORD = re.compile(rb"\w+|[^\w\s]")
_ALIKE = 0.5
"""Share of common words from which a line may be what became of another one."""


class Loss(msgspec.Struct, frozen=True):
    """What one run of a hunk has lost."""

    ids: tuple[str, ...]
    """The hunk; several where hunks grew together."""
    line: int
    """1-based line of the edited text at which the lines are missing."""
    gone: tuple[bytes, ...]
    """Lines that the hunk adds and that are not there any more, with their endings."""
    back: tuple[bytes, ...]
    """Lines that the hunk takes out and that are there again, with their endings."""


def losses(runs: Sequence[Run], before: bytes, parts: Sequence[bytes | Conflict], edited: bytes) -> tuple[Loss, ...]:
    """Return what was lost from a carried text to the edited one.

    ``before`` is the target's text, ``parts`` is the carried one cut at its conflicts, ``runs`` have the lines in which
    the two differ, the target's side of each conflict taken. What lies inside of a conflict is a person's to decide.
    """
    comparison = _Comparison(parts, split_lines(edited))
    old = split_lines(before)
    found = [comparison.loss(run, old[slice(*run.old)]) for run in runs if run.ids]
    return tuple(loss for loss in found if loss.gone or loss.back)


class _Comparison:
    """What changed from a carried text to the edited one."""

    def __init__(self, parts: Sequence[bytes | Conflict], edited: Sequence[bytes]) -> None:
        self._carried = [
            line for part in parts for line in split_lines(part if isinstance(part, bytes) else part.target)
        ]
        self._edited = edited
        self._changes = edits(self._carried, edited)
        places = _places(parts)
        # A line that was moved is not lost; one that a solved conflict brings is another line.
        self._elsewhere = [
            line
            for change in self._changes
            if not any(_meet(change, place) for place in places)
            for line in self._put_in(change)
        ]

    def loss(self, run: Run, replaced: Sequence[bytes]) -> Loss:
        """Return what a run has lost; ``replaced`` are the target's lines that it takes out."""
        gone: list[bytes] = []
        back: list[bytes] = []
        line: int | None = None
        for change in self._changes:
            if not _meet(change, run.new):
                continue
            instead = self._put_in(change)
            again = [each for each in instead if each in replaced]
            taken = self._carried[max(change.old, run.new[0]) : min(change.old_end, run.new[1])]
            missing = self._missing(taken, [each for each in instead if each not in again])
            if (missing or again) and line is None:
                line = change.new + 1
            gone += missing
            back += again
        return Loss(run.ids, line or 1, tuple(gone), tuple(back))

    def _missing(self, taken: Sequence[bytes], instead: list[bytes]) -> list[bytes]:
        """Return the lines that nothing stands for: neither the same line at another place, nor one like it here."""
        missing: list[bytes] = []
        for line in filter(bytes.strip, taken):
            if line in self._elsewhere:
                self._elsewhere.remove(line)
                if line in instead:
                    instead.remove(line)
                continue
            words = _WORD.findall(line)
            scored = [(LCSseq.normalized_similarity(words, _WORD.findall(other)), other) for other in instead]
            score, like = max(scored, default=(0.0, b""))
            if score >= _ALIKE:
                instead.remove(like)
            else:
                missing.append(line)
        return missing

    def _put_in(self, change: Edit) -> list[bytes]:
        return [line for line in self._edited[change.new : change.new_end] if line.strip()]


def _places(parts: Sequence[bytes | Conflict]) -> list[Lines]:
    """Return where the target's side of each conflict lies in the carried text; half-open, 0-based."""
    places: list[Lines] = []
    at = 0
    for part in parts:
        count = len(split_lines(part if isinstance(part, bytes) else part.target))
        if isinstance(part, Conflict):
            places.append((at, at + count))
        at += count
    return places


def _meet(change: Edit, lines: Lines) -> bool:
    """Tell whether a change touches lines of the old text, an empty range being touched at its edge."""
    if change.old == change.old_end or lines[0] == lines[1]:
        return change.old <= lines[1] and lines[0] <= change.old_end
    return change.old < lines[1] and lines[0] < change.old_end
