"""A text in parts, from one class or function at the margin to the next, so that texts share what they have in common.

The texts of a carry, and the versions of a file, are the same but for a few parts. What a part says by itself is found
once and kept with it, for as long as the part itself is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any, Final, TypeVar

from patchkit.core.remembered import remembered

Result = TypeVar("Result")

_NEXT: Final = re.compile(rb"\n(?=class[ \t]|def[ \t]|async[ \t]+def[ \t])")


class Part:
    """A class or function at the margin with what follows it, or what stands before the first one."""

    __slots__ = ("facts", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        """Whole lines; the last one may have no ending."""
        self.facts: dict[Callable[[bytes], Any], Any] = {}
        """Results of functions of the text, by function: see ``of_part``."""


part_with: Final = remembered(most=2_000_000)(Part)
"""Return the part with a text."""


@remembered(most=2_000_000, lasting=False)
def parts_of(content: bytes) -> tuple[Part, ...]:
    """Return the parts of a text, at least one; their texts in a row are the text."""
    cuts = [0, *(match.end() for match in _NEXT.finditer(content)), len(content)]
    return tuple(part_with(content[begin:end]) for begin, end in pairwise(cuts))


def of_part(find: Callable[[bytes], Result]) -> Callable[[Part], Result]:
    """Make a function of a part out of one of its text that is asked once a part. Nobody may change the results."""

    @wraps(find)
    def known(part: Part) -> Result:
        try:
            result: Result = part.facts[find]
        except KeyError:
            result = part.facts[find] = find(part.text)
        return result

    return known
