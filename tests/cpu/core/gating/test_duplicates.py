from __future__ import annotations

import ast

import pytest

from patchkit.core.gating.duplicates import Place, Twice, count_option, doubled, options
from patchkit.core.gating.focus import Touched


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(): pass\ndef f(): pass\n", {Place("definition", "<module>", "f"): Twice(2, 2)}),
        (
            "class C:\n    def f(self): pass\n    x = 1\n    def f(self): pass\n",
            {Place("definition", "C", "f"): Twice(2, 4)},
        ),
        ("import a\nimport a\n", {Place("import", "<module>", "a"): Twice(2, 2, harmless=True)}),
        (
            "from a import (\n    x,\n    y,\n    x,\n)\n",
            {Place("import", "<module>", "x"): Twice(2, 4, harmless=True)},
        ),
        # The second one wins, wherever it comes from.
        ("from a import x\nfrom b import y as x\n", {Place("import", "<module>", "x"): Twice(2, 2)}),
        ("def f():\n    import a\n    import a\n", {Place("import", "f", "a"): Twice(2, 3, harmless=True)}),
        ("class C:\n    x: int = 0\n    y: int\n    x: int = 1\n", {Place("field", "C", "x"): Twice(2, 4)}),
        ("def f(a, *, a=1): pass\n", {Place("parameter", "f", "a"): Twice(2, 1)}),
        ("def f():\n    g(a=1,\n      b=2,\n      a=3)\n", {Place("keyword", "f", "a"): Twice(2, 4)}),
        ("x = {'a': 1, 'b': 2, 'a': 3}\n", {Place("key", "<module>", "'a'"): Twice(2, 1)}),
        ("x = {a: 1, b.c: 2, b.c: 3}\n", {Place("key", "<module>", "b.c"): Twice(2, 1)}),
        (
            "class C(Enum):\n    a = 1\n    b = 1\n",
            {Place("value", "C", "1"): Twice(2, 3)},
        ),
        ("x = {1, 1}\n", {Place("entry", "<module>", "1"): Twice(2, 1)}),
        ("__all__ = ['a', 'b', 'a']\n", {Place("entry", "<module>", "'a'"): Twice(2, 1)}),
        ("__all__ += ('a', 'a')\n", {Place("entry", "<module>", "'a'"): Twice(2, 1)}),
        ("import a\nimport a\nimport a\n", {Place("import", "<module>", "a"): Twice(3, 3, harmless=True)}),
    ],
)
def test_what_stands_twice(source: str, expected: dict[Place, Twice]) -> None:
    assert doubled(ast.parse(source)) == expected


@pytest.mark.parametrize(
    "source",
    [
        "if a:\n    def f(): pass\nelse:\n    def f(): pass\n",
        "try:\n    import a\nexcept ImportError:\n    a = None\nelse:\n    import a\n",
        "@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): ...\n",
        "class C:\n    @property\n    def f(self): pass\n    @f.setter\n    def f(self, v): pass\n",
        "@register(int)\ndef _(a): pass\n@register(str)\ndef _(a): pass\n",
        "@f.register\ndef g(a): pass\n@f.register(int)\ndef g(a): pass\n",
        "import a.b\nimport a.c\n",
        "def f():\n    import a\ndef g():\n    import a\n",
        "f(a=1)\nf(a=1)\n",
        "f(**a, **b)\n",
        "x = {**a, **b, f(): 1, f(): 2}\n",  # what calls give is not known
        "x = ['a', 'a']\n",  # in a list, twice may be meant
        "p.add_argument('name')\np.add_argument('name')\n",
        "a = 1\na = 2\n",
    ],
)
def test_what_may_stand_twice(source: str) -> None:
    assert doubled(ast.parse(source)) == {}


def test_options_that_may_be_new_and_how_often_the_file_has_them() -> None:
    before = b"def f(p):\n    p.add_argument('--x', '-x')\n\n\ndef g(p):\n    pass\n    p.add_argument('y')\n"
    after = before.replace(b"pass", b'p.add_argument(\n        "-y", "--x",\n    )')

    assert options(ast.parse(after), Touched(after, before)) == {"-y": 7, "--x": 7}
    assert [count_option(after, name) for name in ("--x", "-y", "-x", "--", "y")] == [2, 1, 1, 0, 1]


def test_only_what_may_be_new_is_looked_at() -> None:
    before = b"f(a=1, a=2)\n\n\ng(b=1)\n"
    after = b"f(a=1, a=2)\n\n\ng(b=1, b=2)\n"

    assert doubled(ast.parse(after), Touched(after, before)) == {Place("keyword", "<module>", "b"): Twice(2, 4)}
