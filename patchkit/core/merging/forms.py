"""The form that a line gets which stands on both sides: its indentation, the blank lines above it, its words."""

from __future__ import annotations

from patchkit.core.merging.depths import Shift, depth
from patchkit.core.merging.indentation import indented
from patchkit.core.merging.lexemes import LogicalLine
from patchkit.core.merging.sides import Version
from patchkit.core.merging.weave import weave


def kept(at: int, ours: Version, theirs: Version) -> str | None:
    """Return the base's line ``at``, which says the same on all sides.

    It has the form of the side that changed it, the target's if both did. None: see ``depth``.
    """
    old, mine, yours = ours.base[at], ours.partner(at), theirs.partner(at)
    if mine is old and yours is old:
        return old.full
    if yours.text == old.text:
        text = mine.text
    elif mine.text == old.text:
        text = yours.text
    else:
        # Both sides indent it anew: one inside of what the other put around it.
        columns = depth(at, ours, theirs)
        if columns is None:
            return None
        text = indented(yours.text, columns - (yours.indent - old.indent))
    return _blank(old, mine, yours) + text + (yours.end or mine.end)


def worded(at: int, line: LogicalLine, other: LogicalLine, ours: Version, theirs: Version) -> str | None:
    """Return a line whose words only one side changed; the other may have given it another form.

    None: see ``depth``.
    """
    old = ours.base[at]
    columns = depth(at, ours, theirs)
    if columns is None:
        return None
    blank = _blank(old, line, other)
    if other.text.strip() != old.text.strip():
        # Words are compared at the base's indentation; what either side put around the statement moves it.
        text = weave(old, line.indented(old.indent - line.indent), other.indented(old.indent - other.indent))
        if text is not None:
            return blank + indented(text, columns) + other.end
    return blank + indented(line.text, columns - (line.indent - old.indent)) + (line.end or other.end)


def woven(at: int, mine: LogicalLine, yours: LogicalLine, ours: Version, theirs: Version) -> list[str] | None:
    """Return a line whose words both sides changed; None where they changed the same ones."""
    old = ours.base[at]
    # What the patch put around the statement moves it as well; its words are compared at the base's indentation.
    text = weave(old, mine.indented(old.indent - mine.indent), yours.indented(old.indent - yours.indent))
    columns = depth(at, ours, theirs)
    if text is None or columns is None:
        return None
    return [_blank(old, mine, yours) + indented(text, columns) + yours.end]


def deeper(line: LogicalLine, shift: Shift) -> str:
    """Return the whole line at its depth in the result."""
    return line.blank + indented(line.text, shift.of(line)) + line.end


def _blank(old: LogicalLine, ours: LogicalLine, theirs: LogicalLine) -> str:
    return ours.blank if theirs.blank == old.blank else theirs.blank
