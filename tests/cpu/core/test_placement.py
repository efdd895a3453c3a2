from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.difference import difference
from patchkit.core.model import FilePatch
from patchkit.core.placement import FilePlaced, FileRefused, NotPlaced, Placed, Refusal, Verdict, place_file
from patchkit.core.unified import parse_patch

from .texts import joined

CASES = Path(__file__).parent.parent / "cases" / "placement"


def file_patch(body: str, *, old: str = "a/x.py", new: str = "b/x.py") -> FilePatch:
    """The file patch that a diff's hunks make."""
    return parse_patch(f"--- {old}\n+++ {new}\n{body}".encode(), "p").files[0]


def described(result: FilePlaced | FileRefused, scopes: dict[str, str]) -> list[str]:
    """What became of each hunk, as the case files write it."""
    lines: list[str] = []
    for hunk in result.hunks:
        if isinstance(hunk, Placed):
            told = f"{hunk.verdict.value} to line {hunk.line} by {hunk.offset}"
        else:
            told = f"refused {hunk.refusal.name}, lines {' '.join(map(str, hunk.lines))}"
        lines.append(f"{hunk.hunk} in {scopes[hunk.hunk]}: {told}")
    return lines


@pytest.mark.parametrize("case", sorted(CASES.iterdir()), ids=lambda case: case.name)
def test_hunks_go_where_their_scope_says_or_nowhere(case: Path) -> None:
    patch = parse_patch((case / "change.patch").read_bytes(), "change.patch").files[0]
    hunks = (case / "hunks.txt").read_text().splitlines()
    scopes = dict(re.findall(r"^(\S+) in (\S+):", "\n".join(hunks), re.MULTILINE))

    result = place_file(patch, (case / "before.txt").read_bytes(), scopes)

    assert hunks == described(result, scopes)
    after = case / "after.txt"
    assert (after.read_bytes() if after.exists() else None) == getattr(result, "content", None)


TWICE = b"""\
def f():
    a()
    b()

def f():
    a()
    c()

@wraps
def g():
    def inner():
        a()
    return inner

class C:
    def f(self):
        b()
"""

CHANGE_A = "@@ -20 +20 @@ h\n-    a()\n+    z()\n"
CHANGE_INNER = "@@ -20 +20 @@ h\n-        a()\n+        z()\n"


