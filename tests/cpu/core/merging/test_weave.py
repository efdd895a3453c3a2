from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.merging.lexemes import LogicalLine
from patchkit.core.merging.logical import logical_lines
from patchkit.core.merging.weave import weave


def one(text: str) -> LogicalLine:
    """The only logical line of a text."""
    (line,) = logical_lines(text)
    return line


@pytest.mark.parametrize(
    ("base", "changed", "target", "expected"),
    [
        # Words with a common word between.
        ("x = f(a)", "y = f(a)", "x = g(a)", "y = g(a)"),
        ("x = a + b", "x = a - b", "x = a + c", None),
        ("x = a + b", "z = a + b", "x = a + c", "z = a + c"),
        # One word, two wishes.
        ("x = 1", "x = 2", "x = 3", None),
        ("x = 1", "x = 2", "x = 2", "x = 2"),
        # Arguments: one entry a side.
        ("f(a, b)", "f(z, b)", "f(a, c)", "f(z, c)"),
        ("f(a, b)", "f(a)", "f(a, b, c=1)", "f(a, c=1)"),
        ("f(a, b=1)", "f(a, b=2)", "f(a, b=3)", None),
        # A place in a subscript or a tuple means something; in a set of choices it does not.
        ("y = x[a]", "y = x[a, b]", "y = x[a, c]", None),
        ("y: Tuple[int] = z", "y: Tuple[int, str] = z", "y: Tuple[float, int] = z", None),
        ("y = x[a]", "y = x[a, b]", "y = x[a, b]", "y = x[a, b]"),
        ("y = x[a, d]", "y = x[a, b, d]", "y = x[a, c]", "y = x[a, b, c]"),
        ("return (a, z)", "return (a, b, z)", "return (a, c, z)", None),
        ("return (a, z)", "return (b, a, z)", "return (a,)", None),
        ("return f(x[a], 1)", "return f(x[a], 1, k=2)", "return f(x[a, c], 1)", "return f(x[a, c], 1, k=2)"),
        ("s = ('a', 'b')", "s = ('a', 'b', 'c')", "s = ('a', 'b', 'd')", "s = ('a', 'b', 'd', 'c')"),
        ("s = x in (a, b)", "s = x in (a, b, c)", "s = x in (a, b, d)", "s = x in (a, b, d, c)"),
        ("s = [a, b]", "s = [a, b, c]", "s = [a, b, d]", "s = [a, b, d, c]"),
        # Positions have a meaning, keywords have none.
        ("f(a)", "f(a, b)", "f(a, c)", None),
        ("f(a)", "f(a, b=1)", "f(a, c=2)", "f(a, c=2, b=1)"),
        ("f(a)", "f(a, b=1)", "f(a, b=2)", None),
        ("f(a)", "f(a, b=1)", "f(a, c)", "f(a, c, b=1)"),
        ("f(a)", "f(a, b)", "f(a, c=2)", "f(a, b, c=2)"),
        ("f(a)", "f(a, b, d=1)", "f(a, c=2)", None),
        ("def f(a, *x): pass", "def f(a, b=1, *x): pass", "def f(a, c, *x): pass", "def f(a, c, b=1, *x): pass"),
        ("f()", "f(b=1)", "f(c=2)", "f(c=2, b=1)"),
        ("f(a)", "f(a, *k)", "f(a, b=1)", None),
        ("f(**c)", "f(b=1, **c)", "f(**c, d=1)", "f(b=1, **c, d=1)"),
        ("f(a, b=1)", "f(a, c, b=1)", "f(a, b=1, d=2)", "f(a, c, b=1, d=2)"),
        ("f(a, b=1)", "f(a, c, b=1)", "f(a, d=2, b=1)", "f(a, c, d=2, b=1)"),
        ("f(a, b)", "f(a, b, c)", "f(z, a, b)", "f(z, a, b, c)"),
        ("class A(B): pass", "class A(B, C): pass", "class A(B, D): pass", None),
        # Entries in another order.
        ("f(a, b)", "f(b, a)", "f(a, c)", None),
        ("f(a, b)", "f(b, a)", "f(a, b, k=1)", "f(b, a, k=1)"),
        # A list of one with a comma is another thing than a bracketed expression.
        ("y = (1)", "y = (1,)", "y = (2)", None),
        # An entry that both bring stands once, or is refused.
        ("x = U[A, T]", "x = U[A, N, E]", "x = U[A, T, E]", None),
        # Lists that are no brackets: one place.
        ("return a", "return a, b", "return a, c", None),
        ("x = lambda a: b", "x = lambda a, c: b", "x = lambda a, d: b", None),
        # A string is one word.
        ('x = f"{a}"', 'x = f"{b}"', 'x = f"{a} "', None),
        ('assert a, "m"', 'assert b, "m"', 'assert a, "n"', 'assert b, "n"'),
        ("f(a).g(b)", "f(a).h(b)", "f(a).g(b, c=1)", "f(a).h(b, c=1)"),
        ("x: int = 1", "x: int = 2", "x: float = 1", "x: float = 2"),
        # Parameters after a bare star are named by their callers.
        ("def f(*, a): pass", "def f(*, a, b=1): pass", "def f(*, a, c=1): pass", "def f(*, a, c=1, b=1): pass"),
        # Entries of lists that are no calls: the target's first.
        ("x = [a]", "x = [a, b]", "x = [a, c]", "x = [a, c, b]"),
        ("x = {a: 1}", "x = {a: 1, b: 2}", "x = {a: 1, c: 3}", "x = {a: 1, c: 3, b: 2}"),
        ("x = {a: 1}", "x = {a: 1, b: 2}", "x = {a: 1, b: 3}", None),
        ("x = [a]", "x = [a, b]", "x = [a, b, c]", "x = [a, b, c]"),
        # The target's form stays: lines, quotes, indentation.
        ("f(a)", "f(a, b=1)", "f(\n    a\n)", "f(\n    a,\n    b=1\n)"),
        ("f(a)", "f(a, b=1)", "f(\n    a,\n    c=2,\n)", "f(\n    a,\n    c=2,\n    b=1,\n)"),
        ("f('a')", "f('a', b=1)", 'f("a")', 'f("a", b=1)'),
        ("f(a)", "f(a, b=1)", "    f(a)", "    f(a, b=1)"),
        # Parentheses around all of an expression say nothing.
        ("return a or b", "return a or c", "return (\n    a or b\n)", "return a or c"),
        # A list that the one side changes and the other takes out, wherever it stands.
        ("y = f(a) + g(b)", "y = f(a, c=1) + g(b)", "y = q + g(b)", None),
        ("y = f(a) + g(b)", "y = q + g(b)", "y = f(a, c=1) + g(b)", None),
        ("if f(a) and b: pass", "if f(a, c=1) and b: pass", "if b: pass", None),
        ("y = (f([a]) + b)", "y = (f([a, c]) + b)", "y = (f([a]) + b) + d", None),
        ("h(f(a), b)", "h(f(c), b)", "h(q, b)", None),
        # Imported names, with brackets or without.
        ("from a import b", "from a import b, c", "from a import b, d", "from a import b, d, c"),
        ("from a import b", "from a import b, c", "from a import (\n    b,\n)", "from a import (\n    b,\n    c,\n)"),
        # A name that was never in the other module.
        ("from a import b", "from z import b", "from a import b, c", None),
        # An operator of one side would bind the words of the other anew.
        ("loss = a", "loss = scale * a", "loss = a + aux", None),
        ("total = l.mean()", "total = s * l.mean()", "total = l.mean() + aux", None),
        ("return a", "return not a", "return a and b", None),
        ("return a", "return a * 2", "return b - a", None),
        ("x = a + b", "x = a + b * 2", "x = a - b", None),
        ("x = a", "x = lambda: a", "x = a, b", None),
        ("assert a and b", "assert a and b and c", "assert d or a and b", None),
        # Conditions of a row are entries.
        ("if a and b and c:", "if b and c:", "if a and b2 and c:", "if b2 and c:"),
        ("x = a and b", "x = a > 1 and b", "x = a and b < 2", "x = a > 1 and b < 2"),
        ("x = a and b", "x = a and b and c", "x = a and b.d", "x = a and b.d and c"),
        ("x = a and b", "x = a and b and c", "x = a and b and d", "x = a and b and d and c"),
        ("while a or b:", "while b:", "while a or b and c:", "while b and c:"),
        ("x = f(a) and b", "x = f(a)", "x = g(a) and b", "x = g(a)"),
        ("f(x=a and b)", "f(x=b)", "f(x=a and b.c)", "f(x=b.c)"),
        ("x = (\n    a\n    and b\n)", "x = (\n    b\n)", "x = (\n    a\n    and b.c\n)", "x = (\n    b.c\n)"),
        ("x = a and b", "x = b", "x = a and b or c", None),
        ("x = a and b", "x = a", "x = a and b + d", None),
        ("x = a and b", "x = a or b", "x = a and d", None),
        ("x = a and b", "y = b", "x = a and b.c", None),
        ("x = a and b and c", "x = a and c and b", "x = a and b.d and c", "x = a and c and b.d"),
        ("x = a and b", "x = d and a and b", "x = a.c and b and d", None),
        ("x = a and b if c else d", "x = b if c else d", "x = a and b.e if c else d", None),
        ("x = a and b", "x = a and (y := b)", "x = a.c and b", "x = a.c and (y := b)"),
        ("if a and b:  # why", "if b:  # why", "if a and b.c:  # why", None),
        ("x = (\n  a\n  and b  # why\n)", "x = (\n  b  # why\n)", "x = (\n  a\n  and b.c  # why\n)", None),
        ("f(a and b)", "f(d and a and b)", "f(a and b.c)", "f(d and a and b.c)"),
        ("x = a and b", "x = b and c", "x = a and b.d and c", None),
        (
            "x = a and m and b and n and c",
            "x = a and m and d and n and c.x",
            "x = a.y and m and d and n and c",
            "x = a.y and m and d and n and c.x",
        ),
        ("x = a and b", "x = b", "x = a and b.c, d", None),
        # A line whose brackets do not match is not looked into.
        ("f(a", "f(a, b=1", "f(a, c=2", None),
        # Comments, word by word.
        ("# one two three", "# uno two three", "# one two tres", "# uno two tres"),
        ("# one two", "# uno two", "# ein two", None),
    ],
)
def test_what_becomes_of_a_statement(base: str, changed: str, target: str, expected: str | None) -> None:
    assert weave(one(base), one(changed), one(target)) == expected


