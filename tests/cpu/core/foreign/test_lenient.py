from __future__ import annotations

import pytest
from hypothesis import given

from patchkit.core.difference import difference
from patchkit.core.foreign.diffs import ForeignFile, ForeignPatch, Repair
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.model import Patch
from patchkit.core.quoting import quoted
from patchkit.core.unified import print_patch
from patchkit.errors import PatchFormatError

from ..texts import edited

DIFF = b"""\
--- a/m/a.py
+++ b/m/a.py
@@ -1,4 +1,5 @@ def f():
 one

-two
+2
+and a half
 three
"""


def files(foreign: ForeignPatch) -> list[ForeignFile]:
    return [file for message in foreign.messages for file in message.files]


def rules(foreign: ForeignPatch) -> list[tuple[str, int]]:
    return [(repair.rule, repair.line) for repair in foreign.repairs]


# What is repaired, and told.


def test_a_blank_context_line_without_its_space_is_told_with_file_hunk_and_line() -> None:
    foreign = read_foreign(DIFF, "p")

    assert foreign.repairs == (
        Repair("stripped-blank", "p", 5, "a blank context line had lost its leading space", "m/a.py", 1),
    )
    (hunk,) = files(foreign)[0].hunks
    assert b"".join(line.text for line in hunk.lines if line.kind.value != "+") == b"one\n\ntwo\nthree\n"
    assert hunk.counts_agree


def test_the_last_line_gets_its_newline() -> None:
    assert rules(read_foreign(DIFF[:-1], "p")) == [("last-newline", 9), ("stripped-blank", 5)]


def test_a_text_that_was_translated_to_crlf_is_translated_back() -> None:
    wide = read_foreign(DIFF.replace(b"\n", b"\r\n"), "p")

    assert rules(wide) == [("crlf", 1), ("stripped-blank", 5)]
    assert files(wide) == files(read_foreign(DIFF, "p"))


def test_carriage_returns_of_the_patched_file_are_kept() -> None:
    text = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n"
    foreign = read_foreign(text, "p")

    assert foreign.repairs == ()
    assert [line.text for line in files(foreign)[0].hunks[0].lines] == [b"a\r\n", b"b\r\n"]


def test_a_translated_marker_is_taken_for_what_it_is() -> None:
    text = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ Kein Zeilenumbruch am Dateiende.\n+b\n"
    foreign = read_foreign(text, "p")

    assert rules(foreign) == [("marker", 5)]
    assert [line.text for line in files(foreign)[0].hunks[0].lines] == [b"a", b"b\n"]


def test_counts_that_disagree_are_kept_beside_what_the_body_has() -> None:
    text = DIFF.replace(b"-1,4 +1,5", b"-1,4 +1,20") + b"-- \n2.39.5\n"
    (hunk,) = files(read_foreign(text, "p"))[0].hunks

    assert ((hunk.old_count, hunk.new_count), hunk.found, hunk.counts_agree) == ((4, 20), (4, 5), False)


def test_blank_lines_behind_a_hunk_with_wrong_counts_may_belong_to_it() -> None:
    text = DIFF.replace(b"-1,4 +1,5", b"-1,9 +1,9") + b"\n\ndiff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n"
    first, second = files(read_foreign(text, "p"))

    assert (first.hunks[0].spare, first.hunks[0].found) == (2, (6, 7))
    assert second.new_path == "b/n"


# Where a body ends.


def test_removed_and_added_lines_that_look_like_headers_are_lines() -> None:
    text = b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n--- a/y\n+++ b/y\n one\n-- \n+end\n"
    (file,) = files(read_foreign(text, "p"))

    assert [line.text for line in file.hunks[0].lines] == [b"-- a/y\n", b"++ b/y\n", b"one\n", b"- \n", b"end\n"]


def test_a_signature_and_the_next_mail_end_a_body() -> None:
    mail = (
        b"From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\n"
        b"From: a <a@b>\nSubject: [PATCH] one\n\n"
        b"---\n" + DIFF + b"-- \n2.39.5\n\n"
    )
    foreign = read_foreign(mail + mail.replace(b"one", b"1").replace(b"m/a", b"m/b"), "p")

    assert [message.subject for message in foreign.messages] == ["one", "1"]
    assert [file.new_path for file in files(foreign)] == ["b/m/a.py", "b/m/b.py"]


def test_prose_between_files_is_nobody_s() -> None:
    text = DIFF + b"\nAnd now for the other file:\n\n" + DIFF.replace(b"m/a", b"m/b") + b"Thanks!\n"

    assert [file.new_path for file in files(read_foreign(text, "p"))] == ["b/m/a.py", "b/m/b.py"]


# Headers.


