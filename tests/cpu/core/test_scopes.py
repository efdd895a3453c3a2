from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchkit.core import scopes as scopes_module
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


PIECES = (
    b"import a\n",
    b"def f(x):\n    return x\n",
    b"class C:\n    def m(self):\n        pass\n\n    # the end\n",
    b"@a(\n    b\n)\n@c\nasync def g():\n    yield\n# behind it\n",
    b"if a:\n    def h():\n        pass\n",
    b"else:\n    pass\n",
    b"x = '''\n",
    b"def in_a_string_or_not():\n    pass\n",
    b"y = [\n",
    b"]\n",
    b"z = 1 + \\\n",
    b"@only\n",
    b"class Empty:\n",
    b"def broken(:\n    pass\n",
    b"try:\n    def tried(): return 1\n",
    b"except A:\n    pass\n",
    b"  # indented\n\n\x0c\n",
    b"\xff\r\ndef after(): pass\r\n",
    b"print 'old'\n",
    b"def last(): pass",
    b"w = 1 \\\n",
    b"if b: \\\n",
    b"async \\\n",
)
"""Statements, and what is none, or part of the next one."""


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_a_long_text_that_is_read_in_pieces_has_the_scopes_that_it_has_as_a_whole(content: bytes) -> None:
    assert pieces(content) in (None, whole(content))


@pytest.mark.parametrize(
    ("numbers", "is_read_in_pieces"),
    [
        ((0, 1, 2, 3, 1, 4, 18, 19), True),
        ((1, 14, 15, 2, 8, 9, 16, 1), True),
        ((1, 6, 7, 6, 1), False),
        ((1, 8, 1), False),
        ((1, 10, 1), False),
        ((1, 12, 1), False),
        ((1, 20, 1), False),
        ((1, 20, 3), False),
        ((1, 22, 1), False),
        ((1, 21, 1), False),
        ((1, 13, 1), False),
        ((1, 5, 1), False),
    ],
)
def test_pieces_are_whole_statements_without_an_error(numbers: tuple[int, ...], is_read_in_pieces: bool) -> None:
    content = b"".join(PIECES[number] for number in numbers)

    assert pieces(content) == (whole(content) if is_read_in_pieces else None)


def test_a_text_with_a_very_long_piece_is_read_whole() -> None:
    short, long = (b"def f():\n    x = 1" + b" + 1" * count + b"\n" for count in (32_700, 32_800))

    assert (pieces(short), pieces(long)) == (whole(short), None)


def test_a_long_text_is_read_in_pieces_and_a_short_one_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    monkeypatch.setattr(scopes_module, "_by_pieces", read.append)
    short, long = b"def f():\n    return 'short'\n", b"def f():\n    return 'long'\n" * 1000

    assert [len(scopes(content)) for content in (short, long)] == [2, 1001]
    assert read == [long]


def pieces(content: bytes) -> list[Scope] | None:
    return scopes_module._by_pieces(content)


def whole(content: bytes) -> list[Scope]:
    return scopes_module._definitions(content)
