from __future__ import annotations

from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind
from patchkit.core.refreshing.variant_text import refreshed_text, renumbered_text
from patchkit.core.unified import parse_patch

TEXT = b"""\
A note that stays.
diff --git a/m/a.py b/m/a.py
index 1111111..2222222 100644
--- a/m/a.py
+++ b/m/a.py
@@ -3,3 +3,4 @@ first
 one
+added
 two
 three
@@ -20 +21,2 @@ second
-old
+new
+more
@@ -40,2 +42 @@ third
 kept
-gone
--- a/m/b.py
+++ b/m/b.py
@@ -1,2 +1,2 @@ other
 x
-y
\\ No newline at end of file
+z
\\ No newline at end of file
"""


def hunk(name: str, old_start: int, *lines: str) -> Hunk:
    kinds = {" ": LineKind.CONTEXT, "-": LineKind.REMOVED, "+": LineKind.ADDED}
    return Hunk(name, old_start, 0, tuple(HunkLine(kinds[line[0]], f"{line[1:]}\n".encode()) for line in lines))


def test_nothing_named_nothing_changed() -> None:
    assert refreshed_text(TEXT, {}, {}) == TEXT
    assert renumbered_text(TEXT, {}) == TEXT


def test_a_replaced_hunk_changes_its_own_bytes_and_the_new_lines_below_it_in_its_file() -> None:
    new = hunk("first", 3, " one", "+added", "+and more", " two", " three")

    assert refreshed_text(TEXT, {"first": new}, {}) == TEXT.replace(
        b"@@ -3,3 +3,4 @@ first\n one\n+added\n", b"@@ -3,3 +3,5 @@ first\n one\n+added\n+and more\n"
    ).replace(b"@@ -20 +21,2 @@", b"@@ -20 +22,2 @@").replace(b"@@ -40,2 +42 @@", b"@@ -40,2 +43 @@")


def test_a_replaced_hunk_that_grows_by_nothing_leaves_all_other_headers_alone() -> None:
    new = hunk("second", 20, "-old", "+newer", "+more")

    assert refreshed_text(TEXT, {"second": new}, {}) == TEXT.replace(b"+new\n", b"+newer\n")


def test_a_hunk_taken_out_leaves_and_the_last_one_takes_its_file_along() -> None:
    without = refreshed_text(TEXT, {"second": None, "other": None}, {})

    assert without == TEXT[: TEXT.index(b"@@ -20")] + b"@@ -40,2 +41 @@ third\n kept\n-gone\n"


def test_a_new_hunk_stands_where_its_line_says() -> None:
    new = hunk("new", 30, "+here")
    text = refreshed_text(TEXT, {}, {"m/a.py": [new]})

    assert text == TEXT.replace(b"@@ -40,2 +42 @@", b"@@ -30,0 +33 @@ new\n+here\n@@ -40,2 +43 @@")
    assert [one.id for one in parse_patch(text, "x").files[0].hunks] == ["first", "second", "new", "third"]


def test_files_that_were_not_there_come_last() -> None:
    made = FilePatch(None, "m/c.py", (Hunk("made", 0, 1, (HunkLine(LineKind.ADDED, b"c\n"),)),))

    assert refreshed_text(TEXT, {}, {}, [made]) == TEXT + b"--- /dev/null\n+++ b/m/c.py\n@@ -0,0 +1 @@ made\n+c\n"


def test_only_the_headers_of_renumbered_hunks_change() -> None:
    assert renumbered_text(TEXT, {"second": 25}) == TEXT.replace(b"@@ -20 +21,2 @@", b"@@ -25 +26,2 @@")