@pytest.mark.parametrize(
    ("body", "scope", "expected"),
    [
        (CHANGE_A, "f", NotPlaced("h", Refusal.NOT_UNIQUE, (2, 6))),
        (CHANGE_A, "g", NotPlaced("h", Refusal.OTHER_SCOPE, (2, 6))),
        (CHANGE_A, "C.g", NotPlaced("h", Refusal.NO_SCOPE)),
        (CHANGE_A, "inner", NotPlaced("h", Refusal.NO_SCOPE)),
        (CHANGE_A, None, NotPlaced("h", Refusal.NOT_UNIQUE, (2, 6))),
        (CHANGE_A, "<module>", NotPlaced("h", Refusal.NOT_UNIQUE, (2, 6))),
        (CHANGE_A.replace("20", "6"), "f", Placed("h", Verdict.EXACT, 6, 0)),
        (CHANGE_A.replace("20", "2"), "g", NotPlaced("h", Refusal.OTHER_SCOPE, (2, 6))),
        ("@@ -20 +20 @@ h\n-    q()\n+    z()\n", "nowhere", NotPlaced("h", Refusal.NO_MATCH)),
        ("@@ -20,2 +20,2 @@ h\n     a()\n-    c()\n+    z()\n", "f", Placed("h", Verdict.MOVED, 6, -14)),
        (CHANGE_INNER, "g.inner", Placed("h", Verdict.MOVED, 12, -8)),
        (CHANGE_INNER, "g", Placed("h", Verdict.MOVED, 12, -8)),
        (CHANGE_INNER, "f", NotPlaced("h", Refusal.OTHER_SCOPE, (12,))),
        ("@@ -1,2 +1,2 @@ h\n-@wraps\n+@cached\n def g():\n", "g", Placed("h", Verdict.MOVED, 9, 8)),
        (
            "@@ -1,3 +1,4 @@ h\n         a()\n     return inner\n+    # end\n \n",
            "g",
            Placed("h", Verdict.MOVED, 12, 11),
        ),
        (
            "@@ -1,3 +1,4 @@ h\n         a()\n     return inner\n+    # end\n \n",
            "g.inner",
            NotPlaced("h", Refusal.OTHER_SCOPE, (12,)),
        ),
        (
            "@@ -1,2 +1,4 @@ h\n     def f(self):\n         b()\n+\n+    x = 1\n",
            "C.f",
            Placed("h", Verdict.MOVED, 16, 15),
        ),
        ("@@ -1,3 +1,3 @@ h\n     c()\n-\n+# q\n @wraps\n", "f", NotPlaced("h", Refusal.OTHER_SCOPE, (7,))),
        ("@@ -1,3 +1,3 @@ h\n     c()\n-\n+# q\n @wraps\n", "<module>", Placed("h", Verdict.MOVED, 7, 6)),
        ("@@ -1,3 +1,2 @@ h\n-    b()\n \n-def f():\n+x\n", "f", NotPlaced("h", Refusal.OTHER_SCOPE, (3,))),
    ],
    ids=[
        "two places in a scope that is defined twice",
        "the places are in other scopes",
        "the class has no such method",
        "a nested function without its outer name",
        "two places and no scope",
        "two places in the module",
        "the header names one of two places",
        "the header names a place outside the scope",
        "nowhere, whatever the scope",
        "one of two definitions of a scope",
        "nested function",
        "function around a nested one",
        "nested function, other scope",
        "decorator",
        "inserted at the end of a function",
        "inserted behind the function around a nested one",
        "inserted at the end of the file",
        "changed between two scopes",
        "changed between two scopes of the module",
        "changes that no single scope holds",
    ],
)
def test_a_hunk_is_placed_once_in_its_scope_or_refused(
    body: str, scope: str | None, expected: Placed | NotPlaced
) -> None:
    result = place_file(file_patch(body), TWICE, {} if scope is None else {"h": scope})

    assert (expected,) == result.hunks


REMOVE = file_patch("@@ -1,2 +0,0 @@ h\n-a\n-b\n", new="/dev/null")
CREATE = file_patch("@@ -0,0 +1 @@ h\n+a\n", old="/dev/null")


@pytest.mark.parametrize(
    ("patch", "content", "expected"),
    [
        (file_patch("@@ -1 +1 @@ h\n-a\n+b\n"), None, FileRefused("x.py", (NotPlaced("h", Refusal.FILE_MISSING),))),
        (REMOVE, None, FileRefused("x.py", (NotPlaced("h", Refusal.FILE_MISSING),))),
        (REMOVE, b"a\nb\n", FilePlaced("x.py", None, (Placed("h", Verdict.EXACT, 1, 0),))),
        (REMOVE, b"a\nb\nc\n", FileRefused("x.py", (NotPlaced("h", Refusal.NOT_ALL),))),
        (REMOVE, b"a\n", FileRefused("x.py", (NotPlaced("h", Refusal.NO_MATCH),))),
        (CREATE, None, FilePlaced("x.py", b"a\n", (Placed("h", Verdict.EXACT, 0, 0),))),
        (CREATE, b"", FileRefused("x.py", (NotPlaced("h", Refusal.FILE_EXISTS),))),
        (FilePatch(None, "x.py", ()), None, FilePlaced("x.py", b"", ())),
        (FilePatch(None, "x.py", ()), b"", FileRefused("x.py", (NotPlaced("", Refusal.FILE_EXISTS),))),
        (FilePatch("x.py", None, ()), b"", FilePlaced("x.py", None, ())),
        (FilePatch("x.py", None, ()), b"a", FileRefused("x.py", (NotPlaced("", Refusal.NOT_ALL),))),
        (FilePatch("x.py", None, ()), None, FileRefused("x.py", (NotPlaced("", Refusal.FILE_MISSING),))),
    ],
    ids=[
        "no file",
        "no file to remove",
        "removed",
        "more than what is removed",
        "less than what is removed",
        "made",
        "to be made, and there",
        "made empty",
        "to be made empty, and there",
        "removed empty",
        "to be removed empty, and not empty",
        "to be removed empty, and not there",
    ],
)
def test_whole_files_are_made_and_removed_only_when_nothing_is_lost(
    patch: FilePatch, content: bytes | None, expected: FilePlaced | FileRefused
) -> None:
    assert expected == place_file(patch, content, {})


