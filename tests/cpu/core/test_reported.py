"""The state file of check-upstream, and what counts as news."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.carry_report import AlarmReport, DriftReport, PlaceReport
from patchkit.core.report import CheckReport
from patchkit.core.reported import fingerprint, parse_reported, print_reported
from patchkit.core.upstream_report import HunkAnswer, PatchAnswer
from patchkit.errors import StoreError

PRINTS = st.text("0123456789abcdef", min_size=16, max_size=16)
NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789.-/", min_size=1) | st.text(min_size=1)


@given(st.dictionaries(NAMES, st.frozensets(PRINTS, min_size=1)))
def test_what_was_printed_is_read_back(known: dict[str, frozenset[str]]) -> None:
    assert parse_reported(print_reported(known), "state") == known


@given(st.dictionaries(NAMES, st.frozensets(PRINTS, min_size=1)), st.randoms())
def test_the_order_of_lines_says_nothing(known: dict[str, frozenset[str]], random: object) -> None:
    lines = print_reported(known).splitlines(keepends=True)
    random.shuffle(lines)  # type: ignore[attr-defined]
    assert parse_reported("".join(lines), "state") == known


def test_one_line_a_target_so_that_git_merges_it() -> None:
    text = print_reported({"main": ["b" * 16], "0.19.2": ["a" * 16]})
    assert text == (
        "# What `patchkit check-upstream --new-only` has reported, by target. Lines may stand in any order.\n"
        "0.19.2 aaaaaaaaaaaaaaaa\n"
        "main bbbbbbbbbbbbbbbb\n"
    )


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("main@{1 day ago}", "main@{1%20day%20ago}"),
        ("#12", "%2312"),
        ("=======", "%3D======"),
        ("<<<<<<<", "%3C<<<<<<"),
        ("a%20b", "a%2520b"),
        ("a\u2028b", "a%E2%80%A8b"),
        ("zweig-ä#1", "zweig-ä#1"),
    ],
)
def test_any_name_is_one_word_and_no_comment_or_mark(name: str, written: str) -> None:
    text = print_reported({name: ["a" * 16]})
    assert text.split("\n")[1] == f"{written} aaaaaaaaaaaaaaaa"
    assert parse_reported(text, "state") == {name: frozenset({"a" * 16})}


def test_both_sides_of_a_merge_are_known() -> None:
    text = "main aaaaaaaaaaaaaaaa\nmain bbbbbbbbbbbbbbbb\n"
    assert parse_reported(text, "state") == {"main": frozenset({"a" * 16, "b" * 16})}


@pytest.mark.parametrize("mark", ["<<<<<<< HEAD", "=======", ">>>>>>> other", "||||||| base"])
def test_the_marks_of_a_merge_are_refused_by_line(mark: str) -> None:
    with pytest.raises(StoreError) as error:
        parse_reported(f"# comment\nmain aaaaaaaaaaaaaaaa\n{mark}\n", "dir/reported.txt")
    assert error.value.message == "dir/reported.txt:3: this is the mark of an unfinished merge"


@pytest.mark.parametrize("line", ["main", "main zzzzzzzzzzzzzzzz", "main aaaaaaaaaaaaaaaa more", "main aaaa"])
def test_a_line_of_another_form_is_refused(line: str) -> None:
    with pytest.raises(StoreError, match=r"reported\.txt:1: not a target and its fingerprint"):
        parse_reported(f"{line}\n", "reported.txt")


HUNK = HunkAnswer(id="one", group="plumbing", path="a.py", state="fine", verdict="moved", reason="4 lines away")
PATCH = PatchAnswer(name="first", state="fine", verdict="carries", hunks=(HUNK,))
BLOBS = {"a.py": "1" * 40}


def of(hunk: HunkAnswer = HUNK, **other: object) -> str:
    patch = PatchAnswer(name="first", state="fine", verdict="carries", hunks=(hunk,), **other)  # type: ignore[arg-type]
    return fingerprint(BLOBS, (patch,), ())


@pytest.mark.parametrize(
    "hunk",
    [
        HunkAnswer(id="one", group="plumbing", path="a.py", state="fine", verdict="moved", reason="other words"),
        HunkAnswer(
            id="one", group="plumbing", path="a.py", state="fine", verdict="moved", new=PlaceReport("<module>", 9, 9)
        ),
    ],
)
def test_the_same_finding_in_other_words_or_on_another_line_is_no_news(hunk: HunkAnswer) -> None:
    assert of(hunk) == of()


def test_everything_that_a_person_acts_on_is_news() -> None:
    drift = DriftReport("A.f", ("body",), "f()", "f()")
    alarm = AlarmReport("unbound", 3, "name", "nothing binds name")
    hunks = [
        HUNK,
        HunkAnswer(id="one", group="plumbing", path="a.py", state="broken", verdict="conflict"),
        HunkAnswer(id="one", group="plumbing", path="a.py", state="look", verdict="moved"),
        HunkAnswer(id="one", group="plumbing", path="a.py", state="fine", verdict="moved", drift=(drift,)),
        HunkAnswer(id="one", group="plumbing", path="a.py", state="fine", verdict="moved", alarms=(alarm,)),
    ]
    prints = {of(hunk) for hunk in hunks}
    prints.add(of(alarms=(alarm,)))
    prints.add(of(checks=(CheckReport("first", "count", False, 1, 2),)))
    prints.add(fingerprint({"a.py": "2" * 40}, (PATCH,), ()))
    prints.add(fingerprint({"a.py": None}, (PATCH,), ()))
    prints.add(fingerprint(BLOBS, (PATCH,), ("the tag has moved",)))
    assert len(prints) == 10
