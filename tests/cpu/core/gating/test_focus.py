from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import typing
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from patchkit.core.gating.focus import (
    INNER,
    Touched,
    blocks,
    focus,
    functions_in,
    holding,
    new_classes,
    new_heads,
    only,
    without,
)
from patchkit.core.gating.parsing import definitions, parse

from ..programs import changed_programs, programs
from ..texts import texts

TARGET = b"""\
import os

def untouched(a, b):
    # comment
    return os.path.join(a,
b)

class Kept:
    def method(self):
        return 1

class Changed:
    field: int = 0

    def same(
        self,
        value=1,
    ) -> int:
        return value

    def other(self):
        return 1
"""

RESULT = TARGET.replace(b"    def other(self):\n        return 1\n", b"    def other(self):\n        return 2\n")


def test_what_both_have_is_a_stub_on_the_line_of_its_name() -> None:
    # "b)" at the left margin ends the block of untouched too early for the expression: the stub leaves the rest over.
    text = TARGET.replace(b"a,\nb)", b"a, b)\n")
    assert focus(text.replace(b"return 1\n", b"return 2\n", 2), blocks(text)).content == (
        b"import os\n\ndef untouched(*_a,**_k):pass\n\n\n\n\n"
        b"class Kept:\n    def method(self):\n        return 2\n\n"
        b"class Changed:\n    field: int = 0\n\n"
        b"    def same(*_a,**_k):pass\n\n\n\n\n\n"
        b"    def other(self):\n        return 2\n"
    )


def test_a_block_that_ends_too_early_does_not_parse_and_nothing_is_lost_by_it() -> None:
    cut = focus(RESULT, blocks(TARGET))

    assert parse(cut.content) is None
    assert cut.content.count(b"\n") == RESULT.count(b"\n")


def test_what_is_kept_shows_its_head() -> None:
    shown = focus(
        RESULT.replace(b"a,\nb)", b"a, b)"), blocks(TARGET.replace(b"a,\nb)", b"a, b)")), frozenset({b"same"})
    )

    assert b"    def same(\n        self,\n        value=1,\n    ) -> int:\n     pass\n" in shown.content
    assert b"def untouched(*_a" in shown.content


def test_a_string_that_goes_on_outside_its_block_keeps_the_block() -> None:
    text = b'def f():\n    a = """\nout\n"""\n    return a\n'

    assert focus(text, blocks(text)).content == text


def test_so_does_a_method_and_a_line_that_goes_on() -> None:
    string = b'class C:\n    x = 1\n    def f(self):\n        a = """\n  out\n"""\n'
    line = b"def f():\n    a = 1 + \\\nb\n"

    assert focus(string, blocks(string.replace(b"1", b"2"))).content == string
    assert focus(line, blocks(line)).content == line


def test_frame_is_what_stands_outside_functions() -> None:
    cut = focus(b"import os\ndef f():\n    a = 1\nclass C:\n    x = 1\n    def g(self):\n        b = 2\n", blocks(b""))

    assert [line for line in cut.frame if line] == [
        b"import os",
        b"def f():",
        b"class C:",
        b"    x = 1",
        b"    def g(self):",
    ]


def test_only_shows_the_definitions_asked_for() -> None:
    assert only(b"def f():\n    return 1\n\nclass C:\n    x = 1\n", frozenset({b"C"})) == (
        b"def f(*_a,**_k):pass\n\n\nclass C:\n    x = 1\n"
    )


def test_new_heads_are_those_that_changed_and_bodies_do_not_count() -> None:
    here = blocks(b"def f(a):\n    return 1\n\ndef g(a):\n    return 1\n")
    there = blocks(b"def f(a, b):\n    return 1\n\ndef g( a ):\n    return 2\n")

    assert new_heads(here, there) == frozenset({b"f"})


def test_new_classes_are_those_that_differ_in_anything() -> None:
    here = blocks(b"class C:\n    x = 1\n\nclass D:\n    x = 1\n\ndef f(): pass\n")

    assert new_classes(here, blocks(b"class C:\n    x = 2\n\nclass D:\n    x = 1\n\n")) == frozenset({b"C"})


def test_without_leaves_out_the_blocks_that_have_a_word() -> None:
    found = blocks(b"def f():\n    g(1)\n\nclass C:\n    def m(self):\n        g(2)\n")

    assert without(found, []) == found
    assert without(found, [b"g(1"]) == blocks(b"class C:\n    def m(self):\n        g(2)\n")