def test_every_refusal_has_a_case() -> None:
    text = Path(__file__).read_text() + "".join(path.read_text() for path in CASES.glob("*/hunks.txt"))
    told = {name for name in re.findall(r"(?:Refusal\.|refused )([A-Z_]+)", text) if name in Refusal.__members__}

    assert set(Refusal.__members__) == told


def test_an_insertion_without_context_goes_behind_the_line_it_names() -> None:
    placed = place_file(file_patch("@@ -2,0 +3 @@ h\n+new\n"), b"1\n2\n3\n", {})

    assert FilePlaced("x.py", b"1\n2\nnew\n3\n", (Placed("h", Verdict.EXACT, 3, 0),)) == placed


def test_an_insertion_without_context_and_without_its_line_is_in_no_place() -> None:
    placed = place_file(file_patch("@@ -9,0 +10 @@ h\n+new\n"), b"1\n2\n", {})

    assert FileRefused("x.py", (NotPlaced("h", Refusal.NOT_UNIQUE, (1, 2, 3)),)) == placed


def test_hunks_that_would_change_the_same_lines_are_refused() -> None:
    patch = file_patch("@@ -2 +1,0 @@ one\n-b\n@@ -12,2 +11 @@ two\n-b\n c\n")

    expected = FileRefused("x.py", (Placed("one", Verdict.EXACT, 2, 0), NotPlaced("two", Refusal.OVERLAP, (2,))))
    assert expected == place_file(patch, b"a\nb\nc\n", {})


def test_context_that_another_hunk_cut_off_says_nothing_of_an_edge() -> None:
    # The second insertion has context below alone, since the first stands above it, and its old text is at line 1 too.
    patch = file_patch("@@ -1,0 +1 @@\n+a\n@@ -2 +3,2 @@\n+a\n b\n")
    result = place_file(patch, b"b\nb\n", {})

    assert isinstance(result, FilePlaced)
    assert result.content == b"b\na\na\nb\n"
    assert [(hunk.verdict, hunk.offset) for hunk in result.hunks] == [(Verdict.EXACT, 0), (Verdict.EXACT, 0)]


def test_hunks_may_touch() -> None:
    patch = file_patch("@@ -2 +1,0 @@ one\n-b\n@@ -3,2 +2 @@ two\n-c\n d\n")

    expected = FilePlaced("x.py", b"a\nd\n", (Placed("one", Verdict.EXACT, 2, 0), Placed("two", Verdict.EXACT, 3, 0)))
    assert expected == place_file(patch, b"a\nb\nc\nd\n", {})


def test_one_hunk_that_does_not_fit_leaves_the_file_without_a_result() -> None:
    patch = file_patch("@@ -1 +1 @@ one\n-a\n+z\n@@ -3 +3 @@ two\n-q\n+z\n")

    expected = FileRefused("x.py", (Placed("one", Verdict.EXACT, 1, 0), NotPlaced("two", Refusal.NO_MATCH)))
    assert expected == place_file(patch, b"a\nb\nc\n", {})


@pytest.mark.parametrize("content", [b"a", b"a \n", b"a\r\n", b"A\n", b"\na", b""])
def test_lines_match_byte_for_byte_and_with_their_endings(content: bytes) -> None:
    patch = file_patch("@@ -1 +1 @@ h\n-a\n+z\n")

    assert FileRefused("x.py", (NotPlaced("h", Refusal.NO_MATCH),)) == place_file(patch, content, {})


def test_a_file_without_final_newline_is_patched_at_its_end() -> None:
    patch = file_patch("@@ -1 +1,2 @@ h\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file\n")

    assert FilePlaced("x.py", b"a\nb", (Placed("h", Verdict.EXACT, 1, 0),)) == place_file(patch, b"a", {})


