from __future__ import annotations

import pytest

from patchkit.core.gating.common_statements import Apart, apart

ONE = b'''\
def step(self, size=1):
    """Make a step."""
    first = torch.zeros(
        size,
    )
    for each in first:
        each.run()
    else:
        done()
    second = 1

    # behind
    return first, second
'''


def test_what_both_bodies_begin_and_end_with_is_cut_out_of_both() -> None:
    two = ONE.replace(b"second = 1", b"second = 2")

    assert apart(ONE, two) == Apart(
        b"def step(self, size=1):\n    pass\n    second = 1\n\n    # behind\n",
        b"def step(self, size=1):\n    pass\n    second = 2\n\n    # behind\n",
        ONE[ONE.index(b'    """') : ONE.index(b"    second")] + b"    return first, second\n",
    )


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        # A statement of several lines is left whole, with every clause of it.
        (b"        size,\n", b"        2,\n", (b"    first = torch.zeros(\n        2,\n    )\n")),
        (b"done()", b"finish()", b"    for each in first:\n        each.run()\n    else:\n        finish()\n"),
        (
            b"    else:\n",
            b"    if first:\n",
            b"    for each in first:\n        each.run()\n    if first:\n        done()\n",
        ),
        # What was put in stands alone between two statements, and beside the one above where blank lines follow.
        (b"    for each", b"    size += 1\n    for each", b"    size += 1\n"),
        (b"    second = 1\n", b"    second = 1\n    second += 1\n", b"    second = 1\n    second += 1\n"),
    ],
)
def test_cuts_are_made_between_statements(old: bytes, new: bytes, left: bytes) -> None:
    assert old in ONE

    found = apart(ONE, ONE.replace(old, new)).two

    head = b"def step(self, size=1):\n    pass\n"
    assert found.startswith(head + left)
    assert found[len(head + left) :] in (b"", b"\n    # behind\n")


def test_a_docstring_that_differs_stays_the_first_statement() -> None:
    one, two = b'def f():\n    """One."""\n    return 1\n', b'def f():\n    """Two."""\n    return 1\n'

    assert apart(one, two) == Apart(b'def f():\n    """One."""\n', b'def f():\n    """Two."""\n', b"    return 1\n")


def test_with_another_head_only_the_end_is_cut_off() -> None:
    one, two = b"def f(a):\n    x = 1\n    return 1\n", b"def f(b):\n    x = 2\n    return 1\n"

    assert apart(one, two) == Apart(b"def f(a):\n    x = 1\n", b"def f(b):\n    x = 2\n", b"    return 1\n")


@pytest.mark.parametrize(
    "between",
    [
        # A string goes on behind the cut, or a line does.
        b"    x = '''\n    a\n    b\n    '''\n",
        b"    x = 1 \\\n    + 2\n    a\n    b\n    + 3\n",
    ],
)
def test_nothing_is_cut_where_a_string_or_a_line_goes_on(between: bytes) -> None:
    one = b"def f():\n" + between
    two = one.replace(b"    a\n", b"    c\n")

    found = apart(one, two)

    assert b"'''" not in found.common
    assert not found.common.rstrip().endswith(b"\\")


def test_a_line_that_goes_on_keeps_what_it_goes_on_with() -> None:
    # Without the backslash the last line is a statement of its own.
    one, two = b"def f():\n    x = 1 \\\n    + 2\n", b"def f():\n    x = 1\n    + 2\n"

    assert apart(one, two) == Apart(one, two, b"")


def test_a_function_without_a_body_is_left_alone() -> None:
    assert apart(b"def f(): return 1\n", b"def f(): return 2\n") == Apart(
        b"def f(): return 1\n", b"def f(): return 2\n", b""
    )
