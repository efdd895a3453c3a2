from __future__ import annotations

import ast
import gc
import inspect
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.core.gating.parsing import ScopesByLine, children, definitions, parse, parses, syntax_error, table, walk
from patchkit.core.scopes import scopes

from ..programs import programs


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a = 1",
        b"\xef\xbb\xbfa = 1\n",  # a byte order mark
        b"# -*- coding: latin-1 -*-\na = '\xe9'\n",  # PEP 263
        b"if a:\r\n    b = 1\r\n",
        b"\x0cdef f():\n    pass\n",
        b"a = '\\d'\n",  # a doubtful escape warns, and warnings are errors in these tests
    ],
)
def test_what_python_reads_parses(content: bytes) -> None:
    assert isinstance(parse(content), ast.Module)
    assert parses(content)


@pytest.mark.parametrize(
    "content",
    [
        b"print 'Python 2'\n",
        b"<<<<<<< ours\na = 1\n=======\na = 2\n>>>>>>> theirs\n",
        b"a = '\x00'\n",
        b"a = '\xff'\n",  # no UTF-8, and no cookie says what else
        b"# coding: no-such-codec\n",
        b"if a:\n\tb = 1\n        c = 2\n",  # tabs and blanks that do not agree
        b"a = " + b"(" * 5000 + b")" * 5000,
    ],
)
def test_what_python_cannot_read_is_none_and_no_exception(content: bytes) -> None:
    assert parse(content) is None
    assert table(content) is None
    assert not parses(content)


def test_syntax_newer_than_the_release_promises_is_refused() -> None:
    assert parse(b"match a:\n    case 1:\n        pass\n", (3, 10)) is not None
    assert parse(b"match a:\n    case 1:\n        pass\n", (3, 9)) is None


def test_a_python_newer_than_ours_asks_for_nothing_more() -> None:
    assert parse(b"a = 1\n", (3, 99)) is not None


def test_duplicate_parameters_parse_and_do_not_compile() -> None:
    assert parse(b"def f(a, a): pass\n") is not None
    assert not parses(b"def f(a, a): pass\n")


@given(st.binary(max_size=60))
def test_no_bytes_raise(content: bytes) -> None:
    assert not (parses(content) and parse(content) is None)


@pytest.mark.parametrize("module", [ast, inspect, textwrap])
def test_walk_leaves_out_nothing_but_operators_and_contexts(module: object) -> None:
    tree = ast.parse(inspect.getsource(module))  # type: ignore[arg-type] # a parameter of modules

    skipped = ast.operator | ast.unaryop | ast.cmpop | ast.boolop | ast.expr_context
    assert {id(node) for node in walk(tree)} == {id(node) for node in ast.walk(tree) if not isinstance(node, skipped)}


def test_children_of_a_dict_and_of_keyword_parameters_are_no_none() -> None:
    tree = ast.parse("f = lambda *, a, b=1: {**a, b: 1}")

    assert all(isinstance(child, ast.AST) for node in walk(tree) for child in children(node))


@given(programs())
def test_definitions_are_the_scopes_that_tree_sitter_finds(content: bytes) -> None:
    tree = parse(content)
    assert tree is not None

    assert [name for name, _ in definitions(tree)] == [scope.name for scope in scopes(content)[1:]]


def test_each_line_belongs_to_the_innermost_definition_decorators_included() -> None:
    content = b"x = 1\n@wrap\ndef f():\n    def g():\n        pass\n    pass\n\nclass C:\n    y = 1\n"
    tree = parse(content)
    assert tree is not None

    by_line = ScopesByLine(tree, "<module>")

    names = [by_line.at(line) for line in range(1, 11)]
    assert names == ["<module>", "f", "f", "f.g", "f.g", "f", "<module>", "C", "C", "<module>"]


def test_garbage_is_collected_again_when_a_tree_is_there() -> None:
    assert gc.isenabled()
    assert parse(b"x = 1 # a text that nobody asked for") is not None
    assert parse(b"x = # neither this one") is None
    assert gc.isenabled()
    gc.disable()
    try:
        assert parse(b"y = 1 # nor this") is not None
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("content", "is_python"),
    [
        pytest.param("# caf\u00e9\nx = 1\n".encode(), True, id="UTF-8"),
        pytest.param(b"# caf\xe9\nx = 1\n", False, id="not UTF-8, in a comment"),
        pytest.param(b"# -*- coding: latin-1 -*-\n# caf\xe9\nx = 1\n", True, id="another encoding, and it says so"),
        pytest.param(b"# -*- coding: no-such -*-\n# caf\xe9\nx = 1\n", False, id="an encoding that nobody knows"),
    ],
)
def test_a_text_that_its_encoding_does_not_have_is_no_python(content: bytes, *, is_python: bool) -> None:
    assert (parses(content), parse(content) is not None) == (is_python, is_python)
    if not is_python:
        assert syntax_error(content)[0] == 1
