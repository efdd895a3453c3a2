"""What benchmarks/carry/fuzz.py takes for equal: the order of definitions that say nothing of each other is none."""

from __future__ import annotations

import pytest

from benchmarks.carry.meaning import meaning

A = "def a():\n    pass\n"
B = "def b(x=1):\n    return a()\n"


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        (A + B, B + A, True),
        (A + "class C:\n    def f(self):\n        a()\n", "class C:\n    def f(self):\n        a()\n" + A, True),
        ("class C:\n    " + (A + B).replace("\n", "\n    "), "class C:\n    " + (B + A).replace("\n", "\n    "), True),
        # A statement between them may call the one that stands above it.
        (A + "a()\n" + B, B + "a()\n" + A, False),
        # A default, a decorator, a base class and the body of a class are read where they stand.
        (A + "def b(x=a): pass\n", "def b(x=a): pass\n" + A, False),
        (A + "@a\ndef b(): pass\n", "@a\ndef b(): pass\n" + A, False),
        ("class C: pass\nclass D(C): pass\n", "class D(C): pass\nclass C: pass\n", False),
        (A + "class C:\n    x = a()\n", "class C:\n    x = a()\n" + A, False),
        # Of two of one name the second one counts.
        (A + "def a(): return 1\n", "def a(): return 1\n" + A, False),
        # In a function statements run, and the order of definitions is left as it is.
        ("def f():\n    def a(): pass\n    def b(): pass\n", "def f():\n    def b(): pass\n    def a(): pass\n", False),
        (A, A.replace("pass", "return"), False),
    ],
)
def test_what_means_the_same(one: str, two: str, same: bool) -> None:
    assert (meaning(one) == meaning(two)) is same


def test_what_does_not_parse_means_nothing() -> None:
    assert meaning("def f(:\n") is None
