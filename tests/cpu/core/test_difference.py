from __future__ import annotations

import os
import subprocess
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.difference import _TrimmedMatcher, difference, print_git_patch
from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind, Patch
from patchkit.core.placement import FilePlaced, Placed, Verdict, place_file
from patchkit.core.unified import print_patch

from .texts import Change, changes, random_changes, texts


def printed(old: bytes | None, new: bytes | None) -> str:
    """The hunks of a difference as text, without the two header lines."""
    patch = difference(old, new, "x")
    assert patch is not None
    return print_patch(Patch((patch,))).decode().partition("\n")[2].partition("\n")[2]


def numbered(count: int, **changed: str) -> bytes:
    """Lines 1 to ``count``; ``line3="x"`` changes the third."""
    return "".join(changed.get(f"line{number}", f"{number}\n") for number in range(1, count + 1)).encode()


@settings(deadline=None)
@given(texts())
def test_a_text_does_not_differ_from_itself(text: bytes) -> None:
    assert difference(text, text, "x") is None


def test_a_file_that_is_nowhere_does_not_differ() -> None:
    assert difference(None, None, "x") is None


@settings(deadline=None)
@given(changes())
def test_a_difference_fits_exactly_in_both_directions(change: Change) -> None:
    old, new = change
    patch = difference(old, new, "x")
    if patch is None:
        return

    for forward, before, after in ((patch, old, new), (patch.reversed(), new, old)):
        placed = place_file(forward, before, {})
        exact = tuple(Placed(hunk.id, Verdict.EXACT, old_line(forward, hunk), 0) for hunk in forward.hunks)
        assert FilePlaced("x", after, exact) == placed


def old_line(patch: FilePatch, hunk: Hunk) -> int:
    """The first line of the old side: an empty one is numbered by the line before it, in a file to be made by 0."""
    return hunk.old_start if hunk.old_lines or patch.old_path is None else hunk.old_start + 1


