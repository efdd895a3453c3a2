from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from patchkit.core.merging.words import key, lexemes, words

_PIECES = ("'", '"', "\\", *" \t\n\r()[],#.=*afrB1", '"""', "'''", "\\\n", "1.5", "not", "\xa0", "\u00e9")
_any_text = st.lists(st.sampled_from(_PIECES)).map("".join)


@given(_any_text)
@example("'")
@example("'\\")
@example("a \\\n\\\n")
@example("1.5rb'x'")
def test_the_words_are_the_keys_of_the_lexemes(text: str) -> None:
    assert words(text) == [lexeme.key for lexeme in lexemes(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(a,\n  b,\n)", "f|(|a|,|b|)"),
        ("x = (1,)", "x|=|1|,"),
        ("x = (1, 2,)", "x|=|1|,|2"),
        ("x[1,]", "x|[|1|,|]"),
        ("not (a,)", "not|(|a|,|)"),
        ("f('a,)')", 'f|(|"a,)"|)'),
        ("a = 'it' \\\n  + \"b\"", 'a|=|"it"|+|"b"'),
        ("a  # it's", "a|# it's"),
        ("x = '''a'''", "x|=|'''a'''"),
    ],
)
def test_the_key_says_what_a_statement_says(text: str, expected: str) -> None:
    assert key(text).split("\x1f") == expected.split("|")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("from a import (b, c,)", "from a import b, c"),
        ("raise E('a ' 'b')", 'raise E("a b")'),
        ('x = f"{a}" "{b}"', 'x = f"{a}{{b}}"'),
        ("x = (a + b)", "x = a + b"),
        ("return (a\n  and b)", "return a and b"),
        ("if (a or b):", "if a or b:"),
        ("assert (a), ('b' 'c')", 'assert a, "bc"'),
        ("for a in (b):", "for a in b:"),
    ],
)
def test_brackets_around_all_and_the_cuts_of_a_string_are_form(one: str, two: str) -> None:
    assert key(one) == key(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("x = (a, b)", "x = a"),
        ("x = (a) + b", "x = a + b"),
        ("f(x=(a))", "f(x=a)"),
        ("assert (a, 'b')", "assert a, 'b'"),
        ("x = (y := a)", "x = y := a"),
        ("x = (a for a in b)", "x = a for a in b"),
        ("x = ()", "x ="),
        ("x = 'a' b'c'", "x = 'ac'"),
        ("x = r'\\a' 'b'", "x = '\\ab'"),
        (r"x = '\1' '2'", r"x = '\12'"),
        ("x = 'a', 'b'", "x = 'ab'"),
    ],
)
def test_brackets_and_strings_that_say_something_are_no_form(one: str, two: str) -> None:
    assert key(one) != key(two)


def test_a_long_statement_has_a_key_like_a_short_one() -> None:
    names = [f"name_{number}" for number in range(100)]

    assert key(f"f({', '.join(names)},)") == key("f(" + ",\n  ".join(names) + ")")
