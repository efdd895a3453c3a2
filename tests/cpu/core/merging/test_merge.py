from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.merging.alignment import edits
from patchkit.core.merging.merge import Kind, Region, combine

_texts = st.text(st.sampled_from("abc."), max_size=10)


def merged(base: str, changed: str, target: str) -> list[Region]:
    """The regions of three sides whose elements are characters."""
    return combine(edits(base, changed), edits(base, target), changed, target)


@pytest.mark.parametrize(
    ("base", "changed", "target", "expected"),
    [
        # One side changed, the other not.
        ("abc", "axc", "abc", [Region(Kind.APPLIED, 1, 2, 1, 2, 1, 2)]),
        ("abc", "abc", "axc", []),
        # Apart: one common element between is enough, as for git.
        ("abc", "xbc", "aby", [Region(Kind.APPLIED, 0, 1, 0, 1, 0, 1)]),
        # Side by side: git's conflict too.
        ("abcd", "axcd", "abyd", [Region(Kind.CONFLICT, 1, 3, 1, 3, 1, 3)]),
        # Both made the same of it.
        ("abc", "axc", "axc", [Region(Kind.SAME, 1, 2, 1, 2, 1, 2)]),
        ("abc", "ac", "ac", [Region(Kind.SAME, 1, 2, 1, 1, 1, 1)]),
        # Both insert at one place, differently.
        ("ab", "axb", "ayb", [Region(Kind.CONFLICT, 1, 1, 1, 2, 1, 2)]),
        # One removes what the other changes.
        ("abc", "ac", "axc", [Region(Kind.CONFLICT, 1, 2, 1, 2, 1, 1)]),
        # An insertion at the edge of what the other removes.
        ("abc", "abxc", "ac", [Region(Kind.CONFLICT, 1, 2, 1, 1, 1, 3)]),
        # A long edit of one side takes in all edits of the other that it touches, and what those touch.
        ("abcdef", "axcyef", "apppef", [Region(Kind.CONFLICT, 1, 4, 1, 4, 1, 4)]),
        # Lines shift by what the other side did before.
        ("abcd", "abcx", "ppabcd", [Region(Kind.APPLIED, 3, 4, 5, 6, 3, 4)]),
    ],
)
def test_what_becomes_of_each_region(base: str, changed: str, target: str, expected: list[Region]) -> None:
    assert expected == merged(base, changed, target)


@given(_texts, _texts, _texts)
def test_regions_hold_every_change_of_the_patch_and_nothing_else(base: str, changed: str, target: str) -> None:
    regions = merged(base, changed, target)

    rest, at, from_base, before = "", 0, "", 0
    for region in regions:
        rest += changed[at : region.changed]
        from_base += base[before : region.base]
        at, before = region.changed_end, region.base_end
    assert from_base + base[before:] == rest + changed[at:]


@given(_texts, _texts, _texts)
def test_the_two_sides_are_equal_before_the_law(base: str, changed: str, target: str) -> None:
    """Regions in conflict or made the same are the same whoever is called the patch."""
    mine = [region for region in merged(base, changed, target) if region.kind is not Kind.APPLIED]
    yours = [region for region in merged(base, target, changed) if region.kind is not Kind.APPLIED]

    assert mine == [
        Region(one.kind, one.base, one.base_end, one.changed, one.changed_end, one.target, one.target_end)
        for one in yours
    ]
