"""Lines that mark a conflict, whoever left them: git, diff3(1), a merge of merges, or an editor that indented them."""

from __future__ import annotations

import re

# Seven signs, or more: git's attribute conflict-marker-size, and two more for each merge within a merge. A line of
# equals signs is left out: it underlines a title as well, and never stands in a conflict alone.
MARK = re.compile(rb"^[ \t]*(?:<{7,}|\|{7,}|>{7,})(?=[ \t\r\n]|\Z)", re.MULTILINE)

_SIGNS = (b"<" * 7, b"|" * 7, b">" * 7)


def first_mark(text: bytes) -> int | None:
    """Return the 1-based line of the first mark of a conflict in ``text``, indented or not; None when there is none."""
    # A search for a word is much quicker than one at the beginning of every line.
    found = MARK.search(text) if any(sign in text for sign in _SIGNS) else None
    return None if found is None else text.count(b"\n", 0, found.end()) + 1