FIRST = "@@ -1,2 +1,3 @@ h\n+new\n a\n b\n"
LAST = "@@ -1,2 +1,3 @@ h\n a\n b\n+new\n"
NEARLY_LAST = "@@ -2,3 +2,4 @@ h\n a\n b\n+new\n c\n"


@pytest.mark.parametrize(
    ("body", "content", "scope", "expected"),
    [
        (FIRST, b"a\nb\nc\n", None, Placed("h", Verdict.EXACT, 1, 0)),
        (FIRST, b"z\na\nb\n", None, NotPlaced("h", Refusal.NOT_AT_EDGE, (2,))),
        (FIRST, b"z\na\nb\n", "<module>", Placed("h", Verdict.MOVED, 2, 1)),
        (FIRST, b"a\nb\na\nb\n", None, Placed("h", Verdict.EXACT, 1, 0)),
        (LAST, b"a\nb\n", None, Placed("h", Verdict.EXACT, 1, 0)),
        (LAST, b"z\na\nb\n", None, Placed("h", Verdict.MOVED, 2, 1)),
        (LAST, b"a\nb\nc\n", None, NotPlaced("h", Refusal.NOT_AT_EDGE, (1,))),
        (LAST, b"z\na\nb\na\nb\n", None, Placed("h", Verdict.MOVED, 4, 3)),
        (LAST, b"a\nb\na\nb\n", None, Placed("h", Verdict.MOVED, 3, 2)),
        (NEARLY_LAST, b"z\na\nb\nc\n", None, Placed("h", Verdict.EXACT, 2, 0)),
        (NEARLY_LAST, b"z\na\nb\nc\nz\n", None, Placed("h", Verdict.EXACT, 2, 0)),
        (NEARLY_LAST, b"z\na\nb\nc\na\nb\nc\n", None, NotPlaced("h", Refusal.NOT_UNIQUE, (2, 5))),
        (NEARLY_LAST, b"z\na\nb\nc\na\nb\nc\n", "<module>", Placed("h", Verdict.EXACT, 2, 0)),
        ("@@ -5 +5 @@ h\n-b\n+new\n", b"a\nb\nc\n", None, Placed("h", Verdict.MOVED, 2, -3)),
        ("@@ -2,2 +2 @@ h\n-    a()\n     b()\n", TWICE, "f", Placed("h", Verdict.EXACT, 2, 0)),
        ("@@ -1,2 +1 @@ h\n     a()\n-    b()\n", TWICE, "f", Placed("h", Verdict.MOVED, 2, 1)),
    ],
    ids=[
        "at the beginning",
        "lines above the beginning",
        "lines above the beginning, and a scope",
        "the beginning is one of two places",
        "at the end",
        "at the end, and lines above",
        "lines behind the end",
        "the end is one of two places",
        "the end is one place, the line that is named another",
        "less context below, at the end",
        "less context below, in the only place",
        "less context below, and the end is another place",
        "less context below, another place, and a scope",
        "no context at all",
        "the beginning of a file is none of a function's",
        "the end of a file is none of a function's",
    ],
)
def test_context_that_an_edge_of_the_file_cut_off_holds_a_hunk_to_that_edge(
    body: str, content: bytes, scope: str | None, expected: Placed | NotPlaced
) -> None:
    result = place_file(file_patch(body), content, {} if scope is None else {"h": scope})

    assert (expected,) == result.hunks


@pytest.mark.parametrize(
    ("body", "content", "expected"),
    [
        ("@@ -9,0 +10 @@ h\n+new\n", b"", NotPlaced("h", Refusal.NOT_UNIQUE, (1,))),
        ("@@ -0,0 +1 @@ h\n+new\n\\ No newline at end of file\n", b"", Placed("h", Verdict.EXACT, 1, 0)),
        ("@@ -0,0 +1 @@ h\n+new\n\\ No newline at end of file\n", b"a\n", NotPlaced("h", Refusal.NOT_LAST, (1,))),
    ],
    ids=["an empty file has not the line", "into an empty file", "above other lines, and without a newline"],
)
def test_a_hunk_without_old_lines_never_moves(body: str, content: bytes, expected: Placed | NotPlaced) -> None:
    assert (expected,) == place_file(file_patch(body), content, {}).hunks