def test_holding_names_the_definitions_at_module_level_around_lines() -> None:
    text = b"a = 1\ndef f():\n    a = 1\n\nclass C:\n    def m(self):\n        b = 2\n"

    assert holding(text, [b"a = 1"]) == frozenset({b"f"})
    assert holding(text, [b"b = 2", b"c"]) == frozenset({b"C"})
    assert holding(text, [b"b = ", b"= 1"]) == frozenset()
    assert holding(text, [b"b = 2", *(b"%d" % number for number in range(20))]) == frozenset({b"C"})


@given(changed_programs())
def test_names_and_lines_of_definitions_outside_functions_stay(pair: tuple[bytes, bytes]) -> None:
    one, two = pair
    cut, whole = parse(focus(two, blocks(one)).content), parse(two)
    assert whole is not None
    assert cut is not None

    assert _outside_functions(cut) == _outside_functions(whole)


def _outside_functions(tree: ast.Module) -> set[tuple[str, int]]:
    """Names and lines of definitions that are not in a function, nor in a class that the cut replaced as a whole."""
    functions = {name for name, node in definitions(tree) if not isinstance(node, ast.ClassDef)}
    return {
        (name, node.lineno)
        for name, node in definitions(tree)
        if "." not in name and not any(name.startswith(f"{function}.") for function in functions)
    }


@pytest.mark.parametrize("module", [argparse, dataclasses, typing])
def test_a_real_module_with_one_changed_line_parses_when_cut_and_keeps_the_changed_function(module: ModuleType) -> None:
    text = inspect.getsource(module).encode()
    tree = ast.parse(text)
    name, node = [(n, d) for n, d in definitions(tree) if isinstance(d, ast.FunctionDef) and "." in n][-1]
    lines = text.split(b"\n")
    last = node.body[-1].lineno - 1
    indent = b" " * node.body[-1].col_offset
    edited = b"\n".join([*lines[:last], indent + b"added = 1", *lines[last:]])

    cut = focus(edited, blocks(text))
    found = parse(cut.content)

    assert found is not None
    assert len(cut.content) < len(text) / 2
    assert ast.dump(dict(definitions(found))[name]) == ast.dump(dict(definitions(ast.parse(edited)))[name])


def test_a_line_is_touched_when_it_has_another_neighbour_than_anywhere_before() -> None:
    before = b"a\nb\nc\nd\ne\n"
    after = b"a\nb\nb\nc\ne\n"

    touched = Touched(after, before)

    assert [touched.within(line, line) for line in range(1, 6)] == [False, True, True, True, True]


@given(changed_programs())
def test_every_line_that_the_other_text_has_not_is_touched(pair: tuple[bytes, bytes]) -> None:
    one, two = pair
    known = set(one.split(b"\n"))
    touched = Touched(two, one)

    for number, line in enumerate(two.split(b"\n"), start=1):
        assert line in known or touched.within(number, number)


@given(changed_programs())
def test_nothing_of_an_equal_text_is_touched(pair: tuple[bytes, bytes]) -> None:
    touched = Touched(pair[0], pair[0])

    assert not touched.within(1, pair[0].count(b"\n") + 1)


_line = st.sampled_from(
    [
        "def f(a):",
        "async  def g(",
        "def",
        "x = 1  # def f(",
        "xdef def h",
        "# c",
        ")",
        "]: def i",
        "",
        "\f",
        "\r",
        "\tdef j()",
    ]
)


@given(
    st.one_of(
        texts(),
        programs(),
        st.lists(st.tuples(st.integers(0, 5), _line)).map(
            lambda lines: "".join(" " * indent + line + "\n" for indent, line in lines).encode()
        ),
    )
)
@example(b" " * 70 + b"def f():\n" + b" " * 71 + b"pass\n" + b" " * 70 + b")\n" + b" " * 69 + b")\n")
@example(b"    def f(\n    ):\n        x\n\n# c\n  # c\n    def g():\n        y\n  )\n")
@example(b"  def f():\n    x\n  \x0c\n  def g(): pass")
@example(b"  def f():\n    x\n \r\n    x\n")
@example(b"  def f():\n    x\n\t# c\n \t  x\n")
def test_functions_are_those_that_the_pattern_finds(text: bytes) -> None:
    expected = [(found.span(), found.groupdict()) for found in INNER.finditer(text)]

    assert [(found.span(), found.groupdict()) for found in functions_in(text)] == expected


def test_a_line_full_of_keywords_is_gone_through_once() -> None:
    # A search back to the beginning of the line from each of them would take hours.
    assert [found[0] for found in functions_in(b"x = '" + b"def " * 500_000 + b"'\ndef f(): pass\n")] == [
        b"def f(): pass\n"
    ]
