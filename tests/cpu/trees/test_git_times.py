from __future__ import annotations

import pytest

from patchkit.trees.git_times import UNKNOWN, day, seconds


@pytest.mark.parametrize(
    ("told", "time", "of"),
    [
        ("1767323045", 1_767_323_045, "2026-01-02"),
        ("1", 1, "1970-01-01"),
        ("4102444799", 4_102_444_799, "2099-12-31"),
        *[
            (told, UNKNOWN, "")
            for told in ("", "0", "-5", "4102444800", "99999999999999", "1" * 30, "1" * 5000, "1_0", "\u0661", "x")
        ],
    ],
)
def test_a_time_that_git_tells_is_one_of_our_age_or_unknown(told: str, time: int, of: str) -> None:
    assert (seconds(told), day(seconds(told))) == (time, of)
