from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.merging import alignment
from patchkit.core.merging.alignment import Edit, edits

_numbers = st.lists(st.integers(0, 12), max_size=14)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "MOST_PAIRS", 4)


def applied(old: Sequence[int], new: Sequence[int], found: Sequence[Edit]) -> list[int]:
    """What the edits make of ``old``; what lies between two of them is taken from ``old``."""
    made: list[int] = []
    at = 0
    for edit in found:
        made += [*old[at : edit.old], *new[edit.new : edit.new_end]]
        at = edit.old_end
    return [*made, *old[at:]]


def test_elements_that_both_have_once_stay() -> None:
    old, new = [0, 1, 2, 3, 9, 4, 5], [0, 1, 7, 3, 9, 8, 5]

    assert edits(old, new) == [Edit(2, 3, 2, 3), Edit(5, 6, 5, 6)]


def test_of_elements_in_another_order_most_stay() -> None:
    assert edits([9, 1, 2, 3, 4, 8], [8, 4, 1, 2, 3, 9]) == [Edit(0, 1, 0, 2), Edit(4, 6, 5, 6)]


def test_without_such_elements_everything_has_changed() -> None:
    assert edits([1, 1, 2, 2, 5], [2, 2, 1, 1, 6]) == [Edit(0, 5, 0, 5)]


@given(_numbers, _numbers)
def test_edits_lead_from_one_to_the_other(old: list[int], new: list[int]) -> None:
    found = edits(old, new)

    assert applied(old, new, found) == new
    assert all(one.old_end < two.old for one, two in pairwise(found))
