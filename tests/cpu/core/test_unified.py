from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.difference import difference, print_git_patch
from patchkit.core.kept_names import why_kept
from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind, Patch
from patchkit.core.unified import parse_patch, print_patch
from patchkit.errors import PatchFormatError

from .texts import changes

CASES = Path(__file__).parent.parent / "cases" / "unified"

HEAD = "--- a/x.py\n+++ b/x.py\n"


def line(text: str) -> HunkLine:
    """A hunk line as written in a diff, its ending included."""
    return HunkLine(LineKind(text[0]), text[1:].encode())


def changed(*hunks: Hunk) -> Patch:
    """A patch of one file."""
    return Patch((FilePatch("x.py", "x.py", hunks),))


ONE = changed(Hunk("", 1, 1, (line("-a\n"), line("+b\n"))))

preambles = st.lists(
    st.sampled_from(["Subject: a patch", "", "---", " --- a/x", "-1", "+++", "index 1..2"]), max_size=3
).map(lambda lines: "".join(f"{text}\n" for text in lines).encode())
ids = st.sampled_from(["", "config-field", "def f(a, b):", "@@ x", "caf\u00e9", "raw \udcff"])


@st.composite
def patches(draw: st.DrawFn) -> Patch:
    """A patch of several files with hunk ids and a preamble."""
    files: list[FilePatch] = []
    for path in draw(st.lists(st.sampled_from(["a.py", "b c.py", "d/e.py", "caf\u00e9.py"]), unique=True, min_size=1)):
        patch = difference(*draw(changes()), path)
        if patch is not None:
            named = tuple(Hunk(draw(ids), hunk.old_start, hunk.new_start, hunk.lines) for hunk in patch.hunks)
            files.append(FilePatch(patch.old_path, patch.new_path, named))
    return Patch(tuple(files), draw(preambles))


@settings(deadline=None)
@given(patches())
def test_parsing_what_was_printed_gives_the_patch_back(patch: Patch) -> None:
    if patch.files:
        assert patch == parse_patch(print_patch(patch), "p")


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["a.py", "b c.py", "d/e.py"]), changes(), min_size=1))
def test_a_patch_with_the_headers_of_git_says_the_same_as_one_without(
    files: dict[str, tuple[bytes | None, bytes | None]],
) -> None:
    plain = [difference(old, new, path) for path, (old, new) in sorted(files.items())]
    expected = tuple(patch for patch in plain if patch is not None)

    assert not expected or Patch(expected, b"For x.\n\n") == parse_patch(print_git_patch(files, b"For x.\n\n"), "p")


@pytest.mark.parametrize("case", sorted(CASES.iterdir()), ids=lambda case: case.name)
def test_a_patch_is_printed_without_what_is_not_ours(case: Path) -> None:
    printed = print_patch(parse_patch((case / "input.patch").read_bytes(), "input.patch"))

    assert (case / "printed.patch").read_bytes() == printed
    assert printed == print_patch(parse_patch(printed, "printed.patch"))