@pytest.mark.parametrize("scope", [None, "f"])
def test_a_new_line_without_newline_is_joined_to_no_other_line(scope: str | None) -> None:
    patch = file_patch("@@ -2 +2 @@ h\n-    a()\n+    z()\n\\ No newline at end of file\n")
    scopes = {} if scope is None else {"h": scope}

    expected = FileRefused("x.py", (NotPlaced("h", Refusal.NOT_LAST, (2,)),))
    assert expected == place_file(patch, b"def f():\n    a()\n    b()\n", scopes)
    placed = FilePlaced("x.py", b"def f():\n    z()", (Placed("h", Verdict.EXACT, 2, 0),))
    assert placed == place_file(patch, b"def f():\n    a()\n", scopes)


ONE_OF_TWO = "@@ -5 +5 @@ two\n-b\n+B\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ONE_OF_TWO, (Placed("two", Verdict.EXACT, 5, 0),)),
        (
            "@@ -1 +1 @@ one\n-a\n+A\n" + ONE_OF_TWO,
            (Placed("one", Verdict.MOVED, 2, 1), NotPlaced("two", Refusal.NOT_UNIQUE, (3, 5))),
        ),
        (
            ONE_OF_TWO + "@@ -5 +5 @@ three\n-c\n+C\n",
            (NotPlaced("two", Refusal.NOT_UNIQUE, (3, 5)), Placed("three", Verdict.MOVED, 6, 1)),
        ),
        (
            "@@ -2 +2 @@ one\n-a\n+A\n" + ONE_OF_TWO + "@@ -6 +6 @@ three\n-c\n+C\n@@ -9 +9 @@ four\n-d\n+D\n",
            (
                Placed("one", Verdict.EXACT, 2, 0),
                Placed("two", Verdict.EXACT, 5, 0),
                Placed("three", Verdict.EXACT, 6, 0),
                Placed("four", Verdict.MOVED, 7, -2),
            ),
        ),
    ],
    ids=["alone", "the hunk above has moved", "the hunk below has moved", "a hunk farther away has moved"],
)
def test_of_several_places_the_one_that_is_named_counts_as_long_as_nothing_beside_it_moved(
    body: str, expected: tuple[Placed | NotPlaced, ...]
) -> None:
    assert expected == place_file(file_patch(body), b"x\na\nb\ny\nb\nc\nd\n", {}).hunks


distinct = st.integers(0, 30).map(lambda count: [f"line {number}".encode() for number in range(count)])


@settings(deadline=None)
@given(distinct, st.data())
def test_lines_inserted_above_shift_a_patch_and_nothing_else(old: list[bytes], data: st.DataObject) -> None:
    # No line is there twice: each hunk has one place, wherever it has moved to. The first lines stay, so that no hunk
    # has less context above than below, which would hold it to the beginning of the file.
    kept = data.draw(st.lists(st.booleans(), min_size=len(old), max_size=len(old)))
    top = [b"top 1", b"top 2", b"top 3"]
    new = [*top, *(line if keep else line.upper() for line, keep in zip(old, kept, strict=True))]
    old = [*top, *old]
    above = [f"above {number}".encode() for number in range(data.draw(st.integers(1, 5)))]
    newline = data.draw(st.booleans())
    patch = difference(joined(old, final_newline=newline), joined(new, final_newline=newline), "x.py")
    if patch is None:
        return

    result = place_file(patch, joined([*above, *old], final_newline=newline), {})

    moved = tuple(Placed("", Verdict.MOVED, hunk.old_start + len(above), len(above)) for hunk in patch.hunks)
    assert FilePlaced("x.py", joined([*above, *new], final_newline=newline), moved) == result


@settings(deadline=None)
@given(distinct.filter(bool), st.data())
def test_a_patch_that_was_taken_once_is_refused_the_second_time(old: list[bytes], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(old) - 1))
    before, after = (joined([*old[:at], *line, *old[at + 1 :]], final_newline=True) for line in ([old[at]], [b"new"]))
    patch = difference(before, after, "x.py")
    assert patch is not None

    assert FileRefused("x.py", (NotPlaced("", Refusal.NO_MATCH),)) == place_file(patch, after, {})