def test_git_s_headers_say_what_the_file_was_and_becomes() -> None:
    text = (
        b'diff --git "a/m/\\303\\274 x.py" "b/m/\\303\\274 x.py"\nold mode 100644\nnew mode 100755\n'
        b"index 1234567..89abcde\n"
        b'--- "a/m/\\303\\274 x.py"\n+++ "b/m/\\303\\274 x.py"\n@@ -1 +1 @@\n-a\n+b\n'
    )
    (file,) = files(read_foreign(text, "p"))

    assert (file.old_path, file.new_path) == ("a/m/ü x.py", "b/m/ü x.py")
    assert (file.old_id, file.new_id, file.modes) == ("1234567", "89abcde", ("old mode 100644", "new mode 100755"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n", (None, "b/x", False)),
        (b"diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n", ("a/x", None, False)),
        (b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", ("a/x", "b/y", True)),
        (b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", (None, "b/x", False)),
        (
            b"--- x\t1970-01-01 00:00:00.000 +0000\n+++ x\t2026-01-01 10:00:00 +0000\n@@ -0,0 +1 @@\n+a\n",
            (None, "x", False),
        ),
        (b"--- x.orig\t2026-01-01\n+++ x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n", ("x.orig", "x", False)),
    ],
)
def test_creation_removal_and_renames_are_read_from_headers(
    text: bytes, expected: tuple[str | None, str | None, bool]
) -> None:
    (file,) = files(read_foreign(text, "p"))

    assert (file.old_path, file.new_path, file.renamed) == expected


# What is refused, with the line.


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"", None, "is empty"),
        (b" \n\n", None, "is empty"),
        (b"hello\nworld\n", None, "there is no unified diff in this file"),
        (b"\x00\x01\x02 binary \xff", None, "there is no unified diff in this file"),
        (b"--- a/x\n+++ b/x\nno hunk\n", None, "there is no unified diff in this file"),
        (b"@@ -1 +1 @@\n-a\n+b\n", 1, "a hunk without a file header in front of it"),
        (
            b"diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n",
            1,
            "a combined diff of a merge cannot be imported",
        ),
        (b"diff --git a/x b/x\nindex 1234567..89abcde 100644\nGIT binary patch\n", 3, "x is binary"),
        (b"diff --git a/x b/x\nindex 1234567..89abcde 100644\nBinary files a/x and b/x differ\n", 3, "x is binary"),
        (b"diff --git a/x b/x\nnew file mode 120000\n", 2, "x is a symbolic link, and only regular files are carried"),
        (
            b"diff --git a/x b/x\nindex 1234567..89abcde 160000\n",
            2,
            "x is a submodule, and only regular files are carried",
        ),
        (b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ nonsense\n", 6, "x, hunk 2: not a hunk header"),
        (b"--- a/x\n+++ b/x\n@@ -%s +1 @@\n-a\n+b\n" % (b"9" * 5000), 3, "x, hunk 1: not a hunk header"),
        (b"--- a/x\n+++ b/x\n@@ -1 +1,%s @@\n-a\n+b\n" % (b"9" * 19), 3, "x, hunk 1: not a hunk header"),
        (b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n", 3, "x, hunk 1: nothing is added or removed"),
        (
            b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n\\ No newline\n-a\n+b\n",
            4,
            "x, hunk 1: a marker for a missing newline has no line",
        ),
        (b"*** a/x\n--- b/x\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", 1, "this is a context diff"),
        (b"--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", 1, "this header names no file"),
    ],
)
def test_what_cannot_be_repaired_is_refused(text: bytes, line: int | None, message: str) -> None:
    with pytest.raises(PatchFormatError) as caught:
        read_foreign(text, "p")

    where = "p" if line is None else f"p:{line}"
    assert (caught.value.message, caught.value.line) == (f"{where}: {message}", line)


FILE = b"diff --git a/y b/y\n"


@pytest.mark.parametrize(
    ("counts", "rest", "message"),
    [
        # A line fewer, and several.
        ((4, 6), b"", "its header promises 4 old and 6 new lines, and the text ends at line 9 with 4 and 5"),
        ((5, 6), b"", "its header promises 5 old and 6 new lines, and the text ends at line 9 with 4 and 5"),
        ((9, 9), b"\n\n", "its header promises 9 old and 9 new lines, and the text ends at line 11 with 6 and 7"),
        # Without the last newline, as a copy in the middle of a line is.
        ((5, 7), b" thr", "its header promises 5 old and 7 new lines, and the text ends at line 10 with 5 and 6"),
    ],
)
def test_a_text_that_ends_in_the_middle_of_a_hunk_is_refused(
    counts: tuple[int, int], rest: bytes, message: str
) -> None:
    with pytest.raises(PatchFormatError) as caught:
        read_foreign(DIFF.replace(b"-1,4 +1,5", b"-1,%d +1,%d" % counts) + rest, "p")

    assert caught.value.message == f"p:3: m/a.py, hunk 1: cut short: {message}"


def test_what_to_write_is_told_where_the_last_hunk_may_have_been_edited() -> None:
    with pytest.raises(PatchFormatError) as caught:
        read_foreign(DIFF.replace(b"-1,4 +1,5", b"-1,4 +1,9"), "p")

    assert caught.value.hint == (
        "get the whole patch; if its last hunk was edited by hand, correct the header: @@ -1,4 +1,5 @@"
    )


@pytest.mark.parametrize(
    "text",
    [
        # More lines than promised were not cut off, and what follows a body shows that it is whole.
        DIFF.replace(b"-1,4 +1,5", b"-1,3 +1,9"),
        DIFF.replace(b"-1,4 +1,5", b"-1,4 +1,9") + b"-- \n2.39.5\n",
        DIFF.replace(b"-1,4 +1,5", b"-1,4 +1,9") + b"Thanks!\n",
        DIFF.replace(b"-1,4 +1,5", b"-1,4 +1,9") + DIFF.replace(b"m/a", b"m/b"),
        DIFF.replace(b"-1,4 +1,5", b"-1,4 +1,9") + b"@@ -9 +10 @@\n-a\n+b\n",
    ],
)
def test_counts_that_were_edited_by_hand_are_left_to_the_base(text: bytes) -> None:
    assert not files(read_foreign(text, "p"))[0].hunks[0].counts_agree


LOST = "its index line says that the text changes, and no hunk follows"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DIFF + FILE + b"index 1234567..89abcde 100644\n", f"p:10: y: {LOST}"),
        (DIFF + FILE + b"index 1234567..89abcde 100644\n--- a/y\n", f"p:10: y: {LOST}"),
        (FILE + b"new file mode 100644\nindex 0000000..89abcde\n--- /dev/null\n+++ b/y\n" + DIFF, f"p:1: y: {LOST}"),
        (FILE + b"deleted file mode 100644\nindex 89abcde..0000000\n", f"p:1: y: {LOST}"),
        (DIFF + FILE, "p:10: y: the text ends behind the header of this file"),
    ],
)
def test_a_file_whose_hunks_are_not_there_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(PatchFormatError) as caught:
        read_foreign(text, "p")

    assert caught.value.message == message