@pytest.mark.parametrize(
    ("text", "patch"),
    [
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n", ONE),
        (f"{HEAD}@@ -1,1 +1,1 @@\n-a\n+b\n", ONE),
        ("--- x.py\n+++ x.py\n@@ -1 +1 @@\n-a\n+b\n", ONE),
        ("--- a/x.py\t2026-01-01 00:00:00\n+++ b/x.py\t2026-01-02 00:00:00\n@@ -1 +1 @@\n-a\n+b\n", ONE),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n-- \n2.39.5\n\n", ONE),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n\n\n", ONE),
        (
            f"{HEAD}@@ -7 +8 @@ config-field\n-a\n+b\n",
            changed(Hunk("config-field", 7, 8, (line("-a\n"), line("+b\n")))),
        ),
        (
            f"{HEAD}@@ -7 +8 @@   config field \n-a\n+b\n",
            changed(Hunk("config field", 7, 8, ONE.files[0].hunks[0].lines)),
        ),
        (
            f"{HEAD}@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n",
            changed(Hunk("", 1, 1, (line("-a"), line("+a\n")))),
        ),
        (
            f"{HEAD}@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n",
            changed(Hunk("", 1, 1, (line("-a\n"), line("+a")))),
        ),
        (
            f"{HEAD}@@ -1,2 +1 @@\n-a\n b\n\\ No newline at end of file\n",
            changed(Hunk("", 1, 1, (line("-a\n"), line(" b")))),
        ),
        (
            f"{HEAD}@@ -1,2 +1,2 @@\n--- a\n-b\n+++ c\n+d\n",
            changed(Hunk("", 1, 1, (line("--- a\n"), line("-b\n"), line("+++ c\n"), line("+d\n")))),
        ),
        (
            f"{HEAD}@@ -1,2 +1,2 @@\n \n-a\r\n+b\x0cc\x85\n",
            changed(Hunk("", 1, 1, (line(" \n"), line("-a\r\n"), line("+b\x0cc\x85\n")))),
        ),
        (
            "--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+a\n",
            Patch((FilePatch(None, "x.py", (Hunk("", 0, 1, (line("+a\n"),)),)),)),
        ),
        (
            "--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            Patch((FilePatch("x.py", None, (Hunk("", 1, 0, (line("-a\n"),)),)),)),
        ),
        (
            "diff --git a/x.py b/x.py\nnew file mode 100644\nindex 0000000..e69de29\n",
            Patch((FilePatch(None, "x.py", ()),)),
        ),
        (
            f"Why.\n\n---\n x.py | 2 +-\n\n{HEAD}@@ -1 +1 @@\n-a\n+b\n",
            Patch(ONE.files, b"Why.\n\n---\n x.py | 2 +-\n\n"),
        ),
        (
            f"Why.\n\ndiff --git a/x.py b/x.py\nindex 1111111..2222222 100644\n{HEAD}@@ -1 +1 @@\n-a\n+b\n",
            Patch(ONE.files, b"Why.\n\n"),
        ),
    ],
    ids=[
        "a count of one is left out",
        "a count of one is written",
        "no prefixes",
        "time stamps",
        "signature of a mail",
        "blank lines at the end",
        "hunk id",
        "hunk id with blanks around it",
        "old side without newline",
        "new side without newline",
        "context without newline",
        "lines that look like file headers",
        "blank context, crlf, form feed",
        "made file",
        "removed file",
        "file made empty",
        "preamble",
        "headers of git are no preamble",
    ],
)
def test_a_unified_diff_is_read_as_diff_and_git_write_it(text: str, patch: Patch) -> None:
    assert patch == parse_patch(text.encode("utf-8"), "p")


COUNTS = "the counts in the hunk header disagree with the hunk's body"
NO_LINE = "a marker for a missing newline has no line before it"
ALONE = "a hunk with neither a file header nor another hunk right above it"
MODE = "diff --git a/x.py b/x.py\nold mode 100644\nnew mode 100755\n"
MADE = "diff --git a/x.py b/x.py\nnew file mode 100644\nindex 0000000..e69de29\n"
GIT_HEAD = "diff --git a/x.py b/x.py\nindex 1111111..2222222 100644\n"
NO_NEWLINE = "\\ No newline at end of file\n"


