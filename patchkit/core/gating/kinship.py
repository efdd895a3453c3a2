"""Whether a patch's base and the target are versions of one file.

A change is carried by what the two have in common. Where they have next to nothing in common a merge of statements may
still put the patch somewhere, as a function at the end of a file or an import at its head has a place in any file.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import Final

from rapidfuzz.distance import LCSseq

from patchkit.core.gating.alarm import Alarm, Rule
from patchkit.core.lines import lines_of, split_lines
from patchkit.core.merging.alignment import line_edits

TELLING: Final = 8
"""Bytes from which on a line says something about where it comes from; ``else:`` and brackets stand everywhere."""

KIN: Final = 0.25
"""Share of the shorter text's telling lines that versions of one file have in common.

Of 1,450 changes that people carried in Megatron-LM those that can be carried have 0.40 and more; of two different
files of it one pair in two hundred has 0.28.
"""

SMALL: Final = 20
"""Telling lines up to which single lines decide, so that a line in another wording counts as well."""

ALIKE: Final = 0.6
"""Share of common names from which on a line is another wording of one."""

_NAME: Final = re.compile(rb"[^\W\d]\w*")
_KEYWORDS: Final = frozenset(word.encode() for word in keyword.kwlist)


def strangers(base: bytes, target: bytes, result: bytes) -> Alarm | None:
    """Return what to say when ``base`` and ``target`` are not versions of one file; None when they are, or may be.

    The alarm stands at the first line in which ``result`` differs from the target.
    """
    if _is_quickly_kin(base, target):
        return None
    ours, theirs = _telling(base), _telling(target)
    few, many = sorted((ours, theirs), key=len)
    common = len(few & many)
    if common < KIN * len(few) and len(few) <= SMALL:
        common += _reworded(few - many, many)
    # Of a base with next to nothing in it nothing can be gone.
    if len(ours) < 2 or (few and common >= KIN * len(few)):
        return None
    message = (
        "the base is not this patch's base, or the target another file: "
        f"of their {len(ours)} and {len(theirs)} lines of code they share {common}"
    )
    return Alarm(Rule.FOREIGN_BASE, _first_new(split_lines(target), split_lines(result)), "", message)


def _is_quickly_kin(base: bytes, target: bytes) -> bool:
    """Tell whether half of the lines are the same as they stand, which is nearly always so and quickly seen."""
    # A line of which the target lacks all has been taken out, each once at least: that leaves whatever of the base's
    # first lines is more than that. Two less, since the last line may differ from another one in its ending alone.
    gone = sum(edit.old_end - edit.old for edit in line_edits(base, target))
    some = len({*lines_of(base)[: 4 * (gone + SMALL)]})
    if some - gone - 1 > SMALL and some - gone - 1 >= gone + 2:
        return True
    ours, theirs = _all_lines(base), _all_lines(target)
    return 2 * len(ours & theirs) >= min(len(ours), len(theirs)) > SMALL


def _all_lines(content: bytes) -> set[bytes]:
    """Return the lines with their endings; what stands behind the last ending is a line as well, be it nothing."""
    lines = lines_of(content)
    if not content or content.endswith(b"\n"):
        return {*lines, b"\n"}
    return {*lines[:-1], lines[-1] + b"\n"}


def _telling(content: bytes) -> frozenset[bytes]:
    """Return the lines that say where they come from. Comments do not: a licence stands above every file."""
    lines = (line.strip() for line in content.split(b"\n"))
    return frozenset(line for line in lines if len(line) >= TELLING and not line.startswith(b"#"))


def _reworded(lines: frozenset[bytes], others: frozenset[bytes]) -> int:
    """Return how many of ``lines`` have another wording among ``others``."""
    known = [names for line in others if (names := _names(line))]
    return sum(
        any(LCSseq.normalized_similarity(names, other, score_cutoff=ALIKE) for other in known)
        for line in lines
        if (names := _names(line))
    )


def _names(line: bytes) -> list[bytes]:
    return [name for name in _NAME.findall(line) if name not in _KEYWORDS]


def _first_new(target: Sequence[bytes], result: Sequence[bytes]) -> int:
    """Return the 1-based number of the first line of ``result`` that the target has not there."""
    for number, line in enumerate(result, start=1):
        if number > len(target) or line != target[number - 1]:
            return number
    return max(1, len(result))
