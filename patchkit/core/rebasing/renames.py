"""Which new file a file became that is gone: by its text alone, as git's rename detection does (gitdiffcore(7))."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from patchkit.core.lines import split_lines

LIKE = 0.5
"""Share of common text from which a new file counts as the old one renamed; git's default."""


class Rename(msgspec.Struct, frozen=True):
    """Where a file went."""

    paths: tuple[str, ...]
    """The new file; several that are equally like the old one."""
    likeness: float
    """Bytes in common lines, by those of the larger text; 1.0 only for the same text."""

    def told(self) -> str:
        """Say where the file is now."""
        how = "the same text" if self.likeness >= 1 else f"{int(self.likeness * 100)} % of the text"
        return f"it is {' or '.join(self.paths)} now ({how})"


def renamed(path: str, text: bytes, new_files: Iterable[tuple[str, bytes]]) -> Rename | None:
    """Return which of ``new_files`` (path and text) the file ``path`` became; None when none is like it.

    An empty file is like none. Among files that are equally like it one of the same name is taken.
    """
    scores = {other: _likeness(text, content) for other, content in new_files}
    best = max(scores.values(), default=0.0)
    if best < LIKE or not text.strip():
        return None
    found = sorted(other for other, score in scores.items() if score == best)
    named = [other for other in found if other.rpartition("/")[2] == path.rpartition("/")[2]]
    return Rename(tuple(named or found), best)


def _likeness(one: bytes, two: bytes) -> float:
    if one == two:
        return 1.0
    common = Counter(split_lines(one)) & Counter(split_lines(two))
    share = sum(len(line) * count for line, count in common.items()) / max(len(one), len(two))
    return min(share, 0.99)
