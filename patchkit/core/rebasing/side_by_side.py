"""Two texts next to each other, for people who have to compare them."""

from __future__ import annotations

from collections.abc import Sequence

from patchkit.core.merging.alignment import edits

WIDTH = 78
"""Columns of each side; longer lines are wrapped."""


def side_by_side(old: Sequence[str], new: Sequence[str], *, first_old: int = 1, first_new: int = 1) -> list[str]:
    """Return both texts as columns, each line with its number (``first_old`` and ``first_new`` are those of the first).

    Between the columns stands ``|`` where a line changed, ``<`` where it is gone, ``>`` where it is new.
    """
    rows: list[str] = []
    at_old = at_new = 0
    for edit in [*edits(old, new), None]:
        end = edit.old if edit else len(old)
        while at_old < end:
            rows += _row(old[at_old], new[at_new], " ", first_old + at_old, first_new + at_new)
            at_old, at_new = at_old + 1, at_new + 1
        if edit is None:
            break
        while at_old < edit.old_end or at_new < edit.new_end:
            left = old[at_old] if at_old < edit.old_end else None
            right = new[at_new] if at_new < edit.new_end else None
            mark = ">" if left is None else "<" if right is None else "|"
            rows += _row(left, right, mark, first_old + at_old, first_new + at_new)
            at_old += left is not None
            at_new += right is not None
    return rows


def _row(left: str | None, right: str | None, mark: str, old: int, new: int) -> list[str]:
    lefts, rights = _wrapped(left), _wrapped(right)
    rows = []
    for at in range(max(len(lefts), len(rights))):
        one = lefts[at] if at < len(lefts) else ""
        two = rights[at] if at < len(rights) else ""
        numbers = (
            (f"{old:5}" if left is not None and not at else " " * 5),
            (f"{new:5}" if right is not None and not at else " " * 5),
        )
        rows.append(f"{numbers[0]} {one.ljust(WIDTH)} {mark} {numbers[1]} {two}".rstrip())
    return rows


def _wrapped(text: str | None) -> list[str]:
    if text is None:
        return []
    line = text.rstrip("\r\n").expandtabs(8)
    return [line[at : at + WIDTH] for at in range(0, len(line), WIDTH)] or [""]
