"""Changes of two sides that only blank lines part, of which the later one would fall into a block of the earlier one.

To a merge of lines a blank line is a common line like any other, and it cannot be seen on which side of it something
was put in. Where one side ends a block there and the other goes on with it, the order decides what belongs to what.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchkit.core.merging.alignment import Edit

Lines = Sequence[bytes]


def met_across_blanks(base: Lines, changed: Lines, target: Lines, ours: list[Edit], theirs: list[Edit]) -> None:
    """Lengthen edits, in place, over blank lines up to an edit of the other side that would fall into their block."""
    sides = (ours, changed, theirs, target), (theirs, target, ours, changed)
    for edits, lines, others, other_lines in sides:
        at = 0
        for number, edit in enumerate(edits):
            while at < len(others) and others[at].old <= edit.old_end:
                at += 1
            if at == len(others):
                break
            gap = others[at].old - edit.old_end
            if any(line.strip() for line in base[edit.old_end : others[at].old]):
                continue
            if number + 1 < len(edits) and edits[number + 1].old <= others[at].old:
                # The side changed something in between as well, which would be counted twice.
                continue
            if _takes_in(base[edit.old : edit.old_end], lines[edit.new : edit.new_end], _new(others[at], other_lines)):
                edits[number] = Edit(edit.old, edit.old_end + gap, edit.new, edit.new_end + gap)


def _new(edit: Edit, lines: Lines) -> Lines:
    return lines[edit.new : edit.new_end]


def _takes_in(old: Lines, new: Lines, behind: Lines) -> bool:
    """Tell whether new lines end a block that the lines behind them belong to, and that ``old`` left open."""
    level = next(_columns(behind), None)
    if level is None:
        return False
    return any(columns < level for columns in _columns(new)) and not any(columns < level for columns in _columns(old))


def _columns(lines: Lines) -> Iterator[int]:
    """Yield how far the lines of code are indented."""
    for line in lines:
        bare = line.lstrip(b" \t\f")
        if bare.strip() and not bare.startswith(b"#"):
            yield len(line[: len(line) - len(bare)].expandtabs(8))
