from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.rebasing.ranges import is_before, is_open, lower_bound, narrowed, split
from patchkit.core.version_range import in_range

version = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))


@pytest.mark.parametrize(
    ("specifier", "at", "parts"),
    [
        (">=0.19.0", "0.20.0", (">=0.19.0,<0.20.0", ">=0.20.0")),
        (">=0.17.0,<0.19.0", "0.18.0", (">=0.17.0,<0.18.0", ">=0.18.0,<0.19.0")),
        ("", "1.0", ("<1.0", ">=1.0")),
        ("<2.0", "1.0", ("<1.0", ">=1.0,<2.0")),
        (">=0.19", "0.19.0", None),
        (">0.19.0", "0.19", None),
        ("!=0.19.0", "0.20.0", None),
        ("~=0.19", "0.20.0", None),
    ],
)
def test_a_range_is_cut_where_the_new_variant_begins(specifier: str, at: str, parts: tuple[str, str] | None) -> None:
    assert split(specifier, at) == parts


@given(version, version, version, version)
def test_the_parts_of_a_range_hold_what_it_held_and_share_nothing(low: str, high: str, at: str, tested: str) -> None:
    whole = f">={low},<{high}"
    parts = split(whole, at)
    if parts is None or not in_range(at, whole):
        return

    assert [in_range(tested, part) for part in parts].count(True) == in_range(tested, whole)
    assert in_range(at, parts[1])


def test_the_lower_bound_is_the_highest_one() -> None:
    assert lower_bound(">=0.9,>=0.10,<0.12") == "0.10"
    assert lower_bound("<0.12") is None


@pytest.mark.parametrize(
    ("specifier", "told"),
    [(">=1.0", True), (">1, >=0.5", True), (">=1.0,<2", False), ("==1.0", False), ("~=1.0", False), ("", False)],
)
def test_a_range_is_open_that_has_lower_bounds_alone(specifier: str, told: bool) -> None:
    assert is_open(specifier) is told


def test_a_clause_is_added_once() -> None:
    assert narrowed("", "<1.0") == "<1.0"
    assert narrowed(">=0.5", "<1.0") == ">=0.5,<1.0"
    assert narrowed(">=0.5, <1.0", "<1.0") == ">=0.5,<1.0"


def test_releases_are_compared_by_their_numbers() -> None:
    assert is_before("0.9", "0.10")
    assert not is_before("1.0", "1")
    assert not is_before("1.0.1", "1.0")
