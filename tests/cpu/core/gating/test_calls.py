from __future__ import annotations

import ast

import pytest

from patchkit.core.gating.calls import Misfit, called_names, misfits
from patchkit.core.gating.focus import Touched


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a): pass\nf(1, b=2)\n", Misfit("<module>", "f", "takes no b", 2, 2)),
        ("def f(a): pass\nf(1, 2)\n", Misfit("<module>", "f", "too many arguments", 2, 2)),
        ("def f(a, b): pass\ndef g():\n    f(\n        1\n    )\n", Misfit("g", "f", "lacks b", 3, 5)),
        ("def f(*, a, b=1): pass\nf(b=1)\n", Misfit("<module>", "f", "lacks a", 2, 2)),
        ("def f(a, /): pass\nf(a=1)\n", Misfit("<module>", "f", "takes no a", 2, 2)),
        (
            "class C:\n    def f(self, a): pass\n    def g(self):\n        self.f(1, b=1)\n",
            Misfit("C.g", "C.f", "takes no b", 4, 4),
        ),
        ("class C:\n    def __init__(self, a): pass\nC()\n", Misfit("<module>", "C", "lacks a", 3, 3)),
        (
            "class C:\n    @staticmethod\n    def f(a): pass\n    @classmethod\n    def g(cls):\n        cls.f(1, 2)\n",
            Misfit("C.g", "C.f", "too many arguments", 6, 6),
        ),
    ],
)
def test_calls_that_would_raise(source: str, expected: Misfit) -> None:
    assert misfits(ast.parse(source)) == (expected,)


@pytest.mark.parametrize(
    "source",
    [
        "def f(a, b=1, *c, d, **e): pass\nf(1, 2, 3, d=4, x=5)\nf(d=1, a=2)\n",
        "def f(a): pass\nf(*x)\nf(**x)\n",
        "@wrap\ndef f(a): pass\nf()\n",
        "if x:\n    def f(a): pass\nelse:\n    def f(): pass\nf(1)\n",
        "def f(a): pass\nf = wrap(f)\nf()\n",
        "def f(a): pass\ndef g(f):\n    f()\n",
        "def f(a): pass\ndef g():\n    from m import f\n    f()\n",
        "class C(Base):\n    pass\nC(1)\n",
        "class C(metaclass=M):\n    def __init__(self): pass\nC(1)\n",
        "class C:\n    def f(self): pass\nclass D:\n    def g(self):\n        self.f(1)\n",
        "class C:\n    def f(self): pass\n    f = wrap(f)\n    def g(self):\n        self.f(1)\n",
        "class C:\n    @property\n    def f(self): pass\n    def g(self):\n        self.f(1)\n",
        "def g(other):\n    other.f(1)\ndef f(): pass\n",
        "class C:\n    def f(): pass\n    def g(self):\n        self.f(1)\n",  # no parameter for self: who knows
    ],
)
def test_calls_that_fit_or_that_nobody_can_judge(source: str) -> None:
    assert misfits(ast.parse(source)) == ()


def test_only_calls_that_may_be_new_are_looked_at() -> None:
    before = b"def f(): pass\nf(1)\n\nx = 1\ny = 2\n"
    after = b"def f(): pass\nf(1)\n\nx = 1\nf(2)\ny = 2\n"

    assert [misfit.line for misfit in misfits(ast.parse(after), Touched(after, before))] == [5]


def test_names_that_new_calls_call() -> None:
    after = b"f(1)\n\nx = 1\ng(self.h(2), cls.k(), other.m(), a().b())\ny = 2\n"

    assert called_names(ast.parse(after), Touched(after, b"f(1)\n\nx = 1\ny = 2\n")) == {"a", "g", "h", "k"}


def test_every_signature_agrees_with_the_interpreter() -> None:
    heads = ["", "a", "a, b=1", "a, /", "a, /, b", "*a", "*, a", "*, a=1", "a, *, b", "**a", "a, **b", "a, *b, c=1"]
    arguments = ["", "1", "1, 2", "a=1", "1, b=1", "b=1", "a=1, b=1", "1, c=1", "x=1"]
    for head in heads:
        for given in arguments:
            source = f"def f({head}): pass\nf({given})\n"
            try:
                exec(source, {})  # noqa: S102 - made-up source
                fits = True
            except TypeError:
                fits = False
            # Left out of the table: an argument given twice, by position and by name.
            twice = given == "1, b=1" and head == "x"
            assert twice or (misfits(ast.parse(source)) == ()) == fits, source
