from __future__ import annotations

import pytest

from patchkit.core.gating.chunk_facts import calls_by_name, is_called, is_doubled, is_known, reads, unbound
from patchkit.core.gating.flow import Unassigned
from patchkit.core.gating.layout import layout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"f(1)", True),
        (b"x = f (1)", True),
        (b"return f(1)", True),
        (b"self.f(1)", True),
        (b"cls . f(1)", True),
        (b"(f)\nx = [f(1)]", True),
        # Of other objects nobody knows the heads.
        (b"other.f(1)", False),
        (b"super().f(1)", False),
        (b"itself.f(1)", False),
        (b"def f(x):", False),
        (b"async def  f(x):", False),
        (b"class f(x):", False),
        # Other names, and no call.
        (b"of(1)", False),
        (b"f_(1)", False),
        (b"\xc3\xa9f(1)", False),
        (b"x = f", False),
    ],
)
def test_what_looks_like_a_call_of_f(text: bytes, expected: bool) -> None:
    assert is_called(text, b"f") is expected


TEXT = b"""\
def one(x):
    if x:
        y = 1
    return y


class C:
    def two(self, x):
        if x:
            y = 1
        return y

    def three(self):
        return z; z = 1
"""


@pytest.mark.parametrize(
    ("scope", "name", "certain", "expected"),
    [
        ("one", "y", False, True),
        ("C.two", "y", False, True),
        # Not more than doubtful there, and certain here.
        ("C.two", "y", True, False),
        ("C.one", "y", False, False),
        ("D.two", "y", False, False),
        ("one", "z", False, False),
    ],
)
def test_a_doubtful_read_that_a_side_has_in_the_same_function(
    scope: str, name: str, certain: bool, expected: bool
) -> None:
    assert is_known(Unassigned(scope, name, 1, certain), layout(TEXT)) is expected


def test_of_two_definitions_of_one_name_nobody_knows_which() -> None:
    assert not is_known(Unassigned("one", "y", 1, certain=False), layout(TEXT + b"\n\ndef one():\n    pass\n"))


def test_what_a_chunk_says() -> None:
    text = b"def f(a):\n    self.g(a, x=1)\n    return h(\n        a\n    )\n"

    assert calls_by_name(text) == frozenset({(b"g", b"    self.g(a, x=1)"), (b"h", b"    return h(\n        a\n    )")})
    assert unbound(text) == {"self", "h"}
    assert reads(text) == ()
    assert not is_doubled(text)
    assert is_doubled(text + b"def f(): pass\n")
    # No Python says nothing, and of its calls nobody knows.
    assert (calls_by_name(b"f("), reads(b"f("), unbound(b"f(")) == (None, (), frozenset())
