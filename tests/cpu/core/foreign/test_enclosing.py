from __future__ import annotations

import pytest
from hypothesis import given

from patchkit.core.difference import difference
from patchkit.core.foreign.enclosing import enclosing_scopes
from patchkit.core.model import FilePatch, Hunk
from patchkit.core.placement import FilePlaced, place_file
from patchkit.core.scopes import MODULE

from ..texts import edited

SOURCE = b"""\
import os


class A:
    size = 1

    def one(self):
        x = 1
        return x

    @property
    def two(self):
        def inner():
            return 2

        return inner


def free():
    return 3
"""


def scope(old: bytes, new: bytes, path: str = "m.py") -> list[str]:
    after = SOURCE.replace(old, new)
    assert after != SOURCE
    patch = difference(SOURCE, after, path)
    assert patch is not None
    return enclosing_scopes(path, SOURCE, after, patch.hunks)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"        x = 1\n", b"        x = 2\n", "A.one"),
        (b"        x = 1\n", b"        x = 1\n        y = 2\n", "A.one"),
        (b"            return 2\n", b"            return 4\n", "A.two.inner"),
        (b"    size = 1\n", b"    size = 1\n    more = 2\n", "A"),
        (b"import os\n", b"import os\nimport sys\n", MODULE),
        # A method behind another one touches the end of that one, and is in the class all the same.
        (b"        return x\n", b"        return x\n\n    def new(self):\n        return 5\n", "A"),
        (b"        return x\n", b"        return x\n        # At the end.\n", "A.one"),
        (b"    return 3\n", b"    return 3\n\n\ndef last():\n    return 4\n", MODULE),
        (b"    return 3\n", b"    y = 3\n    return y\n", "free"),
        # The signature and the decorator are the function's own.
        (b"def free():\n", b"def free(x=1):\n", "free"),
        (b"    @property\n", b"    @cached\n", "A.two"),
        # A name that is there on one side only is no scope of the change.
        (b"    def one(self):\n", b"    def uno(self):\n", "A"),
        # Two functions of one class.
        (b"        return x\n\n    @property\n", b"        return x or 1\n\n    @cached\n", "A"),
    ],
)
def test_the_scope_is_the_innermost_around_all_changed_lines_on_both_sides(
    old: bytes, new: bytes, expected: str
) -> None:
    assert scope(old, new) == [expected]


def test_text_that_is_no_python_has_the_module_alone() -> None:
    assert scope(b"        x = 1\n", b"        x = 2\n", "m.md") == [MODULE]


def test_a_file_that_is_made_or_removed_has_the_module_alone() -> None:
    patch = difference(None, SOURCE, "m.py")
    assert patch is not None

    assert enclosing_scopes("m.py", None, SOURCE, patch.hunks) == [MODULE]


@given(edited())
def test_every_hunk_is_placed_in_the_scope_that_it_is_given(pair: tuple[bytes, bytes]) -> None:
    old, new = (SOURCE.replace(b"        x = 1\n", text) for text in pair)
    patch = difference(old, new, "m.py")
    if patch is None:
        return
    hunks = tuple(Hunk(str(at), one.old_start, one.new_start, one.lines) for at, one in enumerate(patch.hunks))
    scopes = enclosing_scopes("m.py", old, new, hunks)
    placed = place_file(
        FilePatch("m.py", "m.py", hunks), old, {one.id: name for one, name in zip(hunks, scopes, strict=True)}
    )

    assert isinstance(placed, FilePlaced)
    assert placed.content == new
