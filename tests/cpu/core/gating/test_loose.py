from __future__ import annotations

import ast

import pytest
from hypothesis import given

from patchkit.core.gating.loose import bindable_words, loose_names, module_names
from patchkit.core.gating.names import findings

from ..programs import programs


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"print(a)\n", {"a"}),
        (b"def f():\n    return [a for b in c]\n", {"a", "c"}),
        (b"class C:\n    x = a\n    def f(self):\n        return x\n", {"a", "x"}),
        (b"import a.b\nfrom c import d as e\ndef f(): return a, e\n", set()),
        (b"def f():\n    global a\n    a = 1\ndef g(): return a\n", set()),
        (b"def f():\n    global a\n    return a\n", set()),  # a global statement may bind it elsewhere
        (b"def f():\n    def g():\n        return a\n    a = 1\n", set()),
        (b"def f():\n    a = 1\ndef g():\n    return a\n", {"a"}),
        (b"[a for a in []]\nprint(a)\n", {"a"}),
        (b"[(b := a) for a in []]\nprint(b)\n", set()),
        (b"def f(x: a = b, *y: c, z=d) -> e: return x, y, z\n", {"a", "b", "c", "d", "e"}),
        (b"@a\nclass C(b, k=c): pass\n", {"a", "b", "c"}),
        (b"class C:\n    def f(self): return __class__\n", set()),
        (b"try:\n    pass\nexcept E as a:\n    print(a)\n", {"E"}),
        (b"match c:\n    case {'k': v, **r}: print(v, r)\n    case [*s] as t: print(s, t)\n", {"c"}),
        (b"for a in b: pass\n", {"b"}),
        (b"lambda: a\n", {"a"}),
        (b"from m import *\nprint(a)\n", set()),
        (b"print(len, __file__)\n", set()),
    ],
)
def test_loose_names(source: bytes, expected: set[str]) -> None:
    assert loose_names(ast.parse(source)) == expected


@given(programs())
def test_whatever_pyflakes_finds_unbound_in_functions_is_loose_or_read_before_it_is_bound(content: bytes) -> None:
    tree = ast.parse(content)
    loose = loose_names(tree)
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    # A parameter that is deleted is read before it is bound.
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}

    assert {f.name for f in findings(tree) if f.bound_nowhere and f.name not in bound | {"error"}} <= loose


def test_module_names() -> None:
    source = (
        "import a.b\nif x:\n    c = 1\nfor d in x: pass\ndef f():\n    global g\n    g = h = 1\nclass C:\n    i = 1\n"
    )

    assert module_names(ast.parse(source)) == {"a", "c", "d", "f", "g", "C"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"import os.path as p  # why", [b"os", b"path", b"p"]),
        (b"    from .a.b import c, d as e", [b"c", b"d", b"e"]),
        (b"from a import (", []),
        (b"from_a = b if c else None", [b"from_a", b"b", b"c"]),
        (b"    async def f(self, a):", [b"f"]),
        (b"class C(B):", [b"C"]),
        (b"    x: int = y", [b"x", b"int", b"y"]),
    ],
)
def test_a_head_binds_its_name_and_no_parameter(line: bytes, expected: list[bytes]) -> None:
    assert bindable_words(line) == expected
