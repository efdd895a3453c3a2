"""Lines that one text has and another has not, or not as often.

The texts that gates compare share nearly all of their parts and lines. Parts that both have are passed over, and so are
lines that both begin and end with; the lines themselves are those of ``core.lines``, which are split once a part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from patchkit.core.lines import bare_lines, lines_in
from patchkit.core.merging.alignment import common_head, common_tail
from patchkit.core.parts import Part, parts_of
from patchkit.core.remembered import remembered

_FEW: Final = 10
"""Up to so many lines a search for each takes less time than to split the other text."""


@remembered(most=2_000_000, lasting=False)
def _by_text(content: bytes) -> dict[bytes, Part]:
    """Return each part of a text once, in order; the last one goes by what it would be before another one."""
    *parts, last = parts_of(content)
    found = {each.text: each for each in parts}
    found.setdefault(last.text + b"\n", last)
    return found


def _lines_beside(content: bytes, here: dict[bytes, Part], there: dict[bytes, Part]) -> list[bytes]:
    """Return the lines of the parts of ``content`` that ``there`` has not, with what stands behind its last ending."""
    lines = [line for text, part in here.items() if text not in there for line in lines_in(part)]
    last, part = next(reversed(here.items()))
    # What is the same as another part is no more the last one.
    is_beside = last not in there and last != part.text
    return [*lines, b""] if is_beside and content[-1:] in (b"", b"\n") else lines


def _apart(content: bytes, other: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the lines of the parts that only one of two texts has, without what both begin and end with.

    They have their endings. What stands behind the last ending of a text is a line as well, be it nothing.
    """
    here, there = _by_text(content), _by_text(other)
    lines, beside = _lines_beside(content, here, there), _lines_beside(other, there, here)
    head = common_head(lines, beside)
    tail = common_tail(lines, beside, head)
    return lines[head : len(lines) - tail], beside[head : len(beside) - tail]


def new_lines(content: bytes, other: bytes) -> frozenset[bytes]:
    """Return the lines of ``content``, without their endings, that ``other`` has nowhere."""
    # Nearly all lines of a part that differs stand in its other version.
    here, there = _apart(content, other)
    lines = frozenset(line.removesuffix(b"\n") for line in frozenset(here).difference(there))
    if len(lines) > _FEW:
        return lines.difference(bare_lines(other))
    text = b"\n" + other + b"\n"
    return frozenset(line for line in lines if b"\n" + line + b"\n" not in text)


@remembered(most=1_000_000)
def more_lines(content: bytes, other: bytes) -> frozenset[bytes]:
    """Return the lines of ``content``, white space at their ends aside, that stand there more often than in ``other``.

    Parts that both have are passed over, however often they have them.
    """
    lines, others = map(Counter, _apart(content, other))
    # Nearly all stand as often in both as they are, so that few have to be stripped.
    balance = Counter[bytes]()
    for line in {line for line, _ in lines.items() ^ others.items()}:
        balance[line.strip()] += lines[line] - others[line]
    return frozenset(line for line, more in balance.items() if more > 0)


def have_a_part_twice(*texts: bytes) -> bool:
    """Tell whether one of the texts may have a part several times.

    Where none has, lines of which one has more than another are among those that an alignment of the two adds.
    """
    return any(_may_have_one_twice(parts_of(text)) for text in texts)


def _may_have_one_twice(parts: Sequence[Part]) -> bool:
    # The last one may be the same as one with another line ending.
    longer = len(parts[-1].text) + 1
    return len({part.text for part in parts}) < len(parts) or any(len(part.text) == longer for part in parts)
