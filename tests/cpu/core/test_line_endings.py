from __future__ import annotations

import pytest

from patchkit import carry_file
from patchkit.core.carried import CarriedHunk, Conflict, Place, Status, Verdict
from patchkit.core.line_endings import ending

BASE = b"def f():\n    a = 1\n    b = 2\n    c = 3\n    return a\n"
PATCH = BASE.replace(b"b = 2", b"b = 4")
TARGET = BASE.replace(b"return a", b"return c")


def wide(text: bytes) -> bytes:
    return text.replace(b"\n", b"\r\n")


@pytest.mark.parametrize("path", ["x.py", "x.yaml"])
def test_the_result_has_the_targets_line_endings(path: str) -> None:
    both = PATCH.replace(b"return a", b"return c")

    for patch, target, result, name in (
        ((BASE, PATCH), wide(TARGET), wide(both), "CRLF"),
        ((wide(BASE), wide(PATCH)), TARGET, both, "LF"),
    ):
        carried = carry_file(*patch, target, path)

        assert (carried.status, carried.content) == (Status.CLEAN, result)
        (hunk,) = carried.hunks
        assert hunk.verdict is Verdict.MERGED
        assert hunk.reason == f"the target changed lines nearby; its lines end in {name} as the target's do"


def test_each_side_of_a_conflict_has_its_own_line_endings() -> None:
    carried = carry_file(BASE, PATCH, wide(BASE.replace(b"b = 2", b"b = 3")), "x.yaml")

    three = Conflict(b"    b = 2\n", b"    b = 4\n", b"    b = 3\r\n")
    assert carried.parts == (b"def f():\r\n    a = 1\r\n", three, b"    c = 3\r\n    return a\r\n")
    place = Place("<module>", 3, 3)
    reason = "both sides changed these lines, or lines side by side; its lines end in CRLF as the target's do"
    assert carried.hunks == (CarriedHunk(0, Verdict.CONFLICT, place, place, reason, conflict=three),)


def test_where_lines_end_in_both_ways_nothing_is_translated() -> None:
    mixed = wide(TARGET).replace(b"a = 1\r\n", b"a = 1\n")

    assert carry_file(BASE, PATCH, mixed, "x.py").status is Status.CONFLICT


def test_a_patch_that_translates_the_line_endings_does_so() -> None:
    assert carry_file(BASE, wide(BASE), BASE, "x.py").content == wide(BASE)
    assert carry_file(BASE, wide(PATCH), TARGET, "x.py").status is Status.CONFLICT


@pytest.mark.parametrize(
    ("text", "end"),
    [(b"a\nb", b"\n"), (b"a\r\nb", b"\r\n"), (b"a", None), (b"", None), (b"a\r\nb\n", None), (b"a\rb\n", b"\n")],
)
def test_how_the_lines_of_a_text_end(text: bytes, end: bytes | None) -> None:
    assert ending(text) == end
