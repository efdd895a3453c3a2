from __future__ import annotations

import pytest

from patchkit.core.lines import split_lines
from patchkit.core.merging.obsolete import why_obsolete
from patchkit.core.merging.surroundings import Outline

TARGET = (
    b"class Buffer:\n    def numel(self):\n        if self.sharded:\n            return 0\n        return self.size\n"
)

GONE = "the target has no class or function {}, and none of the lines around the change: drop the hunk?"
NOWHERE = "none of the lines that the hunk changes, or that stand around them, is in the target: drop the hunk?"


@pytest.mark.parametrize(
    ("lines", "scope", "reason"),
    [
        ([b"        self.region = None\n"], "Buffer.allocate", GONE.format("Buffer.allocate")),
        ([b"        self.region = None\n"], "Buffer.numel", NOWHERE),
        ([b"        self.region = None\n"], "<module>", NOWHERE),
        ([b"        self.region = None\n"], None, NOWHERE),
        # The scope may have another name.
        ([b"        self.region = None\n", b"return self.size\n"], "Buffer.allocate", None),
        # Short lines stand everywhere, or nowhere by chance.
        ([b"        else:\n", b"\n", b"x = 1\n"], "Buffer.allocate", None),
    ],
)
def test_nothing_of_the_hunk_is_in_the_target(lines: list[bytes], scope: str | None, reason: str | None) -> None:
    target = split_lines(TARGET)

    assert why_obsolete(lines, scope, Outline(target), set(map(bytes.strip, target))) == reason


def test_a_line_that_the_target_changed_is_not_gone() -> None:
    target = split_lines(TARGET)
    known = set(map(bytes.strip, target))
    line = b"        if self.sharded and self.size:\n"

    assert why_obsolete([line], "Buffer.numel", Outline(target), known, target[2:3]) is None
    assert why_obsolete([line], "Buffer.numel", Outline(target), known, target[4:5]) == NOWHERE
