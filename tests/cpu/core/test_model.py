from __future__ import annotations

import pytest
from hypothesis import given, settings

from patchkit.core.difference import difference
from patchkit.core.model import FilePatch, Hunk, HunkLine, LineKind, Patch

from .texts import Change, changes


def hunk(body: str, *, start: int = 1) -> Hunk:
    """A hunk whose body is written as in a diff."""
    lines = tuple(HunkLine(LineKind(line[0]), line[1:].encode()) for line in body.splitlines(keepends=True))
    return Hunk("h", start, start, lines)


def test_each_side_of_a_hunk_is_its_lines_and_the_context() -> None:
    both = hunk(" a\n-b\n+c\n d\n")

    assert (both.old_lines, both.new_lines) == ([b"a\n", b"b\n", b"d\n"], [b"a\n", b"c\n", b"d\n"])


@pytest.mark.parametrize(
    ("body", "touched"),
    [
        (" a\n b\n", []),
        ("+x\n", [(0, 0)]),
        (" a\n+x\n+y\n b\n", [(1, 1)]),
        (" a\n-b\n-c\n d\n", [(1, 2), (2, 3)]),
        ("-a\n+x\n b\n+y\n", [(0, 1), (1, 1), (2, 2)]),
        ("+x\n-a\n+y\n", [(0, 0), (0, 1), (1, 1)]),
    ],
    ids=[
        "context",
        "into nothing",
        "one spot for neighbours",
        "each removed line",
        "replaced",
        "around a removed line",
    ],
)
def test_a_hunk_touches_the_lines_it_removes_and_the_spots_it_inserts_at(
    body: str, touched: list[tuple[int, int]]
) -> None:
    assert touched == hunk(body).touched


def test_a_reversed_hunk_swaps_sides_and_numbers_and_keeps_the_order_of_lines() -> None:
    lines = hunk(" a\n-b\n+c\n").lines

    assert Hunk("h", 7, 4, hunk(" a\n+b\n-c\n").lines) == Hunk("h", 4, 7, lines).reversed()


def test_a_reversed_file_patch_swaps_paths_and_reverses_each_hunk() -> None:
    first, second = hunk("+x\n"), hunk("-y\n", start=9)

    expected = FilePatch(None, "made.py", (first.reversed(), second.reversed()))
    assert expected == FilePatch("made.py", None, (first, second)).reversed()


@settings(deadline=None)
@given(changes())
def test_reversing_twice_changes_nothing(change: Change) -> None:
    patch = difference(*change, "x.py")

    assert patch is None or patch == patch.reversed().reversed()


@pytest.mark.parametrize(("old", "new", "path"), [("a", "a", "a"), (None, "a", "a"), ("a", None, "a"), ("a", "b", "b")])
def test_a_file_is_known_by_its_new_path_or_else_by_its_old_one(old: str | None, new: str | None, path: str) -> None:
    assert path == FilePatch(old, new, ()).path


def test_a_patch_finds_its_file_patches_by_path() -> None:
    one, two = FilePatch("a", "a", ()), FilePatch("b", None, ())
    patch = Patch((one, two))

    assert (one, two, None) == (patch.file("a"), patch.file("b"), patch.file("c"))
