from __future__ import annotations

import ast

import pytest

from patchkit.core.merging.words import key

SAME = [
    ("return (a)", "return a"),
    ("return (a, b)", "return a, b"),
    ("return ((a, b), c)", "return (a, b), c"),
    ("return (\n    a\n    and b\n)", "return a and b"),
    ("x = (a,)", "x = a,"),
    ("x = y = (a)", "x = y = a"),
    ("(x, y) = f()", "x, y = f()"),
    ("x: int = (3)", "x: int = 3"),
    ("x += (a)", "x += a"),
    ("x = (lambda: (yield))", "x = lambda: (yield)"),
    ("for (a, b) in (c, d):", "for a, b in c, d:"),
    ("if (a):", "if a:"),
    ("while ((a)):", "while a:"),
    ("assert (a), (b)", "assert a, b"),
    ("from a import (b, c as d)", "from a import b, c as d"),
]
OTHER = [
    ("assert (a, b)", "assert a, b"),
    ("assert a, (b, c)", "assert a, b, c"),
    ("x = (b for b in c)", "x = b for b in c"),
    ("x = (y := 1)", "x = y := 1"),
    ("x = (yield)", "x = yield"),
    ("x = ()", "x ="),
    ("x = (a) + (b)", "x = a) + (b"),
    ("x = (a,)", "x = a"),
    ("for x in a in (b, c):", "for x in a in b, c:"),
    ("f((a, b))", "f(a, b)"),
    ("except (A, B):", "except A, B:"),
    ("if a in (b, c):", "if a in b, c:"),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_parentheses_around_a_whole_expression_are_form(one: str, two: str) -> None:
    trees = [ast.dump(ast.parse(text + (" pass" if text.endswith(":") else ""))) for text in (one, two)]

    assert trees[0] == trees[1]
    assert key(one) == key(two)


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_other_parentheses_say_something(one: str, two: str) -> None:
    assert key(one) != key(two)
