from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.merging.alignment import Edit, edits
from patchkit.core.merging.sweep import Side, meet, span, sweep

_texts = st.text(st.sampled_from("abc."), max_size=10)

INSERT = Edit(2, 2, 2, 3)
DELETE_AFTER = Edit(2, 4, 2, 2)
DELETE_BEFORE = Edit(0, 2, 0, 0)
CHANGE_AROUND = Edit(1, 3, 1, 2)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (INSERT, INSERT, True),
        (INSERT, Edit(3, 3, 3, 4), False),
        # Side by side is apart here: a statement ends where the next begins.
        (INSERT, DELETE_AFTER, False),
        (INSERT, DELETE_BEFORE, False),
        (DELETE_BEFORE, DELETE_AFTER, False),
        (INSERT, CHANGE_AROUND, True),
        (DELETE_BEFORE, CHANGE_AROUND, True),
    ],
)
def test_edits_meet_when_they_share_an_element_or_a_place(one: Edit, two: Edit, expected: bool) -> None:
    assert (expected, expected) == (meet(one, two), meet(two, one))


@given(_texts, _texts, _texts)
def test_a_sweep_is_the_whole_base_in_order_with_each_edit_once(base: str, changed: str, target: str) -> None:
    ours, theirs = edits(base, changed), edits(base, target)

    stretches = list(sweep(ours, theirs, len(base)))

    at = 0
    for stretch in stretches:
        assert (at, True) == (stretch.begin, stretch.begin <= stretch.end)
        at = stretch.end
    assert len(base) == at
    assert ours == [edit for stretch in stretches for edit in stretch.ours]
    assert theirs == [edit for stretch in stretches for edit in stretch.theirs]
    sides = {
        (False, False): Side.NEITHER,
        (True, False): Side.OURS,
        (False, True): Side.THEIRS,
        (True, True): Side.BOTH,
    }
    assert [sides[bool(one.ours), bool(one.theirs)] for one in stretches] == [one.side for one in stretches]


@given(_texts, _texts)
def test_spans_of_a_side_put_together_are_the_side(base: str, changed: str) -> None:
    ours = edits(base, changed)

    made = ""
    for stretch in sweep(ours, [], len(base)):
        if stretch.ours:
            made += changed[slice(*span(stretch.ours, stretch.begin, stretch.end))]
        else:
            made += base[stretch.begin : stretch.end]

    assert changed == made


def test_an_insertion_stands_before_what_the_other_side_changes_behind_it() -> None:
    assert [one.side for one in sweep([INSERT], [DELETE_AFTER], 4)] == [Side.NEITHER, Side.OURS, Side.THEIRS]
    assert [one.side for one in sweep([DELETE_AFTER], [INSERT], 4)] == [Side.NEITHER, Side.THEIRS, Side.OURS]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2))), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)))
)
def test_a_group_goes_on_while_the_next_edit_meets_any_of_the_other_sides(
    ours: list[tuple[int, int]], theirs: list[tuple[int, int]]
) -> None:
    one, two = _row(ours), _row(theirs)
    for stretch in sweep(one, two, 100):
        if stretch.side is Side.BOTH:
            for mine, yours, rest in ((stretch.ours, stretch.theirs, one), (stretch.theirs, stretch.ours, two)):
                behind = rest[rest.index(mine[-1]) + 1 :]
                assert not behind or not any(meet(behind[0], edit) for edit in yours)
                assert all(any(meet(edit, other) for other in yours) for edit in mine)


def _row(steps: list[tuple[int, int]]) -> list[Edit]:
    """Edits in a row, each so far behind the one before and so long; no two of them are insertions at one place."""
    found: list[Edit] = []
    at = 0
    for gap, length in steps:
        begin = at + (gap or int(not length and bool(found)))
        at = begin + length
        found.append(Edit(begin, at, begin, begin + 1))
    return found
