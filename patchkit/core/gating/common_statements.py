"""What two versions of a function say alike at the beginning and at the end of their bodies, cut out of both."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from patchkit.core.gating.focus import head_lines, is_whole
from patchkit.core.lines import split_lines
from patchkit.core.merging.alignment import common_head, common_tail

# What goes on with a statement that began above, or begins none.
_GOES_ON: Final = re.compile(rb"[ \t\f\r\n#)\]}]|\Z|(?:elif|else|except|finally)\b")
_FIRST: Final = re.compile(rb"([ \t]+)[^ \t\r\n#]")


class Apart(NamedTuple):
    """Two versions of a function without the statements that they have in common."""

    one: bytes
    two: bytes
    common: bytes
    """The statements that neither of them has any more."""


def apart(one: bytes, two: bytes) -> Apart:
    """Cut the statements out of two versions of a function that both bodies begin or end with.

    The texts begin with ``def``. Where what is left can be parsed, the two versions differ as it does: for what was cut
    in front there stands a ``pass``, which no parser takes inside of a statement, nor one that ends half way. A
    docstring that differs is still the first statement.
    """
    lines, others = split_lines(one), split_lines(two)
    body = head_lines(one)
    found = next(filter(None, map(_FIRST.match, lines[body:])), None)
    if found is None:
        return Apart(one, two, b"")
    indent = found[1]
    head = common_head(lines, others)
    tail = common_tail(lines, others, head)

    def begins(line: bytes) -> bool:
        return line.startswith(indent) and not _GOES_ON.match(line, len(indent))

    first = head
    while first > body and not all(begins(text[first]) for text in (lines, others) if first < len(text)):
        first -= 1
    before = b"".join(lines[body:first])
    if not is_whole(before):
        before = b""
    while tail and not begins(lines[-tail]):
        tail -= 1
    behind = b"".join(lines[len(lines) - tail :])
    # A line that goes on would go on with the first of them.
    above = (text[: len(text) - tail][-1:] for text in (lines, others))
    if not is_whole(behind) or any(line.rstrip().endswith(b"\\") for last in above for line in last):
        tail, behind = 0, b""
    start, begin = ([*lines[:body], indent + b"pass\n"], first) if before else ([], 0)
    left = [b"".join([*start, *text[begin : len(text) - tail]]) for text in (lines, others)]
    return Apart(left[0], left[1], before + behind)
