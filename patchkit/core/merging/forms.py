"""The form that a line gets which stands on both sides: its indentation, the blank lines above it, its words."""

from __future__ import annotations

from patchkit.core.merging.depths import depth
from patchkit.core.merging.lexemes import LogicalLine, indented
from patchkit.core.merging.sides import Version
from patchkit.core.merging.weave import weave


def kept(at: int, ours: Version, theirs: Version) -> str:
    """Return the base's line ``at``, which says the same on all sides.

    It has the form of the side that changed it, the target's if both did.
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
        text = indented(yours.text, depth(at, ours, theirs) - (yours.indent - old.indent))
    return _blank(old, mine, yours) + text + (yours.end or mine.end)


def worded(at: int, line: LogicalLine, other: LogicalLine, ours: Version, theirs: Version) -> str:
    """Return a line whose words only one side changed; the other may have given it another form."""
    old = ours.base[at]
    blank = _blank(old, line, other)
    if other.text.strip() != old.text.strip():
        # Words are compared at the base's indentation; what either side put around the statement moves it.
        text = weave(old, line.indented(old.indent - line.indent), other.indented(old.indent - other.indent))
        if text is not None:
            return blank + indented(text, depth(at, ours, theirs)) + other.end
    return blank + indented(line.text, depth(at, ours, theirs) - (line.indent - old.indent)) + (line.end or other.end)


def woven(at: int, mine: LogicalLine, yours: LogicalLine, ours: Version, theirs: Version) -> list[str] | None:
    """Return a line whose words both sides changed; None where they changed the same ones."""
    old = ours.base[at]
    # What the patch put around the statement moves it as well; its words are compared at the base's indentation.
    text = weave(old, mine.indented(old.indent - mine.indent), yours.indented(old.indent - yours.indent))
    if text is None:
        return None
    return [_blank(old, mine, yours) + indented(text, depth(at, ours, theirs)) + yours.end]


def deeper(line: LogicalLine, columns: int) -> str:
    """Return the whole line, indented by ``columns`` more."""
    return line.blank + indented(line.text, columns) + line.end


def _blank(old: LogicalLine, ours: LogicalLine, theirs: LogicalLine) -> str:
    return ours.blank if theirs.blank == old.blank else theirs.blank
