"""Which changes of two sides meet across blank lines."""

from __future__ import annotations

import pytest

from patchkit.core.merging.alignment import Edit
from patchkit.core.merging.blocks import met_across_blanks

BASE = [b"if a:\n", b"    b\n", b"\n", b"x\n"]
ENDS = [b"if a:\n", b"    b\n", b"if c:\n", b"    d\n", b"\n", b"x\n"]
GOES_ON = [b"if a:\n", b"    b\n", b"\n", b"    e\n", b"x\n"]
STOPS = [b"if a:\n", b"    b\n", b"\n", b"e\n", b"x\n"]
ENDS_BLOCK, BEHIND = Edit(2, 2, 2, 4), Edit(3, 3, 3, 4)


@pytest.mark.parametrize(
    ("base", "target", "mine", "expected"),
    [
        (BASE, GOES_ON, [ENDS_BLOCK], [Edit(2, 3, 2, 5)]),
        (BASE, STOPS, [ENDS_BLOCK], [ENDS_BLOCK]),
        ([b"if a:\n", b"    b\n", b"# no blank line\n", b"x\n"], GOES_ON, [ENDS_BLOCK], [ENDS_BLOCK]),
        (BASE, GOES_ON, [ENDS_BLOCK, Edit(2, 3, 4, 4)], [ENDS_BLOCK, Edit(2, 3, 4, 4)]),
    ],
    ids=["goes on behind a blank line", "in no block", "behind a comment", "blank line taken out by the same side"],
)
def test_an_edit_that_ends_a_block_meets_one_that_goes_on_with_it(
    base: list[bytes], target: list[bytes], mine: list[Edit], expected: list[Edit]
) -> None:
    for is_patch in (True, False):
        edits, others = list(mine), [BEHIND]
        if is_patch:
            met_across_blanks(base, ENDS, target, edits, others)
        else:
            met_across_blanks(base, target, ENDS, others, edits)

        assert (edits, others) == (expected, [BEHIND])
