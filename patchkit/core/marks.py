"""Lines that mark a conflict, whoever left them: git, diff3(1), a merge of merges, or an editor that indented them."""

from __future__ import annotations

import re

# Seven signs, or more: git's attribute conflict-marker-size, and two more for each merge within a merge. A line of
# equals signs is left out: it underlines a title as well, and never stands in a conflict alone.
MARK = re.compile(rb"^[ \t]*(?:<{7,}|\|{7,}|>{7,})(?=[ \t\r\n]|\Z)", re.MULTILINE)


def first_mark(text: bytes) -> int | None:
    """Return the 1-based line of the first mark of a conflict in ``text``, indented or not; None when there is none."""
    found = MARK.search(text)
    return None if found is None else text.count(b"\n", 0, found.end()) + 1
