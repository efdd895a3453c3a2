from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core.scopes import MODULE, Scope, named, scopes

from .texts import texts

DECORATED = b"""\
import functools

class Buffer:
    @property
    def size(self):
        return 1

    @size.setter
    @functools.cache
    def size(self, value):
        self.value = value

@functools.wraps(
    None
)
class Wrapped:
    pass
"""

NESTED = b"""\
def outer():
    class Inner:
        def method(self):
            def deepest():
                pass
            return deepest
    if True:
        async def late():
            pass
    return late
def outer():
    pass
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"", [Scope(MODULE, 0, 0)]),
        (b"x = 1\n", [Scope(MODULE, 0, 1)]),
        (
            DECORATED,
            [
                Scope(MODULE, 0, 17),
                Scope("Buffer", 2, 10),
                Scope("Buffer.size", 3, 5),
                Scope("Buffer.size", 7, 10),
                Scope("Wrapped", 12, 16),
            ],
        ),
        (
            NESTED,
            [
                Scope(MODULE, 0, 12),
                Scope("outer", 0, 9),
                Scope("outer.Inner", 1, 5),
                Scope("outer.Inner.method", 2, 5),
                Scope("outer.Inner.method.deepest", 3, 4),
                Scope("outer.late", 7, 8),
                Scope("outer", 10, 11),
            ],
        ),
        (
            b"def f():\r\n    a = 1\r\n\x0c\r\ndef g(): pass",
            [Scope(MODULE, 0, 3), Scope("f", 0, 1), Scope("g", 3, 3)],
        ),
        (
            b"def f():\n    a = 1\n\n    # still f\n\n# not f\nb = 2\n",
            [Scope(MODULE, 0, 7), Scope("f", 0, 3)],
        ),
        (b"# caf\xe9 \xff\ndef f():\n    pass\n", [Scope(MODULE, 0, 3), Scope("f", 1, 2)]),
        (b"def f(:\n    a = 1\n", [Scope(MODULE, 0, 2), Scope("f", 0, 1)]),
        (b"type A[T] = list[T]\ndef f[T](a: T): pass\n", [Scope(MODULE, 0, 2), Scope("f", 1, 1)]),
        (b"x = " + b"(" * 5000 + b")" * 5000 + b"\ndef f(): pass\n", [Scope(MODULE, 0, 2), Scope("f", 1, 1)]),
    ],
    ids=[
        "empty",
        "no definition",
        "decorated",
        "nested, and defined twice",
        "crlf, form feed, no newline",
        "comment at the end",
        "no UTF-8",
        "broken",
        "newer Python",
        "deep",
    ],
)
def test_every_definition_is_a_scope_with_its_decorators(source: bytes, expected: list[Scope]) -> None:
    assert tuple(expected) == scopes(source)


def test_a_name_that_is_defined_twice_gives_both_scopes() -> None:
    found = (named(NESTED, "outer"), named(NESTED, "outer.Inner"), named(NESTED, "Inner"))

    assert ((Scope("outer", 0, 9), Scope("outer", 10, 11)), (Scope("outer.Inner", 1, 5),), ()) == found


@pytest.mark.parametrize(
    ("start", "end", "held"),
    [
        (10, 11, True),
        (12, 13, True),
        (10, 13, True),
        (9, 10, False),
        (9, 11, False),
        (12, 14, False),
        (13, 14, False),
        (11, 11, True),
        (10, 10, True),
        (13, 13, True),
        (9, 9, False),
        (14, 14, False),
    ],
    ids=[
        "first line",
        "last line",
        "all lines",
        "line before",
        "from before",
        "to behind",
        "line behind",
        "inserted inside",
        "inserted before the first line",
        "inserted behind the last line",
        "inserted further up",
        "inserted further down",
    ],
)
def test_a_scope_holds_the_changes_of_its_lines_and_at_its_edges(start: int, end: int, held: bool) -> None:
    assert held == Scope("f", 10, 12).holds(start, end)


@st.composite
def sources(draw: st.DrawFn, depth: int = 0) -> list[str]:
    """The lines of a block of Python with definitions in it."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(
            st.sampled_from(["x = 1", 'y = """\n"""', "class C:", "def f(a, b=(1,\n  2)):", "async def g():", "if x:"])
        )
        if not kind.endswith(":") or depth == 3:
            lines.append("pass" if kind.endswith(":") else kind)
            continue
        lines += draw(st.lists(st.sampled_from(["@a", "@b(\n 1,\n)"]), max_size=2)) if kind != "if x:" else []
        lines.append(kind)
        lines += [f"    {line}" for line in draw(sources(depth + 1))]
        lines += draw(st.sampled_from([[], [""]]))
    return lines


def told_by_ast(node: ast.AST, prefix: str) -> list[Scope]:
    """The scopes below a node, as Python's own parser has them."""
    found: list[Scope] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min(part.lineno for part in (child, *child.decorator_list))
            found.append(Scope(prefix + child.name, first - 1, (child.end_lineno or 0) - 1))
            found += told_by_ast(child, f"{prefix}{child.name}.")
        else:
            found += told_by_ast(child, prefix)
    return found


@settings(deadline=None)
@given(sources())
def test_scopes_are_those_that_python_sees(lines: list[str]) -> None:
    source = "".join(f"{line}\n" for line in lines)

    expected = (Scope(MODULE, 0, source.count("\n")), *told_by_ast(ast.parse(source), ""))
    assert expected == scopes(source.encode())


@settings(deadline=None)
@given(st.one_of(texts(), st.binary()))
def test_any_bytes_have_the_module_as_their_first_scope(content: bytes) -> None:
    assert scopes(content)[0] == Scope(MODULE, 0, content.count(b"\n"))


@pytest.mark.parametrize(
    "content", [b"def f():\n    x = '\0'\n", b"def f():\n    pass\n" + b"a = 1\n" * (2 << 20)], ids=["nul", "large"]
)
def test_what_is_no_source_or_far_too_large_has_the_module_alone(content: bytes) -> None:
    assert scopes(content) == (Scope(MODULE, 0, content.count(b"\n")),)
