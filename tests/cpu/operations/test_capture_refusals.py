from __future__ import annotations

import sys

import pytest

from patchkit.core.upstream import Release, Target
from patchkit.operations.capture_refusals import sort_out
from patchkit.operations.capture_tree import Changed

COMMIT = Target("3714d81d", "0.16", None, "3" * 40, {}, None)


def release(python: str = ">=3.10") -> Target:
    found = Release(
        version="1.0", tag=None, commit=None, date="2026-01-02", python=python, ships=("m.core",), blobs={}, files={}
    )
    return Target("1.0", "1.0", None, None, {}, found)


def refused(file: Changed, target: Target = COMMIT, base: tuple[str, ...] = ()) -> tuple[str, int | None, str] | None:
    """Message, line and hint about a file; None for one that is taken."""
    found = sort_out([file], target, base.__contains__)
    assert (found.files == [file], found.problems == []) in ((True, True), (False, False))
    return next(((one.message, one.line, str(one.hint)) for one in found.problems), None)


# Binary.


@pytest.mark.parametrize(
    ("path", "expected", "found", "message"),
    [
        (
            "m/a.py",
            b"a\n",
            b"a\0\n",
            "the file is edited, and binary, which the series cannot carry: it holds NUL bytes",
        ),
        ("m/a.py", b"a\n", b"\xff\n", "the file is edited, and binary, which the series cannot carry: it is not UTF-8"),
        (
            "m/a.so",
            None,
            b"\x7fELF\0",
            "the file is new, and binary, which the series cannot carry: it holds NUL bytes",
        ),
        (
            "m/a.png",
            b"\x89PNG",
            None,
            "the file is gone, and binary, which the series cannot carry: upstream's file is not UTF-8",
        ),
    ],
)
def test_what_is_no_text_is_refused_by_name(
    path: str, expected: bytes | None, found: bytes | None, message: str
) -> None:
    assert refused(Changed(path, expected, found)) == (message, None, f"leave it out with --exclude {path}")


def test_a_file_that_was_saved_with_other_line_endings_is_refused() -> None:
    assert refused(Changed("m/a.py", b"a = 1\nb = 2\n", b"a = 1\r\nb = 3\r\n")) == (
        "the file is edited, and lines end with CR LF, which none did before",
        None,
        "save it with the line endings that it had; or leave it out with --exclude m/a.py",
    )


@pytest.mark.parametrize("path", ["m/a\tb.py", "m/a\nb.py", 'm/"a".py', "m/a\\b.py", "m/\udcff.py"])
def test_a_name_that_a_diff_cannot_say_is_refused(path: str) -> None:
    answer = refused(Changed(path, None, b"a\n"))

    assert answer is not None
    assert answer[0] == f"the name {path!r} cannot stand in a diff of the series"


@pytest.mark.parametrize("path", ["m/a b.py", "m/ü.md"])
def test_other_names_and_texts_are_taken(path: str) -> None:
    assert refused(Changed(path, None, "# ü\n".encode())) is None
    assert refused(Changed(path, "# ü\r\n".encode(), b"")) is None


# Python.


@pytest.mark.parametrize("name", ["m/core/a.py", "m/core/a.pyi"])
@pytest.mark.parametrize("expected", [b"x = 1\n", None])
def test_a_file_that_is_no_python_any_more_is_refused_with_its_line(name: str, expected: bytes | None) -> None:
    hint = f"leave it out with --exclude {name}"
    message = "the edited file is no Python: invalid syntax"

    assert refused(Changed(name, expected, b"x = 1\ny = = 2\n")) == (message, 2, hint)


def test_a_name_is_quoted_for_a_shell_where_it_has_to_be() -> None:
    said = refused(Changed("m/a;touch 'b'.bin", None, b"\xff"))

    assert said is not None
    assert said[2] == """leave it out with --exclude 'm/a;touch '"'"'b'"'"'.bin'"""


def test_other_texts_than_python_are_not_read_as_such() -> None:
    assert refused(Changed("m/core/a.yaml", b"x: 1\n", b"y = = 2\n")) is None


def test_what_this_python_cannot_read_in_upstreams_text_either_is_noted() -> None:
    file = Changed("m/core/a.py", b"new syntax\n", b"new syntax\nx = 1\n")
    found = sort_out([file], COMMIT, lambda _: True)

    assert (found.files, found.problems) == ([file], [])
    assert found.notes == [
        "m/core/a.py: not checked, since this Python can read neither upstream's text nor the edited one"
    ]


def test_syntax_that_the_release_does_not_promise_to_read_is_refused() -> None:
    match = Changed("m/core/a.py", b"x = 1\n", b"match x:\n    case 1:\n        pass\n")

    assert refused(match, release(">=3.10"), ("m/core/a.py",)) is None
    answer = refused(match, release(">=3.9"), ("m/core/a.py",))
    assert answer is not None
    assert answer[0] == "the edited file is no Python: Pattern matching is only supported in Python 3.10 and greater"


def test_an_older_python_than_the_release_s_says_so() -> None:
    out = "or leave it out with --exclude m/core/a.py"
    ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
    answer = refused(Changed("m/core/a.py", None, b"x = = 1\n"), release(">=3.99"))

    assert answer == (
        "the edited file is no Python: invalid syntax",
        1,
        f"this is Python {ours}, the release is for 3.99: run patchkit with that; {out}",
    )


# What the wheel of a release does not ship.


def test_a_release_takes_what_its_wheel_ships_and_a_commit_everything() -> None:
    edited, new, top = (
        Changed("m/core/a.md", b"a\n", b"b\n"),
        Changed("m/core/b.md", None, b"b\n"),
        Changed("top.py", None, b"t\n"),
    )
    how = "a series for a commit can carry it; or leave it out with --exclude"

    assert [refused(file) for file in (edited, new, top)] == [None, None, None]
    assert refused(edited, release(), ("m/core/a.md",)) is None
    assert refused(new, release()) is None
    assert refused(edited, release()) == (
        "the file is edited, and the wheel of v1.0 has no such file: it ships m.core",
        None,
        f"{how} m/core/a.md",
    )
    assert refused(top, release()) == (
        "the file is new, and the wheel of v1.0 has no such file: it ships m.core",
        None,
        f"{how} top.py",
    )


# Conflicts that are still marked.

MARKED = b"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n"
TITLE = b"A title\n=======\n"


@pytest.mark.parametrize(
    ("path", "expected", "found", "line"),
    [
        ("m/a.py", b"a\nb\n", MARKED, 2),
        ("m/new.py", None, TITLE, 2),
        ("m/a.md", None, MARKED[2:], 1),
    ],
)
def test_a_marked_conflict_is_refused_with_its_line(path: str, expected: bytes | None, found: bytes, line: int) -> None:
    rest = f"leave it out with --exclude {path}"

    assert refused(Changed(path, expected, found)) == (
        "a conflict is marked here",
        line,
        f"solve it, then capture; or {rest}",
    )


@pytest.mark.parametrize(
    ("path", "expected", "found"),
    [
        ("m/a.md", None, TITLE),  # the mark of the middle alone, which underlines a title outside of Python
        ("m/a.txt", b"=======\n", b"a\n=======\n"),
        ("m/a.md", MARKED, MARKED + b"z\n"),
    ],
)
def test_marks_that_upstream_has_and_a_title_that_is_underlined_are_no_conflict(
    path: str, expected: bytes | None, found: bytes
) -> None:
    assert refused(Changed(path, expected, found)) is None
