from __future__ import annotations

import pytest

from patchkit.core.endings import new_ending


@pytest.mark.parametrize(
    ("before", "after", "ending"),
    [
        (b"a\nb\n", b"a\nb\nc\n", ""),
        (b"a\nb\n", b"a\r\nb\r\n", "CR LF"),
        (b"a\nb\n", b"a\nb\r\n", "CR LF"),
        (b"a\r\nb\r\n", b"a\nb\n", "LF"),
        (b"a\r\nb\n", b"a\r\nb\r\n", ""),
        (b"a\nb\n", b"a\nb", ""),
        (b"", b"a\r\n", ""),
        (b"a", b"a\r\nb\r\n", ""),
        (b"a\n", b"", ""),
    ],
)
def test_an_ending_is_new_that_no_line_had_before(before: bytes, after: bytes, ending: str) -> None:
    assert new_ending(before, after) == ending