STATEMENTS = (
    "f(a)",
    "f(a, b=1)",
    "f(\n    a,\n    b=2,\n)",
    "x = f(a, g(b), **c)",
    "x = [a, 'b']",
    "x = {a: 1, **b}",
    "from a import b",
    "from a import b, c as d",
    "from a import (\n    b,\n    c,\n)",
    "def f(a, b=1, *, c): pass",
    "if a and (b or c): pass",
    "return a or b",
    "return (\n    a\n)",
)
_statements = st.sampled_from(STATEMENTS)


def said(text: str) -> list[str]:
    """The words of a statement; brackets around all of an expression and around imported names say nothing."""
    return [word for word in one(text).words if word not in "(),"]


@given(_statements, _statements)
def test_with_one_side_unchanged_the_other_comes_out(old: str, new: str) -> None:
    if old.split(maxsplit=1)[0] == new.split(maxsplit=1)[0]:
        for woven in (weave(one(old), one(old), one(new)), weave(one(old), one(new), one(old))):
            assert woven is None or said(woven) == said(new)


@given(_statements, _statements)
def test_what_both_sides_made_comes_out_once(old: str, new: str) -> None:
    if old.split(maxsplit=1)[0] == new.split(maxsplit=1)[0]:
        woven = weave(one(old), one(new), one(new))
        assert woven is None or said(woven) == said(new)


@given(_statements, _statements, _statements)
def test_what_comes_out_is_python(old: str, ours: str, theirs: str) -> None:
    if old.split(maxsplit=1)[0] == ours.split(maxsplit=1)[0] == theirs.split(maxsplit=1)[0]:
        woven = weave(one(old), one(ours), one(theirs))
        if woven is not None:
            ast.parse(f"def f():\n    {woven}\n")