def test_a_header_alone_in_the_middle_says_nothing_and_is_no_loss() -> None:
    # git diff-files prints one for a file of which only the time has changed.
    assert [len(file.hunks) for file in files(read_foreign(FILE + b"diff --git a/m/a.py b/m/a.py\n" + DIFF, "p"))] == [
        0,
        1,
    ]


# The law: what our own printer writes is read as it is, and nothing is repaired.


@given(edited())
def test_a_printed_difference_is_read_without_repairs(pair: tuple[bytes, bytes]) -> None:
    patch = difference(*pair, "m/x")
    if patch is None:
        return
    foreign = read_foreign(print_patch(Patch((patch,))), "p")

    assert foreign.repairs == ()
    assert [hunk.lines for hunk in files(foreign)[0].hunks] == [hunk.lines for hunk in patch.hunks]
    assert all(hunk.counts_agree and not hunk.spare for hunk in files(foreign)[0].hunks)


def test_lines_that_the_counts_leave_over_belong_to_the_hunk() -> None:
    text = DIFF.replace(b"-1,4 +1,5", b"-1,3 +1,3")
    (hunk,) = files(read_foreign(text, "p"))[0].hunks

    assert (hunk.found, hunk.counts_agree) == ((4, 5), False)


def test_a_signature_behind_wrong_counts_is_no_removed_line() -> None:
    text = DIFF.replace(b"-1,4 +1,5", b"-1,9 +1,9") + b"-- \n2.39.5\n\n"
    (hunk,) = files(read_foreign(text, "p"))[0].hunks

    assert hunk.found == (4, 5)


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ('a/x "b/tab\\there"', "a/x", "b/tab\there"),
        ('"a/tab\\there" b/x', "a/tab\there", "b/x"),
        ('"a/tab\\there" "b/tab\\there"', "a/tab\there", "b/tab\there"),
        ('a/two words "b/\\"x\\""', "a/two words", 'b/"x"'),
        ('"a/\\"x y\\"" b/two words', 'a/"x y"', "b/two words"),
        ("a/two words b/two words", "a/two words", "b/two words"),
    ],
)
def test_each_name_of_a_git_header_may_be_quoted(line: str, old: str, new: str) -> None:
    renamed = f"rename from {_field(old)}\nrename to {_field(new)}\n" if old[2:] != new[2:] else ""
    text = f"diff --git {line}\n{renamed}--- {_field(old, tab='	')}\n+++ {_field(new, tab='	')}\n@@ -1 +1 @@\n-a\n+b\n"
    text = text.replace("rename from a/", "rename from ").replace("rename to b/", "rename to ")
    text = text.replace('rename from "a/', 'rename from "').replace('rename to "b/', 'rename to "')
    file = read_foreign(text.encode(), "p").messages[0].files[0]

    assert (old, new) == (file.old_path, file.new_path)


def _field(name: str, tab: str = "") -> str:
    field = quoted(name).decode()
    return field if field.startswith('"') else field + tab
