from __future__ import annotations

import pytest
from hypothesis import given

from patchkit.core.gating.decorators import Misdecorated, _above, misdecorated

from ..programs import changed_programs


def method(*decorators: str, name: str = "f") -> bytes:
    lines = [*(f"@{decorator}" for decorator in decorators), f"def {name}(self):", "    pass"]
    return "".join(f"    {line}\n" for line in lines).encode()


HEAD = b"class C:\n"


@pytest.mark.parametrize(
    ("old", "ours", "theirs", "expected"),
    [
        # Who changed them is right.
        (["a"], ["b"], ["a"], ["b"]),
        (["a"], ["a"], ["b"], ["b"]),
        (["a"], [], ["a"], []),
        ([], ["a"], [], ["a"]),
        # Both did: what either adds, without what either takes out, in whatever order.
        ([], ["a"], ["b"], ["b", "a"]),
        (["a"], ["a", "b"], [], ["b"]),
        (["a", "b"], ["a", "c"], ["a", "b", "d"], ["a", "c", "d"]),
        (["a"], ["b"], ["b"], ["b"]),
    ],
)
def test_what_the_two_sides_make_together(
    old: list[str], ours: list[str], theirs: list[str], expected: list[str]
) -> None:
    base, changed, target = (HEAD + method(*decorators) for decorators in (old, ours, theirs))
    for wrong in (old, ours, theirs, [*expected, "z"], expected[1:]):
        found = misdecorated(base, changed, target, HEAD + method(*wrong))
        line = 2 + len(wrong)

        assert found == (() if sorted(wrong) == sorted(expected) else (Misdecorated("C.f", line),)), wrong


def test_a_decorator_that_stays_behind_when_its_method_moves() -> None:
    one, two = method(name="one"), method(name="two")
    base, changed, target = HEAD + one + two, HEAD + method("a", name="one") + two, HEAD + two + one

    assert misdecorated(base, changed, target, HEAD + two + method("a", name="one")) == ()
    assert misdecorated(base, changed, target, HEAD + method("a", name="two") + one) == (
        Misdecorated("C.two", 3),
        Misdecorated("C.one", 5),
    )


def test_decorators_on_several_lines_with_comments_between() -> None:
    long = b"    @a(\n        1,\n    )\n    # why\n\n    @b\n"
    base, changed, joined, lost = (
        HEAD + decorators + method() for decorators in (b"", long, b"    @a(1,)\n    @b\n", b"    @b\n")
    )

    assert misdecorated(base, changed, base, joined) == ()
    assert misdecorated(base, changed, base, lost) == (Misdecorated("C.f", 3),)


def test_names_that_stand_more_than_once_go_by_order() -> None:
    pair = method("property") + method("f.setter")
    base = HEAD + pair
    changed = HEAD + method("cached", "property") + method("f.setter")

    assert misdecorated(base, changed, base, changed) == ()
    assert misdecorated(base, changed, base, HEAD + method("property") + method("cached", "f.setter")) == (
        Misdecorated("C.f", 3),
        Misdecorated("C.f", 7),
    )
    # Of other numbers it cannot be told which is which.
    assert misdecorated(base, changed, base + method(), base + method()) == ()


@given(changed_programs())
def test_own_base_has_none(pair: tuple[bytes, bytes]) -> None:
    base, changed = pair

    assert misdecorated(base, changed, base, changed) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b"@a\n\n# c\n@b(1,\n  2)\ndef f(): pass\n", {5: (b"@a", b"@b(1,2)")}, id="over several lines"),
        pytest.param(b"x = 1  # @a\ndef f(): pass\n", {}, id="a sign behind something"),
        pytest.param(b"@a\nx = 1\ndef f(): pass\n", {}, id="a statement between"),
        pytest.param(b"    @a\n@b\ndef f(): pass\n", {}, id="further left: neither of them begins there"),
        pytest.param(b"@a\n    @b\ndef f(): pass\n", {2: (b"@a@b",)}, id="further right: it goes on"),
        pytest.param(b"\x0c@a\r\n\x0cclass C:\r\n", {1: (b"@a",)}, id="a form feed"),
        pytest.param(b"@a\ndef f(): pass\n@b\ndef g(): pass\n@c", {1: (b"@a",), 3: (b"@b",)}, id="one after another"),
        pytest.param(
            b"@a\ndef f():\n    pass\n\ndef g():\n    @b\n    def h(): pass\n", {1: (b"@a",), 6: (b"@b",)}, id="parts"
        ),
    ],
)
def test_which_decorators_stand_above_a_header(text: bytes, expected: dict[int, tuple[bytes, ...]]) -> None:
    assert _above(text) == expected
