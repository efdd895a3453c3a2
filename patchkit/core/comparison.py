"""The three texts of a file that is carried, compared by lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from patchkit.core.carried import Conflict
from patchkit.core.lines import lines_of
from patchkit.core.merging.alignment import Edit, line_edits
from patchkit.core.merging.blocks import met_across_blanks
from patchkit.core.merging.merge import Region, combine
from patchkit.core.merging.surroundings import Outline, outline
from patchkit.core.merging.windows import Sides
from patchkit.core.scopes import LARGEST_SOURCE, MODULE


def is_python(path: str) -> bool:
    """Tell by its name whether a file is one of Python's."""
    return path.endswith((".py", ".pyi"))


class Comparison:
    """Base, changed text and target, what either side changed, and the regions that the patch changes."""

    def __init__(self, base: bytes, changed: bytes, target: bytes, path: str) -> None:
        self.base, self.changed, self.target = base, changed, target
        self.sides = Sides(*map(lines_of, (base, changed, target)))
        self.ours = line_edits(base, changed)
        """What the patch changes: from the base's lines to the changed text's."""
        self.theirs = line_edits(base, target)
        """What the target changed: from the base's lines to the target's."""
        self.path = path
        self.is_python = is_python(path) and max(map(len, (base, changed, target))) <= LARGEST_SOURCE
        mine, yours = list(self.ours), list(self.theirs)
        if self.is_python:
            met_across_blanks(*self.sides, mine, yours)
        self.regions = combine(mine, yours, self.sides.changed, self.sides.target)
        """What the patch changes, with what the target changed right there."""

    @property
    def is_structured(self) -> bool:
        """Whether statements can be told apart: lines of two kinds of endings are no versions of each other."""
        return self.is_python and len({_has_crlf(text) for text in (self.base, self.changed, self.target)}) == 1

    @cached_property
    def of_base(self) -> Outline:
        """The base's classes and functions."""
        return outline(self.base)

    @cached_property
    def of_target(self) -> Outline:
        """The target's classes and functions."""
        return outline(self.target)

    def scope(self, outline: Outline, first: int, end: int) -> str:
        """Return the class or function around 0-based lines ``[first, end)``; the module where nothing is Python."""
        return outline.scope(first, end) if self.is_python else MODULE

    def conflict(self, region: Region) -> Conflict:
        """Return the lines of a region as the three sides have them."""
        return Conflict(
            b"".join(self.sides.base[region.base : region.base_end]),
            b"".join(self.sides.changed[region.changed : region.changed_end]),
            b"".join(self.sides.target[region.target : region.target_end]),
        )

    def ours_within(self, begin: int, end: int) -> Sequence[Edit]:
        """Return what the patch changes in lines ``[begin, end)`` of the base, 0-based; at their ends too."""
        first = bisect_left(self.ours, begin, key=lambda edit: edit.old)
        last = first
        while last < len(self.ours) and self.ours[last].old_end <= end:
            last += 1
        return self.ours[first:last]

    def regions_within(self, begin: int, end: int) -> Sequence[Region]:
        """Return the regions in lines ``[begin, end)`` of the base, 0-based; those at their ends too."""
        first = bisect_left(self.regions, begin, key=lambda region: region.base)
        last = first
        while last < len(self.regions) and self.regions[last].base_end <= end:
            last += 1
        return self.regions[first:last]

    def is_in_region(self, edit: Edit) -> bool:
        """Tell whether a change of the target lies in a region."""
        at = bisect_left(self.regions, edit.old, key=lambda region: region.base_end)
        near = self.regions[at : at + 2]
        return any(region.base <= edit.old and edit.old_end <= region.base_end for region in near)

    def is_touched(self, first: int, last: int) -> bool:
        """Tell whether the target changed something from one 0-based line of the base to another, both included."""
        at = bisect_left(self.theirs, first, key=lambda edit: edit.old_end)
        return at < len(self.theirs) and self.theirs[at].old <= last


def _has_crlf(text: bytes) -> bool:
    # A search for one byte is much quicker, and most texts have no carriage return.
    return b"\r" in text and b"\r\n" in text
