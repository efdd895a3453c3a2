from __future__ import annotations

import ast
import itertools
import sys
import textwrap
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.gating.flow import Unassigned, unassigned


def reads(body: str, head: str = "def f(c, xs):") -> list[tuple[str, int, bool]]:
    """Doubtful reads in a function with this body: name, line of the body, certain."""
    tree = ast.parse(f"{head}\n" + textwrap.indent(textwrap.dedent(body), "    "))
    return sorted((read.name, read.line - 1, read.certain) for read in unassigned(tree) if read.scope == "f")


# What fails for certain: no assignment can have come by.
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("print(a)\na = 1", [("a", 1, True)]),
        ("a = a and c", [("a", 1, True)]),  # the flag hunk was placed, its parameter was not
        ("a += 1", [("a", 1, True)]),
        ("a: int\nprint(a)\na = 1", [("a", 2, True)]),
        ("a = 1\ndel a\nprint(a)", [("a", 3, True)]),
        ("if c:\n    print(a)\n    a = 1\nelse:\n    a = 2", [("a", 2, True)]),
        ("try:\n    pass\nexcept E as e:\n    pass\nelse:\n    print(e)", [("e", 6, True)]),
        ("print([a for x in xs])\na = 1", [("a", 1, True)]),
        ("def g(x=a): pass\na = 1", [("a", 1, True)]),
        ("@a\ndef g(): pass\na = 1", [("a", 1, True)]),
        ("class C(a): pass\na = 1", [("a", 1, True)]),
        ("return lambda x=a: x\na = 1", [("a", 1, True)]),
        ("print(os)\nimport os.path", [("os", 1, True)]),
    ],
)
def test_certain(body: str, expected: list[tuple[str, int, bool]]) -> None:
    assert reads(body) == expected


# What fails on some path.
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if c:\n    a = 1\nprint(a)", [("a", 3, False)]),
        ("if c:\n    a = 1\nelif xs:\n    b = 1\nelse:\n    a = 2\nprint(a)", [("a", 7, False)]),
        ("try:\n    a = 1\nexcept E:\n    pass\nprint(a)", [("a", 5, False)]),
        ("try:\n    a = 1\nexcept E:\n    print(a)", [("a", 4, False)]),
        ("for x in xs:\n    print(a)\n    a = x", [("a", 2, False)]),
        ("for x in xs:\n    if c:\n        break\n    a = x\nprint(a)", [("a", 5, False)]),
        ("while True:\n    if c:\n        break\n    a = 1\nprint(a)", [("a", 5, False)]),
        ("match c:\n    case 1:\n        a = 1\n    case 2:\n        a = 2\nprint(a)", [("a", 6, False)]),
        ("a = 1\nif c:\n    del a\nprint(a)", [("a", 4, False)]),
        ("if c:\n    a = 1\nelse:\n    print(a)\n    a = 2\nprint(a)", [("a", 4, True)]),
        # A condition around both the assignment and the read excuses nothing.
        ("if c:\n    try:\n        a = 1\n    except E:\n        pass\n    print(a)", [("a", 6, False)]),
    ],
)
def test_possible(body: str, expected: list[tuple[str, int, bool]]) -> None:
    assert reads(body) == expected


