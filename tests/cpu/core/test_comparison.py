from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.comparison import Comparison

from .programs import changed_programs

_texts = st.lists(st.sampled_from((b"a\n", b"b\n", b"c\n", b"d\n")), max_size=9).map(b"".join)


@given(_texts, _texts, _texts)
def test_what_lies_within_lines_of_the_base_is_found(base: bytes, changed: bytes, target: bytes) -> None:
    compared = Comparison(base, changed, target, "x.py")
    length = len(compared.sides.base)

    for begin in range(length + 1):
        for end in range(begin, length + 1):
            assert [*compared.ours_within(begin, end)] == [
                edit for edit in compared.ours if begin <= edit.old and edit.old_end <= end
            ]
            assert [*compared.regions_within(begin, end)] == [
                region for region in compared.regions if begin <= region.base and region.base_end <= end
            ]
    for edit in compared.theirs:
        assert compared.is_in_region(edit) == any(
            region.base <= edit.old and edit.old_end <= region.base_end for region in compared.regions
        )


@given(changed_programs())
def test_regions_and_changes_outside_of_them_are_all_of_the_patch(pair: tuple[bytes, bytes]) -> None:
    base, changed = pair
    compared = Comparison(base, changed, base, "x.py")

    assert (compared.theirs, compared.is_touched(0, len(compared.sides.base))) == ((), False)
    assert [(region.base, region.base_end) for region in compared.regions] == [
        (edit.old, edit.old_end) for edit in compared.ours
    ]


def test_texts_of_two_kinds_of_endings_are_not_told_apart_by_statements() -> None:
    assert Comparison(b"a\r\n", b"b\r\n", b"c\r\n", "x.py").is_structured
    assert not Comparison(b"a\r\n", b"b\r\n", b"c\n", "x.py").is_structured
    assert Comparison(b"a\rb\n", b"b\n", b"c\n", "x.py").is_structured
    assert not Comparison(b"a\n", b"b\n", b"c\n", "x.yaml").is_structured
