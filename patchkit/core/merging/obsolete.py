"""When a hunk that finds no place may be dropped: nothing of what it changes is in the target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from rapidfuzz.distance import LCSseq

from patchkit.core.merging.surroundings import Outline
from patchkit.core.scopes import MODULE

TELLING = 8
"""Bytes from which on a line says something about where it comes from; ``else:`` and brackets stand everywhere."""

OFFER = ": drop the hunk?"
"""End of every reason that is given here."""


def why_obsolete(
    lines: Sequence[bytes],
    scope: str | None,
    outline: Outline,
    target: Set[bytes],
    there: Sequence[bytes] = (),
) -> str | None:
    """Return why a hunk may be dropped, or None when the target still has something of it.

    ``lines`` are those that the hunk changes and its context, ``scope`` is the class or function around them if it is
    known, both of the base; ``outline`` is the target's, ``target`` are its lines, stripped, ``there`` those in place
    of the hunk's. That a scope is gone is not enough: it may have got another name.
    """
    telling = {stripped for line in lines if len(stripped := line.strip()) >= TELLING}
    if not telling or not telling.isdisjoint(target):
        return None
    if _alike(telling, there):
        return None
    if scope is not None and scope != MODULE and not outline.has(scope):
        return f"the target has no class or function {scope}, and none of the lines around the change{OFFER}"
    return f"none of the lines that the hunk changes, or that stand around them, is in the target{OFFER}"


_WORD = re.compile(rb"\w+|[^\w\s]")
_ALIKE = 0.5
"""Share of common words from which a line of the target may be what became of one of the hunk's."""


def _alike(lines: Iterable[bytes], there: Sequence[bytes]) -> bool:
    """Tell whether the target may have changed one of the lines rather than taken it away."""
    theirs = [_WORD.findall(line) for line in there]
    for line in lines:
        words = _WORD.findall(line)
        if any(LCSseq.normalized_similarity(words, other, score_cutoff=_ALIKE) for other in theirs):
            return True
    return False