# What runs, or what nobody can tell from the text.
@pytest.mark.parametrize(
    "body",
    [
        "print(c, xs, undefined)",
        "if c:\n    a = 1\nelse:\n    a = 2\nprint(a)",
        "if c:\n    a = 1\nelse:\n    return\nprint(a)",
        "if c:\n    a = 1\nelse:\n    raise E\nprint(a)",
        "if c:\n    a = 1\nelse:\n    sys.exit(1)\nprint(a)",
        "if c:\n    a = 1\nelse:\n    assert False\nprint(a)",
        "for x in xs:\n    a = x\nprint(a, x)",  # loops are taken to run
        "while c:\n    a = 1\nprint(a)",
        "while True:\n    a = 1\n    if c:\n        break\nprint(a)",
        "for x in xs:\n    if x:\n        a = 1\n        break\nelse:\n    a = 2\nprint(a)",
        "for x in xs:\n    if not x:\n        continue\n    print(x)",
        "with c as a:\n    b = 1\nprint(a, b)",
        "try:\n    a = 1\nexcept E:\n    a = 2\nprint(a)",
        "try:\n    a = 1\nexcept E:\n    raise\nprint(a)",
        "try:\n    a = 1\nfinally:\n    print(a)",  # a finally clause usually asks first
        "try:\n    pass\nexcept E as e:\n    print(e)",
        "match c:\n    case 1:\n        a = 1\n    case _:\n        a = 2\nprint(a)",
        "match c:\n    case [a, *b]:\n        print(a, b)\n    case {'k': v, **rest}:\n        print(v, rest)",
        "match c:\n    case int() as a if a > 1:\n        print(a)",
        "if (a := c):\n    print(a)",
        "print([a for a in xs])",
        "print([(b := x) for x in xs], b)",
        "print(any((b := x) for x in xs))",
        "g = lambda: a\na = 1\ng()",
        "def g():\n    return a\na = 1\ng()",
        "def g():\n    nonlocal a\n    a = 1\ng()\nprint(a)\na = 2",
        "global a\nprint(a)\na = 1",
        "y = (a for x in xs)\na = 1\nprint(y)",  # a generator runs later
        "class C:\n    a = 1\n    print(a)\nprint(C)",
        "a, (b, *c2) = xs\nprint(a, b, c2)",
        "a: int = 1\nprint(a)",
        "import os.path as p, sys\nfrom m import n as q\nprint(p, sys, q)",
        "c.a = 1\nprint(c.a)",
        # Under one condition, or the same one as a part of another.
        "if c:\n    a = 1\nif c:\n    print(a)",
        "if c:\n    a = 1\nif c and xs and a:\n    pass",
        "if c and xs:\n    a = 1\nif xs and c:\n    print(a)",
        "if c:\n    pass\nelse:\n    a = 1\nif c:\n    pass\nelse:\n    print(a)",
        "if c:\n    a = 1\nprint(a if c else 0)",
        "if not c:\n    a = 1\nif c:\n    pass\nelse:\n    print(a)",
        "if c:\n    pass\nelse:\n    a = 1\nif not c and xs:\n    print(a)",
    ],
)
def test_no_alarm(body: str) -> None:
    assert reads(body) == []


def test_another_condition_excuses_nothing() -> None:
    assert reads("if c:\n    a = 1\nif xs:\n    print(a)") == [("a", 4, False)]
    assert reads("if c:\n    a = 1\nprint(0 if c else a)") == [("a", 3, False)]


def test_methods_and_inner_functions_are_looked_at_each_for_itself() -> None:
    tree = ast.parse(
        "class C:\n    def f(self):\n        def g():\n            print(a)\n            a = 1\n        return g\n"
    )

    assert unassigned(tree) == (Unassigned("C.f.g", "a", 4, certain=True),)


def test_parameters_of_every_kind_have_values() -> None:
    assert reads("a = a; b = b; d = d; e = e; g = g", head="def f(a, /, b, *d, e, **g):") == []


# The law, against the interpreter: a function without loops, whose conditions are independent of each other, run on
# every path. What fails on a path is found, nothing is found where nothing fails, what is certain is passed on no path.


@st.composite
def _bodies(draw: st.DrawFn, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from("ab"))
        kind = draw(st.integers(0, 6 if depth < 2 else 4))
        if kind < 2:
            lines.append(f"{name} = 1")
        elif kind == 2:
            lines.append(f"use({name})")
        elif kind == 3:
            lines.append(f"del {name}")
        elif kind == 4:
            lines.append("return" if depth else "pass")
        else:
            lines += ["if cond(#):", *(f"    {line}" for line in draw(_bodies(depth + 1)))]
            if draw(st.booleans()):
                lines += ["else:", *(f"    {line}" for line in draw(_bodies(depth + 1)))]
    return lines


@given(_bodies())
def test_the_interpreter_agrees(body: list[str]) -> None:
    counter = itertools.count()
    lines = [line.replace("#", str(next(counter))) if "#" in line else line for line in body]
    source = "def f(cond, use):\n" + "".join(f"    {line}\n" for line in lines) + "    a = b = 0\n"
    found = {read.name: read for read in unassigned(ast.parse(source))}

    passed: set[int] = set()
    namespace: dict[str, Callable[..., None]] = {}
    exec(compile(source, "<f>", "exec"), namespace)  # noqa: S102 - made-up source
    choices = itertools.product([False, True], repeat=next(counter))
    failed = {name for choice in choices if (name := _failure(namespace["f"], choice, passed))}

    assert failed <= set(found)
    assert bool(failed) == bool(found)
    for read in found.values():
        if read.certain:
            assert read.line not in passed


def _failure(function: Callable[..., None], choice: Sequence[bool], passed: set[int]) -> str:
    """Run one path, note the lines of the reads that it passes, and return the name that had no value, if any."""
    try:
        function(choice.__getitem__, lambda _: passed.add(sys._getframe(1).f_lineno))
    except UnboundLocalError as error:
        return str(error).split("'")[1]
    return ""