@pytest.mark.parametrize(
    ("text", "line_number", "problem"),
    [
        (f"{HEAD}@@ -1,2 +1 @@\n-a\n+b\n", 3, COUNTS),
        (f"{HEAD}@@ -1 +1,2 @@\n-a\n+b\n", 3, COUNTS),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n+c\n", 3, COUNTS),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n c\n", 3, COUNTS),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n-c\n", 3, COUNTS),
        (f"{HEAD}@@ -1 +1 @@\n-a\n-b\n+c\n", 3, COUNTS),
        (f"{HEAD}@@ -1 +1 @@\n-a\n-b\n\n+c\n", 3, COUNTS),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n@@ -5,3 +5,2 @@\n c\n-d\n", 6, COUNTS),
        (f"{HEAD}@@ -1,2 +1,2 @@\n-a\n+b\ngarbage\n c\n", 3, COUNTS),
        (f"{HEAD}@@ -1,3 +1,3 @@\n-a\n+b\n\n c\n", 6, "a blank context line has lost its leading space"),
        (f"{HEAD}@@ -1,3 +1,3 @@\n-a\n+b\n\r\n c\n", 6, "a blank context line has lost its leading space"),
        ("--- /dev/null\n+++ b/\n@@ -0,0 +1 @@\n+a\n", 1, "this header names no file"),
        (f"{HEAD}@@ -1 +1\n-a\n+b\n", 3, "not a hunk header"),
        (f"{HEAD}@@ -1,x +1 @@\n-a\n+b\n", 3, "not a hunk header"),
        (f"{HEAD}@@ -x +1 @@\n-a\n+b\n", 3, "not a hunk header"),
        (f"{HEAD}@@ +1 -1 @@\n-a\n+b\n", 3, "not a hunk header"),
        (f"{HEAD}@@-1 +1 @@\n-a\n+b\n", 3, "not a hunk header"),
        (f"{HEAD}@@@ -1 -1 +1 @@@\n- a\n +b\n", 3, "not a hunk header"),
        (
            f"{HEAD}@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n",
            4,
            "a marker for a missing newline has no line before it",
        ),
        (f"{HEAD}@@ -1 +1 @@\n-a\n\\ Kein Zeilenumbruch\n+b\n", 5, "not the marker for a missing newline"),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n\\ Kein Zeilenumbruch\n", 6, "not the marker for a missing newline"),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b", 5, "the last line has no newline"),
        (f"{HEAD}@@ -1 +1 @@\n a\n", 3, "nothing is added or removed in this hunk"),
        (f"{HEAD}@@ -1,0 +1,0 @@\n", 3, "nothing is added or removed in this hunk"),
        (
            f"{GIT_HEAD}--- a/x.py\n+++ b/y.py\n@@ -1 +1 @@\n-a\n+b\n",
            4,
            "b/y.py is b/x.py in the line that begins this header",
        ),
        (
            f"{GIT_HEAD}--- a/y.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            3,
            "a/y.py is a/x.py in the line that begins this header",
        ),
        (MODE.replace("755", ""), 3, "x.py is of mode 100, and only regular files are carried"),
        (MODE.replace("100755", ""), 3, "x.py is of mode (none), and only regular files are carried"),
        (
            "diff --git a/x.py b/y.py\nnew file mode 100644\nrename from x.py\nrename to y.py\n",
            1,
            "y.py is renamed or copied, and made or removed as well",
        ),
        ("", None, "no file is patched here"),
        ("garbage\n", None, "no file is patched here"),
        ("--- a/x.py\n", None, "no file is patched here"),
        ("@@ -1 +1 @@\n-a\n+b\n", 1, ALONE),
        (f"{HEAD}\n@@ -1 +1 @@\n-a\n+b\n", 1, "x.py has no hunk"),
        ("--- a/x.py\n@@ -1 +1 @@\n-a\n+b\n", 2, ALONE),
        ("+++ b/x.py\n--- a/x.py\n@@ -1 +1 @@\n-a\n+b\n", 3, ALONE),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\ngarbage\n@@ -9 +9 @@\n-a\n+b\n", 7, ALONE),
        (f"{GIT_HEAD}> quoted\n{HEAD}@@ -1 +1 @@\n-a\n+b\n", 1, "x.py has no hunk"),
        (f"{GIT_HEAD}\n{HEAD}@@ -1 +1 @@\n-a\n+b\n", 1, "x.py has no hunk"),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n c\n", 3, COUNTS),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n{NO_NEWLINE}{NO_NEWLINE}", 7, NO_LINE),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n\n{NO_NEWLINE}", 7, NO_LINE),
        (f"{HEAD}@@ -1 +1 @@\n-a\n+b\n{HEAD}@@ -9 +9 @@\n-a\n+b\n", None, "x.py is patched twice"),
        (HEAD, 1, "x.py has no hunk"),
        (MODE, 1, "x.py has no hunk"),
        (f"{MODE}{HEAD}@@ -1 +1 @@\n-a\n+b\n", 1, "x.py: old mode 100644, and a patch here changes text only"),
        (f"{MADE.replace('644', '755')}", 1, "x.py: new file mode 100755, and a patch here changes text only"),
        (
            MADE.replace("e69de29", "78981922"),
            1,
            "x.py: its index line says that the text changes, and no hunk follows",
        ),
        (f"{GIT_HEAD}Binary files a/x.py and b/x.py differ\n", 3, "x.py is binary"),
        (f"{GIT_HEAD}GIT binary patch\nliteral 1\nIcmZ\n\n", 3, "x.py is binary"),
        (f"{MADE}\nGIT binary patch\nliteral 1\nIcmZ\n\n", 5, "x.py is binary"),
        (
            "diff --git a/x.py b/y.py\nrename from x.py\nrename to y.py\n--- a/x.py\n+++ b/y.py\n@@ -1 +1 @@\n-a\n+b\n",
            1,
            "x.py is renamed to y.py; a patch here changes files in place",
        ),
        (
            "diff --git a/x.py b/y.py\ncopy from x.py\ncopy to y.py\n",
            1,
            "x.py is copied to y.py; a patch here changes files in place",
        ),
        ("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", 1, "this header names no file"),
    ],
    ids=[
        "old count too large",
        "new count too large",
        "added line left over",
        "context line left over",
        "removed line left over",
        "old count too small",
        "old count too small, then a blank line",
        "second hunk",
        "garbage inside a hunk",
        "blank context stripped",
        "blank context stripped, crlf",
        "header without a name",
        "header not closed",
        "count is no number",
        "start is no number",
        "sides swapped",
        "no blank",
        "combined diff",
        "marker first",
        "translated marker",
        "translated marker last",
        "cut short",
        "context alone",
        "no line at all",
        "other new name than in the first line",
        "other old name than in the first line",
        "half a mode",
        "no mode",
        "made and renamed",
        "empty",
        "garbage",
        "half a file header",
        "hunk without a file",
        "blank line above a hunk",
        "lost +++ line",
        "header lines exchanged",
        "garbage between two hunks",
        "garbage in the header",
        "blank line in the header",
        "line left over behind a marker",
        "marker twice",
        "marker behind a blank line",
        "file patched twice",
        "file without hunks",
        "mode change",
        "mode change and text",
        "made executable",
        "made, and its text lost",
        "binary",
        "binary of git",
        "binary, behind a blank line",
        "rename",
        "copy",
        "no file at all",
    ],
)
def test_a_malformed_diff_is_refused_with_its_name_and_line(text: str, line_number: int | None, problem: str) -> None:
    with pytest.raises(PatchFormatError) as caught:
        parse_patch(text.encode(), "v1.patch")

    where = "v1.patch" if line_number is None else f"v1.patch:{line_number}"
    found = (caught.value.file, caught.value.line, caught.value.message)
    assert ("v1.patch", line_number, f"{where}: {problem}") == found


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("digits", [19, 5000])
def test_a_number_that_is_too_large_for_git_is_none(place: int, digits: int) -> None:
    numbers = ["1", "1", "1", "1"]
    numbers[place] = "9" * digits
    header = "@@ -{},{} +{},{} @@".format(*numbers)

    with pytest.raises(PatchFormatError) as caught:
        parse_patch(f"{HEAD}{header}\n-a\n+b\n".encode(), "p")

    assert caught.value.message == "p:3: not a hunk header"


