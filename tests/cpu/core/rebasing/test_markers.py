from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.carry import Conflict
from patchkit.core.rebasing.markers import Labels, Marked, conflicts, cut, left_marks, render, without_conflicts

LABELS = Labels("v2.0", "v1.0", "patch: hunk")
CONFLICT = Conflict(b"old\n", b"mine\n", b"theirs\n")
TEXT = b"""\
one
<<<<<<< v2.0
theirs
||||||| v1.0
old
=======
mine
>>>>>>> patch: hunk
two
"""

line = st.sampled_from([b"a\n", b"b\n", b"\n", b"    c\n", b"<<<<<<\n", b"====\n"])
side = st.lists(line, max_size=3).map(b"".join)
piece = st.one_of(side.filter(bool), st.builds(Conflict, side, side, side))


def no_two_texts(parts: list[bytes | Conflict]) -> list[bytes | Conflict]:
    joined: list[bytes | Conflict] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, bytes) and isinstance(last, bytes):
            joined[-1] = last + part
        else:
            joined.append(part)
    return joined


def test_a_conflict_is_shown_in_the_diff3_style_of_git() -> None:
    assert render([b"one\n", CONFLICT, b"two\n"], [LABELS]) == TEXT


def test_a_side_without_a_last_newline_gets_one() -> None:
    shown = render([b"one", Conflict(b"", b"mine", b"theirs")], [LABELS])

    assert shown == b"one\n<<<<<<< v2.0\ntheirs\n||||||| v1.0\n=======\nmine\n>>>>>>> patch: hunk\n"


@given(st.lists(piece, max_size=6).map(no_two_texts))
def test_what_was_shown_is_read_back(parts: list[bytes | Conflict]) -> None:
    shown = render(parts, [LABELS] * len(parts))

    assert list(cut(shown)) == parts


@given(st.lists(piece, max_size=6))
def test_with_one_side_of_each_conflict_the_text_is_that_of_the_side(parts: list[bytes | Conflict]) -> None:
    shown = render(parts, [LABELS] * len(parts))
    expected = b"".join(part if isinstance(part, bytes) else part.target for part in parts)

    assert without_conflicts(shown, lambda conflict: conflict.target) == expected
    assert left_marks(expected, ()) == []


def test_the_lines_of_a_conflict_are_those_of_its_marks() -> None:
    assert conflicts(TEXT) == (Marked(2, 8, CONFLICT),)


def test_marks_that_are_no_whole_conflict_stay_text_and_are_found() -> None:
    broken = TEXT.replace(b"||||||| v1.0\n", b"").replace(b">>>>>>> patch: hunk\n", b"")

    assert cut(broken) == (broken,)
    assert left_marks(broken, ()) == [2, 5]


def test_a_conflict_within_a_conflict_is_found_as_the_inner_one() -> None:
    assert conflicts(b"<<<<<<< a\n" + TEXT) == (Marked(3, 9, CONFLICT),)
    assert left_marks(b"<<<<<<< a\n" + TEXT, ()) == [1, 3, 5, 7, 9]


def test_a_line_that_one_of_the_merged_texts_has_is_no_mark() -> None:
    titled = b"Title\n=======\n"

    assert left_marks(titled, [titled]) == []
    assert left_marks(titled, [b"Title\n"]) == [2]
    assert left_marks(b"x = '<<<<<<<'\n>>>>>>>x\n======== \n", ()) == []


def test_marks_that_are_indented_or_longer_than_ours_are_marks() -> None:
    text = b"a\n    <<<<<<< ours\n\t|||||||| base\n========\n>>>>>>>>>\r\n  >>>>>>> theirs"

    assert left_marks(text, ()) == [2, 3, 5, 6]
    assert left_marks(text, [b"\t|||||||| base\n"]) == [2, 5, 6]
