from __future__ import annotations

from hypothesis import given

from patchkit.core.blobs import blob_id
from patchkit.core.difference import difference
from patchkit.core.foreign.diffs import ForeignFile, Repair
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.foreign.repair import Fitted, Unfit, fit_file
from patchkit.core.model import Patch
from patchkit.core.unified import print_patch

from ..texts import edited

BASE = b"".join(f"line {number}\n".encode() for number in range(1, 21))
SIGNATURE = "-- \n2.39.5\n"
"""Shows that the text was not cut off in the hunk above."""
BODY = " line 4\n-line 5\n+five\n line 6\n"


def foreign_file(text: str | bytes) -> ForeignFile:
    raw = text.encode() if isinstance(text, str) else text
    return read_foreign(raw, "p").messages[0].files[0]


def diff(body: str = BODY, ranges: str = "-4,3 +4,3") -> str:
    return f"--- a/x\n+++ b/x\n@@ {ranges} @@\n{body}"


def fit(text: str | bytes, base: bytes | None = BASE) -> Fitted | Unfit:
    return fit_file(foreign_file(text), "x", "x", base, "p")


def repaired(text: str | bytes, base: bytes = BASE) -> list[tuple[str, str]]:
    fitted = fit(text, base)
    assert isinstance(fitted, Fitted)
    return [(repair.rule, repair.message) for repair in fitted.repairs]


def content(fitted: Fitted | Unfit) -> bytes | None:
    assert isinstance(fitted, Fitted)
    return fitted.contents["x"]


# What fits.


def test_a_hunk_that_fits_where_its_header_says_is_not_repaired() -> None:
    fitted = fit(diff())

    assert repaired(diff()) == []
    assert content(fitted) == BASE.replace(b"line 5\n", b"five\n")


def test_counts_are_made_anew_when_the_old_side_stands_in_the_base() -> None:
    text = diff(ranges="-4,3 +4,8") + SIGNATURE

    assert repaired(text) == [
        (
            "counts",
            "its header says 3 old and 8 new lines, its body has 3 and 3; "  # noqa: ISC004 - one text on two lines
            "its old lines stand in the base at line 4: counted anew",
        )
    ]
    assert content(fit(text)) == content(fit(diff()))


def test_a_repair_names_patch_line_file_and_hunk() -> None:
    fitted = fit(diff(ranges="-9,3 +9,3"))
    assert isinstance(fitted, Fitted)

    assert fitted.repairs == (
        Repair("start", "p", 3, "its old lines stand at line 4 of the base and nowhere else, not at 9", "x", 1),
    )


def test_a_hunk_in_another_ending_is_read_in_that_of_the_base() -> None:
    wide = diff(BODY.replace("\n", "\r\n"))

    assert repaired(wide) == [("crlf", "its lines ended in CRLF, those of the base end in LF")]
    assert content(fit(wide)) == content(fit(diff()))
    assert repaired(diff(), BASE.replace(b"\n", b"\r\n")) == [
        ("crlf", "its lines ended in LF, those of the base end in CRLF")
    ]


def test_a_base_without_a_last_newline_keeps_none() -> None:
    text = diff(" line 18\n-line 19\n+19\n line 20\n", "-18,3 +18,3")

    assert repaired(text, BASE[:-1]) == [("end-of-file", "the base ends without a newline, which the hunk did not say")]
    assert content(fit(text, BASE[:-1])) == BASE[:-1].replace(b"line 19", b"19")


def test_new_lines_are_numbered_behind_what_the_hunks_above_add() -> None:
    fitted = fit(diff("+zero\n line 1\n", "-1 +1,2") + "@@ -10,2 +77,3 @@\n line 10\n+ten and a half\n line 11\n")
    assert isinstance(fitted, Fitted)

    assert [(hunk.old_start, hunk.new_start) for hunk in fitted.files[0].hunks] == [(1, 1), (10, 11)]


# What does not.


def test_a_hunk_with_two_places_away_from_its_line_is_refused() -> None:
    twice = BASE + BASE
    unfit = fit(diff(ranges="-9,3 +9,3"), twice)

    assert unfit == Unfit("x", 3, 1, "its old lines do not stand at line 9, but at lines 4, 24")


def test_a_hunk_that_stands_nowhere_names_the_line_at_which_it_parts_from_the_base() -> None:
    text = diff(" line 4\n-line five\n+five\n line 6\n")

    assert fit(text) == Unfit(
        "x",
        3,
        1,
        "its old lines are nowhere in the base (line 5 of the patch, line 5 of the base: 'line five' against 'line 5')",
    )


def test_counts_that_disagree_are_named_when_the_base_does_not_decide_either() -> None:
    unfit = fit(diff(" line 4\n-line five\n+five\n line 6\n", "-4,3 +4,9") + SIGNATURE)
    assert isinstance(unfit, Unfit)

    assert unfit.message.startswith(
        "its header says 3 old and 9 new lines, its body has 3 and 3; its old lines are nowhere in the base"
    )


