from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.merging.resolve import resolve, resolve_all
from patchkit.core.merging.resolved import Clash, Resolved, Span

from ..programs import changed_programs
from .test_lexemes import SNIPPETS

LAW = settings(deadline=None)

_programs = changed_programs().map(lambda pair: (pair[0].decode(), pair[1].decode()))
_any_text = st.lists(st.sampled_from(SNIPPETS), max_size=6).map("".join)


@LAW
@given(_programs)
def test_without_a_change_of_the_patch_the_target_comes_out(sides: tuple[str, str]) -> None:
    base, target = sides

    assert "".join(part for part in resolve(base, base, target).parts if isinstance(part, str)) == target


@LAW
@given(_programs)
def test_without_a_change_of_the_target_the_patch_comes_out(sides: tuple[str, str]) -> None:
    base, changed = sides

    assert "".join(part for part in resolve(base, changed, base).parts if isinstance(part, str)) == changed


@LAW
@given(_programs)
def test_what_both_made_comes_out_once(sides: tuple[str, str]) -> None:
    base, changed = sides

    assert "".join(part for part in resolve(base, changed, changed).parts if isinstance(part, str)) == changed


def test_code_that_a_string_of_the_target_ends_before_is_no_line_that_the_target_brings() -> None:
    docstring = '    """\n    Args:\n        library: its name.\n    """\n'
    code = "    for key, value in config.items():\n        setattr(self, key, value)\n"
    base = "def put(self, config):\n" + docstring + code
    changed = base.replace("library: its name.", "setattr(self, key, value)")
    target = base.replace('"""', "pass", 1)

    found = resolve(base, changed, target)

    clashes = [part.base for part in found.parts if isinstance(part, Clash)]
    assert len(clashes) == 1
    assert "library: its name." in clashes[0]
    assert [(span.verdict, span.reason) for span in found.spans] == [("conflict", "both sides changed the same lines")]


def test_a_bracket_that_the_target_leaves_open_to_the_end_is_followed_by_no_blank_line() -> None:
    base = 'def f():\n    """Do it.\n    """\n    x = g(\n    )\n'
    target = base.removesuffix("    )\n")

    assert "".join(map(str, resolve(base, base, target).parts)) == target


@LAW
@given(_any_text, _any_text, _any_text)
def test_broken_text_is_merged_or_refused_and_spans_are_in_order(base: str, changed: str, target: str) -> None:
    found = resolve(base, changed, target)

    rows = sum(part.count("\n") for part in found.parts if isinstance(part, str))
    for span in found.spans:
        assert 0 <= span.base <= span.base_end <= base.count("\n") + 1
        assert span.verdict == "conflict" or 0 <= span.first <= span.end <= rows + 1
    assert [span.base for span in found.spans] == sorted(span.base for span in found.spans)
    clashes = [part for part in found.parts if isinstance(part, Clash)]
    assert len(clashes) == sum(span.verdict == "conflict" for span in found.spans)


@LAW
@given(_any_text, _any_text, _any_text)
def test_a_merge_of_all_is_the_merge_where_nothing_clashes_and_none_where_something_does(
    base: str, changed: str, target: str
) -> None:
    merged = resolve(base, changed, target)

    clashes = any(isinstance(part, Clash) for part in merged.parts)
    assert resolve_all(base, changed, target) == (None if clashes else merged)


def test_of_a_whole_file_what_both_took_out_is_out_unless_one_of_them_moved_it() -> None:
    """Of a part of a file nobody sees that."""
    base = "def f():\n    one(first, second)\n    two(third, fourth)\n\n\ndef g():\n    pass\n"
    changed = base.replace("    one(first, second)\n", "")
    target = changed.replace("    two(third, fourth)\n", "")

    assert resolve_all(base, changed, target, is_whole=True) == Resolved(
        ["def f():\n", "\n\ndef g():\n", "    pass\n"],
        [Span(1, 3, 1, 1, "upstreamed", "the target took out these lines and more")],
    )
    assert resolve_all(base, changed, target) is None
    assert resolve_all(base, changed, target + "    one(first, second)\n", is_whole=True) is None


@pytest.mark.parametrize(
    ("base", "changed", "target", "parts"),
    [
        # Statement by statement: neighbours do not meet.
        ("a = 1\nb = 2\n", "a = 5\nb = 2\n", "a = 1\nb = 6\n", "a = 5\nb = 6\n"),
        # A file without a last newline gets one when something follows.
        ("a = 1", "a = 1\nb = 2\n", "a = 1", "a = 1\nb = 2\n"),
        ("a = 1", "a = 1\nb = 2", "a = 1\nc = 3", "a = 1\nc = 3\nb = 2"),
        # Blank lines belong to what follows them.
        ("a = 1\n\nb = 2\n", "a = 1\n\n\nb = 2\n", "a = 1\nc = 3\n\nb = 2\n", "a = 1\nc = 3\n\n\nb = 2\n"),
    ],
)
def test_what_comes_out(base: str, changed: str, target: str, parts: str) -> None:
    assert "".join(str(part) for part in resolve(base, changed, target).parts) == parts


def test_a_clash_names_the_lines_of_all_sides() -> None:
    found = resolve("x = 1\ny = 1\n", "x = 1\ny = 2\n", "z = 0\nx = 1\ny = 3\n")

    assert [part for part in found.parts if isinstance(part, Clash)] == [Clash("y = 1\n", "y = 2\n", "y = 3\n")]
    assert found.spans == [Span(1, 2, 2, 3, "conflict", "both sides changed the same words")]


def test_what_both_sides_made_is_told_as_upstreamed() -> None:
    found = resolve("x = 1\ny = 1\n", "x = 2\ny = 1\n", "x = 2\ny = 1\n")

    assert found.spans == [Span(0, 1, 0, 1, "upstreamed", "the target has the same change")]
