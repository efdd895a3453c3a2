from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.merging.entries import Entry, Group, flat, tree
from patchkit.core.merging.logical import logical_lines

from ..programs import programs

_parts = st.lists(
    st.sampled_from(["a", "f(", "(", ")", "[", "]", "{", "}", ", ", "=", ": ", "**", "*", "'s'", "# c\n", "\n", " "])
).map("".join)


@given(st.one_of(programs().map(bytes.decode), _parts))
def test_a_tree_loses_no_word(text: str) -> None:
    for line in logical_lines(text):
        found = tree(line.lexemes)
        if found is not None:
            assert line.lexemes == list(flat(found))


@pytest.mark.parametrize("text", ["f(a", "f(a]", "f a)", "[(])"])
def test_brackets_that_do_not_match_have_no_tree(text: str) -> None:
    assert tree(logical_lines(text)[0].lexemes) is None


def entries(text: str) -> list[Entry]:
    """The entries of the first list of a statement."""
    found = tree(logical_lines(text)[0].lexemes)
    assert found is not None
    return next(item for item in found if isinstance(item, Group)).entries


@pytest.mark.parametrize(
    ("text", "names", "keywords"),
    [
        ("f(a, b=1, *c, **d)", ["a", "b", "* c", "** d"], [False, True, False, True]),
        ("def f(self, a: int = 1, *, b): pass", ["self", "a", "*", "b"], [False, True, False, False]),
        ("x = {'a': 1, **b}", ['"a"', "** b"], [False, True]),
        ("x = [a == b, c]", ["a == b", "c"], [False, False]),
        # The colon of a lambda and the if of a condition name nothing.
        ("f(lambda x: y, a if b else c)", ["lambda x : y", "a if b else c"], [False, False]),
        ("f(a,  # why\n  b)", ["a", "b"], [False, False]),
        ("f()", [], []),
    ],
)
def test_what_identifies_an_entry(text: str, names: list[str], keywords: list[bool]) -> None:
    found = entries(text)

    assert (names, keywords) == ([entry.name for entry in found], [entry.is_keyword for entry in found])


@pytest.mark.parametrize(
    ("text", "is_call", "exploded"),
    [
        ("f(a)", True, False),
        ("f(\n    a,\n    b,\n)", True, True),
        ("x = (a, b)", False, False),
        ("return (a)", False, False),
        ("x = [\n    a,\n]", False, True),
        ("f()(a)", True, False),
    ],
)
def test_what_a_list_is(text: str, is_call: bool, exploded: bool) -> None:
    found = tree(logical_lines(text)[0].lexemes)
    assert found is not None
    group = [item for item in found if isinstance(item, Group)][-1]

    assert (is_call, exploded) == (group.is_call, group.exploded)


def test_a_comment_behind_the_comma_belongs_to_the_entry_before() -> None:
    first, second = entries("f(\n    a,  # of a\n    # of b\n    b,\n)")

    assert ([lexeme.text for lexeme in first.comments], second.comments) == (["# of a"], [])
    assert (first.key, second.key) == ("a", "b")