@pytest.mark.parametrize(
    ("old", "new", "hunks"),
    [
        (b"", b"a\n", "@@ -0,0 +1 @@\n+a\n"),
        (None, b"a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
        (b"a\n", b"", "@@ -1 +0,0 @@\n-a\n"),
        (b"a\nb\n", None, "@@ -1,2 +0,0 @@\n-a\n-b\n"),
        (None, b"", ""),
        (b"a", b"a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        (b"a\nb", b"x\nb", "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n"),
        (b"a\r\n", b"a\n", "@@ -1 +1 @@\n-a\r\n+a\n"),
        (b"a\x0cb\n", b"a\nb\n", "@@ -1 +1,2 @@\n-a\x0cb\n+a\n+b\n"),
    ],
    ids=["into empty", "made", "emptied", "removed", "made empty", "newline", "no newline", "crlf", "form feed"],
)
def test_ends_of_files_are_numbered_and_marked_as_diff_does(old: bytes | None, new: bytes | None, hunks: str) -> None:
    assert hunks == printed(old, new)


@pytest.mark.parametrize(
    ("new", "hunks"),
    [
        (numbered(20, line10="x\n"), "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+x\n 11\n 12\n 13\n"),
        (numbered(20, line1="x\n"), "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n"),
        (numbered(20, line20="20\nx\n"), "@@ -18,3 +18,4 @@\n 18\n 19\n 20\n+x\n"),
        (
            numbered(20, line5="", line12="x\n"),
            "@@ -2,14 +2,13 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n 9\n 10\n 11\n-12\n+x\n 13\n 14\n 15\n",
        ),
        (
            numbered(20, line5="", line13="x\n"),
            "@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n@@ -10,7 +9,7 @@\n 10\n 11\n 12\n-13\n+x\n 14\n 15\n 16\n",
        ),
    ],
    ids=["inside", "first line", "after the last", "6 lines between are one hunk", "7 lines between are two"],
)
def test_a_hunk_has_three_lines_of_context(new: bytes, hunks: str) -> None:
    assert hunks == printed(numbered(20), new)


def test_a_repeated_line_is_matched_although_it_is_frequent() -> None:
    # difflib takes lines that make up more than 1 % of 200 for junk unless it is told not to.
    old = b"pass\n" * 300
    new = b"x\n" + old + b"y\n"

    assert (
        printed(old, new) == "@@ -1,3 +1,4 @@\n+x\n pass\n pass\n pass\n@@ -298,3 +299,4 @@\n pass\n pass\n pass\n+y\n"
    )


def test_a_git_patch_names_whole_blob_ids_and_the_files_in_order() -> None:
    files = {
        "b.py": (b"old\n", b"new\n"),
        "same.py": (b"same\n", b"same\n"),
        "a/made.py": (None, b"made\n"),
        "gone.py": (b"gone\n", None),
    }

    null = "0" * 40
    expected = (
        "What this is for.\n\n"
        "diff --git a/a/made.py b/a/made.py\n"
        "new file mode 100644\n"
        f"index {null}..c5f1b8eaf85917b894fea0c18c228e380290308a\n"
        "--- /dev/null\n"
        "+++ b/a/made.py\n"
        "@@ -0,0 +1 @@\n"
        "+made\n"
        "diff --git a/b.py b/b.py\n"
        "index 3367afdbbf91e638efe983616377c60477cc6612..3e757656cf36eca53338e520d134963a44f793f8 100644\n"
        "--- a/b.py\n"
        "+++ b/b.py\n"
        "@@ -1 +1 @@\n"
        "-old\n"
        "+new\n"
        "diff --git a/gone.py b/gone.py\n"
        "deleted file mode 100644\n"
        f"index 286c5f5776916d7d7d5849988ca9d83e722cf9c2..{null}\n"
        "--- a/gone.py\n"
        "+++ /dev/null\n"
        "@@ -1 +0,0 @@\n"
        "-gone\n"
    )
    assert expected.encode() == print_git_patch(files, b"What this is for.\n\n")


def lay(folder: Path, files: dict[str, bytes | None]) -> Path:
    """Write the files that exist into a new folder."""
    folder.mkdir()
    for name, text in files.items():
        if text is not None:
            (folder / name).write_bytes(text)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """What a folder holds."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run(folder: Path, program: list[str], text: bytes) -> None:
    """Run a patch program in a folder that belongs to no git repository."""
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "LC_ALL": "C",
    }
    subprocess.run(program, cwd=folder, input=text, check=True, capture_output=True, env=environment)


@pytest.mark.parametrize(
    "program",
    [
        ["git", "apply", "--whitespace=nowarn", "-"],
        # patch keeps a file that becomes empty only when it is told to.
        ["patch", "--strip=1", "--fuzz=0", "--batch", "--silent", "--posix", "--binary"],
    ],
    ids=["git apply", "GNU patch"],
)
def test_other_programs_make_of_a_difference_what_we_do(tmp_path: Path, program: list[str]) -> None:
    cases = {f"{number}.txt": change for number, change in enumerate(random_changes(400, seed=2))}
    if program[0] == "patch":
        # Without git's headers there is no way to write a file that is made empty, or was.
        cases = {name: change for name, change in cases.items() if None not in change and b"" not in change}
    forward = print_git_patch(cases, b"")
    backward = print_git_patch({name: (new, old) for name, (old, new) in cases.items()}, b"")

    folder = lay(tmp_path / "tree", {name: old for name, (old, _) in cases.items()})
    run(folder, program, forward)
    assert {name: new for name, (_, new) in cases.items() if new is not None} == contents(folder)

    run(folder, program, backward)
    assert {name: old for name, (old, _) in cases.items() if old is not None} == contents(folder)


def test_a_hunk_line_without_an_ending_is_the_last_of_its_side() -> None:
    expected = FilePatch(
        "x", "x", (Hunk("", 1, 1, (HunkLine(LineKind.REMOVED, b"a"), HunkLine(LineKind.ADDED, b"b"))),)
    )
    assert expected == difference(b"a", b"b", "x")


_lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n"]), max_size=20)


@settings(deadline=None)
@given(_lines, _lines)
def test_the_blocks_are_those_that_difflib_finds_between_head_and_tail(before: list[bytes], after: list[bytes]) -> None:
    matcher = _TrimmedMatcher(before, after)

    expected = SequenceMatcher(None, matcher._old, matcher._new, autojunk=False).get_matching_blocks()
    assert matcher.get_matching_blocks() == expected
