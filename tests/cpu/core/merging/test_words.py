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
        ("x = (1,)", "x|=|(|1|,|)"),
        ("x = (1, 2,)", "x|=|(|1|,|2|)"),
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


def test_a_long_statement_has_a_key_like_a_short_one() -> None:
    names = [f"name_{number}" for number in range(100)]

    assert key(f"f({', '.join(names)},)") == key("f(" + ",\n  ".join(names) + ")")
