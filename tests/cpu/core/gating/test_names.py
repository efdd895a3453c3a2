from __future__ import annotations

import ast

import pytest

from patchkit.core.gating.names import Finding, findings


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("print(a)\n", [Finding("<module>", "a", 1, bound_nowhere=True)]),
        ("class C:\n    def f(self):\n        return os.name\n", [Finding("C.f", "os", 3, bound_nowhere=True)]),
        ("__all__ = ['f']\n", [Finding("<module>", "f", 1, bound_nowhere=True)]),
        ("def f():\n    a()\na()\ndef a(): pass\n", [Finding("<module>", "a", 3, bound_nowhere=True)]),
        ("def f(x: 'Tensor'): pass\n", [Finding("f", "Tensor", 1, bound_nowhere=True)]),
        ("return 1\n", [Finding("<module>", "ReturnOutsideFunction", 1, bound_nowhere=False)]),
        ("def f():\n    break\n", [Finding("f", "BreakOutsideLoop", 2, bound_nowhere=False)]),
        ("from m import *\nprint(a)\n", []),
        ("try:\n    a\nexcept NameError:\n    pass\n", []),
        ("print(__file__, __name__, len)\n", []),
        (
            "if TYPE:\n    from m import a\ndef f(): return a\nTYPE = 1\n",
            [Finding("<module>", "TYPE", 1, bound_nowhere=True)],
        ),
        ("def f():\n    global a\n    a = 1\ndef g():\n    return a\n", []),
    ],
)
def test_findings(source: str, expected: list[Finding]) -> None:
    assert list(findings(ast.parse(source))) == expected


def test_the_environment_adds_no_builtins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYFLAKES_BUILTINS", "a")

    assert [finding.name for finding in findings(ast.parse("print(a)\n"))] == ["a"]
