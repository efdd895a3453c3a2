from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.lines import split_lines
from patchkit.core.merging import alignment
from patchkit.core.merging.alignment import Edit, edited_lines, edits, line_edits, partners

_sequences = st.lists(st.sampled_from("abcd"), max_size=12)


def longest_common(old: Sequence[str], new: Sequence[str]) -> int:
    """Length of a longest common subsequence, by the textbook's table."""
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for row, one in enumerate(old):
        for column, two in enumerate(new):
            table[row + 1][column + 1] = (
                table[row][column] + 1 if one == two else max(table[row][column + 1], table[row + 1][column])
            )
    return table[-1][-1]


@given(_sequences, _sequences, st.sampled_from([0, 6, alignment.MOST_PAIRS]))
def test_edits_turn_the_old_into_the_new_and_keep_a_common_element_between_two(
    old: list[str], new: list[str], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        # Also as for sequences that are too large to be matched at once.
        patched.setattr(alignment, "MOST_PAIRS", most)
        found = edits(old, new)

    made: list[str] = []
    at = 0
    for number, edit in enumerate(found):
        kept = old[at : edit.old]
        assert kept or not number
        made += kept + new[edit.new : edit.new_end]
        assert (edit.new_end, True) == (len(made), edit.old < edit.old_end or edit.new < edit.new_end)
        at = edit.old_end
    assert new == made + old[at:]


@given(_sequences, _sequences)
def test_edits_leave_as_much_in_common_as_there_is(old: list[str], new: list[str]) -> None:
    changed = sum(edit.old_end - edit.old for edit in edits(old, new))

    assert longest_common(old, new) == len(old) - changed


@given(_sequences, _sequences)
def test_partners_are_equal_and_in_order(old: list[str], new: list[str]) -> None:
    found = edits(old, new)

    to_new = partners(found, len(old))

    kept = [(old[spot], partner) for spot, partner in enumerate(to_new) if partner >= 0]
    assert [word for word, _ in kept] == [new[partner] for _, partner in kept]
    assert sorted({partner for _, partner in kept}) == [partner for _, partner in kept]
    changed = {spot for edit in found for spot in range(edit.old, edit.old_end)}
    assert changed == {spot for spot, partner in enumerate(to_new) if partner < 0}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("abc", "abc", []),
        ("", "", []),
        ("", "ab", [Edit(0, 0, 0, 2)]),
        ("ab", "", [Edit(0, 2, 0, 0)]),
        ("abc", "axc", [Edit(1, 2, 1, 2)]),
        # An added blank among blanks is the last of them, as git has it.
        ("a..b", "a...b", [Edit(3, 3, 3, 4)]),
        ("a...b", "a..b", [Edit(3, 4, 3, 3)]),
        # A function added between two: the run slides down past the common closing line.
        ("f}g}", "f}h}g}", [Edit(2, 2, 2, 4)]),
        ("f}", "f}h}", [Edit(2, 2, 2, 4)]),
        # Behind another change as well.
        ("a.", "ba..", [Edit(0, 0, 0, 1), Edit(2, 2, 3, 4)]),
        # Two runs that can meet are one.
        ("a.", ".aa.b", [Edit(0, 0, 0, 2), Edit(2, 2, 4, 5)]),
        ("a.b", "a.x.c", [Edit(2, 3, 2, 5)]),
    ],
)
def test_runs_slide_down_as_in_git(old: str, new: str, expected: list[Edit]) -> None:
    assert expected == edits(old, new)


def test_elements_with_equal_hashes_are_told_apart() -> None:
    # -1 and -2 have one hash in CPython.
    assert edits([-1, -2], [-2, -1, -2]) == [Edit(0, 0, 0, 1)]


def test_what_is_too_large_to_be_matched_at_once_is_cut_at_what_stands_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "MOST_PAIRS", 0)

    assert edits("aaxbb", "acxdb") == [Edit(1, 2, 1, 2), Edit(3, 4, 3, 4)]
    assert edits("aacb", "addb") == [Edit(1, 3, 1, 3)]


@given(st.lists(st.sampled_from((b"a\n", b"b\n", b"c\r\n", b"\n"))), st.lists(st.sampled_from((b"a\n", b"b\n", b"d"))))
def test_edits_of_texts_are_those_of_their_lines(old: list[bytes], new: list[bytes]) -> None:
    one, two = b"".join(old), b"".join(new)

    assert line_edits(one, two) == tuple(edits(split_lines(one), split_lines(two)))


def test_the_edited_lines_are_those_of_all_edits_in_order() -> None:
    assert edited_lines(b"a\nb\nc\nd", b"a\nx\ny\nc\n") == (b"b\nd", b"x\ny\n")
    assert edited_lines(b"a\n", b"a\n") == (b"", b"")
