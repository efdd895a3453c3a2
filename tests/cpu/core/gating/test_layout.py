from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from patchkit.core.gating.drift import drifts
from patchkit.core.gating.excerpts import excerpts
from patchkit.core.gating.layout import Sides, layout
from patchkit.core.gating.parsing import definitions, parse

from ..programs import changed_programs, programs
from ..texts import texts

TEXT = b'''\
"""name = 1"""
import os, sys as system
from package import (
    first,  # a comment
    second as other,
)

LIMIT = call(
    keyword=1,
)
low, high = 1, 2
try:
    import extra
    HAVE = True
except ImportError:
    class Extra:
        field = 1
    def stand_in():
        inside = 1


@dataclass
class Buffer(Base):
    size: int = 0

    @property
    def numel(self):
        return self.size

    def copy(
        self, deep=True
    ):
        return Buffer(self.size)


# About what follows.
def build():
    local = 1
    return local
'''


def excerpt(text: bytes, scopes: list[str]) -> bytes:
    return excerpts(text, b"", scopes)[0]


def test_chunks_go_from_one_definition_to_the_next() -> None:
    chunks = layout(TEXT).chunks

    assert [(chunk.name, chunk.is_class) for chunk in chunks] == [(b"", False), (b"Buffer", True), (b"build", False)]
    assert chunks[0].block == b""
    assert chunks[0].rest.endswith(b"@dataclass\n")
    assert chunks[1].rest == b""
    assert chunks[1].block.endswith(b"# About what follows.\n")


def test_the_frame_is_what_stands_outside_functions_and_their_first_lines() -> None:
    chunk = layout(TEXT).chunks[1]

    assert [line for line in chunk.frame if line.strip()] == [
        b"class Buffer(Base):",
        b"    size: int = 0",
        b"    @property",
        b"    def numel(self):",
        b"    def copy(",
    ]


def test_names_that_are_bound_at_module_level() -> None:
    found = layout(TEXT)

    bound = {b"os", b"system", b"first", b"other", b"LIMIT", b"low", b"high", b"extra", b"HAVE", b"Extra", b"stand_in"}
    assert found.chunks[0].bound - {b""} == bound
    assert found.binds(b"build")
    assert not any(map(found.binds, [b"keyword", b"field", b"inside", b"name", b"local", b"second", b"sys"]))


def test_heads_of_functions_and_classes_without_white_space() -> None:
    assert layout(TEXT).chunks[1].heads == (
        (b"numel", b"defnumel(self):"),
        (b"copy", b"defcopy(self,deep=True):"),
        (b"Buffer", b"class Buffer(Base):"),
    )


def test_sides_know_what_has_another_head() -> None:
    sides = Sides(layout(TEXT), layout(TEXT.replace(b"deep=True", b"deep").replace(b"local = 1", b"local = 2")))

    assert sides.new_heads == {b"copy"}
    assert [name for name in (b"copy", b"build", b"Buffer", b"numel") if not sides.same_heads(name)] == [b"copy"]
    assert [chunk.name for chunk in sides.here] == [b"Buffer", b"build"]


def test_an_excerpt_has_a_scope_and_what_is_around_it() -> None:
    head, copy, _ = TEXT[TEXT.index(b"@dataclass") : TEXT.index(b"def build")].partition(b"    def copy")

    assert excerpt(TEXT, ["Buffer.numel"]) == head + copy + b"(*_a,**_k):pass\n"
    assert excerpt(TEXT, ["build"]) == TEXT[TEXT.index(b"def build") :]
    assert excerpt(TEXT, ["stand_in"]) == TEXT[: TEXT.index(b"class Buffer")]
    assert excerpt(TEXT, ["unknown"]) == b""


def test_a_text_whose_strings_go_on_from_chunk_to_chunk_is_taken_whole() -> None:
    text = b"def g():\n    pass\n\n\nx = '''\ndef f():\n    '''\n"

    assert excerpt(text, ["g"]) == text


def test_functions_that_both_texts_have_are_stubs_unless_they_are_decorated() -> None:
    other = TEXT.replace(b"size: int", b"size: float")

    one, two = excerpts(TEXT, other, ["Buffer.numel", "Buffer.copy"])

    assert b"return self.size\n" in one
    assert b"return Buffer(self.size)" not in one
    assert two == one.replace(b"size: int", b"size: float")


def test_a_function_that_another_class_has_word_for_word() -> None:
    # The body that A.f had stands in B now, which does not make A.f what it was.
    f, g = b"    def f(self):\n        return 1\n\n", b"    def f(self):\n        return 2\n\n"
    base = b"class A:\n" + f + b"class B:\n" + g
    target = b"class A:\n" + g + b"class B:\n" + f

    assert [drift.old_signature for drift in drifts(base, target, ["A.f", "B.f"])["A.f"]] == ["def f(self)"]


@given(st.one_of(texts(), programs()))
def test_chunks_make_up_the_text(text: bytes) -> None:
    chunks = layout(text).chunks

    assert b"".join(chunk.text for chunk in chunks) == (text if text.endswith(b"\n") else text + b"\n")
    assert all(chunk.block + chunk.rest == chunk.text for chunk in chunks)


@settings(deadline=None)
@given(changed_programs())
def test_an_excerpt_drifts_as_the_whole_does(pair: tuple[bytes, bytes]) -> None:
    base, target = pair
    tree = parse(base)
    assert tree is not None
    scopes = [name for name, _ in definitions(tree)]
    # Of a name that stands twice, which of the two is compared may depend on what is asked beside it.
    assume(len({*scopes}) == len(scopes))

    together = drifts(base, target, scopes)

    assert together == {scope: drifts(base, target, [scope])[scope] for scope in scopes}