def test_hunks_in_another_order_overlap() -> None:
    text = diff("-line 11\n+eleven\n", "-11 +11") + "@@ -4,3 +4,3 @@\n" + BODY
    unfit = fit(text)

    assert unfit == Unfit("x", 6, 2, "its old lines overlap those of the hunk above it")


def test_context_that_an_edge_of_the_file_cut_off_is_not_found_inside_of_it() -> None:
    message = "its context says that the file begins or ends there, and the file goes on"

    assert fit(diff(" line 4\n-line 5\n+five\n", "-4,2 +4,2")) == Unfit("x", 3, 1, message)
    assert fit(diff("-line 5\n+five\n line 6\n", "-1,2 +1,2")) == Unfit("x", 3, 1, message)


def test_an_edge_of_the_file_speaks_against_the_line_that_is_named() -> None:
    unfit = fit(diff(" line 4\n line 5\n+new\n line 6\n", "-4,3 +4,4"), BASE + b"line 4\nline 5\nline 6\n")

    message = "its old lines stand at lines 4, 21, and its context says that an edge of the file is there"
    assert unfit == Unfit("x", 3, 1, message)


def test_context_that_another_hunk_cut_off_says_nothing_of_an_edge() -> None:
    # The second insertion has context below alone, since the first stands above it, and its old text is at line 1 too.
    fitted = fit(diff("+a\n", "-0,0 +1") + "@@ -2 +3,2 @@\n+a\n b\n", b"b\nb\n")

    assert isinstance(fitted, Fitted)
    assert fitted.contents == {"x": b"a\nb\na\nb\n"}
    assert fitted.repairs == ()


def test_a_new_line_without_newline_is_joined_to_no_other_line() -> None:
    marker = "\\ No newline at end of file\n"
    message = "its last new line has no newline, and the file goes on behind it"

    assert fit(diff("-line 5\n+five\n" + marker, "-5 +5")) == Unfit("x", 3, 1, message)
    assert fit(diff("+five\n" + marker, "-5,0 +6")) == Unfit("x", 3, 1, message)


def test_a_hunk_with_two_places_beside_one_that_has_moved_is_left_to_a_person() -> None:
    base = b"x\na\nb\ny\nb\n"
    two = "@@ -5 +5 @@\n-b\n+B\n"

    assert content(fit("--- a/x\n+++ b/x\n" + two, base)) == b"x\na\nb\ny\nB\n"
    moved = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+A\n"
    assert fit(moved + two, base) == Unfit(
        "x", 6, 2, "its old lines stand at line 5, and at 3 too, and a hunk beside it has moved"
    )
    assert fit(moved + "@@ -4,0 +5 @@\n+B\n", base) == Unfit(
        "x",
        6,
        2,
        "it has no context, so that nothing but its header says line 4, and a hunk beside it has moved",
    )


def test_a_missing_file_and_one_in_the_way_are_told() -> None:
    assert fit(diff(), None) == Unfit("x", 1, None, "the base has no x")
    created = foreign_file("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n")
    assert fit_file(created, None, "x", BASE, "p") == Unfit(
        "x", 1, None, "it is to be created, and the base has it already"
    )


# Beyond lines.


def test_a_rename_is_a_removal_and_a_creation() -> None:
    text = "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n" + diff().replace("b/x", "b/y")
    fitted = fit_file(foreign_file(text), "x", "y", BASE, "p")
    assert isinstance(fitted, Fitted)

    assert [(file.old_path, file.new_path) for file in fitted.files] == [("x", None), (None, "y")]
    assert dict(fitted.contents) == {"y": BASE.replace(b"line 5\n", b"five\n"), "x": None}
    assert fitted.notes == ("x -> y: a rename is carried as whole files",)


def test_a_mode_is_not_carried_and_said_so() -> None:
    text = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"
    fitted = fit(text)
    assert isinstance(fitted, Fitted)

    assert (fitted.files, fitted.notes) == ((), ("x: new mode 100755 is not carried",))


def test_a_result_that_the_index_line_does_not_promise_is_told() -> None:
    made = blob_id(BASE.replace(b"line 5\n", b"five\n"))
    right = fit(f"diff --git a/x b/x\nindex 1234567..{made[:9]} 100644\n{diff()}")
    wrong = fit(f"diff --git a/x b/x\nindex 1234567..123456789 100644\n{diff()}")
    assert isinstance(right, Fitted)
    assert isinstance(wrong, Fitted)

    assert right.notes == ()
    assert wrong.notes == (
        f"x: the index line promises 123456789, the hunks give {made[:9]}: edited since it was made",
    )


# The law: a difference fits the text that it was made from, without repairs, and gives the other.


@given(edited())
def test_a_difference_fits_the_text_it_was_made_from(pair: tuple[bytes, bytes]) -> None:
    old, new = pair
    patch = difference(old, new, "x")
    if patch is None:
        return
    fitted = fit(print_patch(Patch((patch,))), old)
    assert isinstance(fitted, Fitted)

    assert fitted.contents == {"x": new}
    assert fitted.files == (patch,)
    assert fitted.repairs == ()