def test_a_counting_error_says_what_to_do() -> None:
    with pytest.raises(PatchFormatError) as caught:
        parse_patch(f"{HEAD}@@ -1,2 +1 @@\n-a\n+b\n".encode(), "p")

    assert caught.value.hint == "the hunk was edited by hand; make the diff again, or correct the counts"


def test_bytes_that_are_no_text_survive_parsing_and_printing() -> None:
    text = HEAD.encode() + b"@@ -1,2 +1,2 @@ raw \xff\n-\xfe\xff\n+\x80\n \xc3\n"

    patch = parse_patch(text, "p")

    lines = (
        HunkLine(LineKind.REMOVED, b"\xfe\xff\n"),
        HunkLine(LineKind.ADDED, b"\x80\n"),
        HunkLine(LineKind.CONTEXT, b"\xc3\n"),
    )
    assert changed(Hunk("raw \udcff", 1, 1, lines)) == patch
    assert text == print_patch(patch)


@pytest.mark.parametrize(
    "path", [".git/hooks/x", ".patchkit/manifest.json", "a/.PATCHKIT/lock", "m-1.dist-info/RECORD"]
)
@pytest.mark.parametrize("how", ["made", "removed", "changed", "renamed", "copied"])
def test_a_file_that_git_or_patchkit_keep_for_themselves_is_refused_with_its_line(path: str, how: str) -> None:
    one = "@@ -1 +1 @@\n-a\n+b\n"
    header = {
        "made": f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+a\n",
        "removed": f"--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        "changed": f"--- a/{path}\n+++ b/{path}\n{one}",
        "renamed": f"diff --git a/z b/{path}\nsimilarity index 100%\nrename from z\nrename to {path}\n",
        "copied": f"diff --git a/z b/{path}\nsimilarity index 100%\ncopy from z\ncopy to {path}\n",
    }[how]
    with pytest.raises(PatchFormatError) as caught:
        parse_patch(f"{HEAD}{one}{header}".encode(), "evil.patch")

    assert caught.value.message == f"evil.patch:6: the path {path!r} {why_kept(path)}"
