from __future__ import annotations

from hypothesis import given, settings

from patchkit.core.merging.definitions import Unit, cut, definitions, flat, is_alike, named
from patchkit.core.merging.logical import logical_lines

from ..programs import programs

SOURCE = """\
import os

# Above, apart.

# Above.
@decorated
def first():
    return 1
# Below.

LIMIT = 3


class Layer:
    '''A layer.

    With a docstring.
    '''

    size = 1

    @property
    def width(self):
        return 1

    @width.setter
    def width(self, value):
        pass

    # Of the method.
    async def run(self):
        def inner():
            pass

        return inner
# Commented out.
        # The end of run.


class Empty: pass
"""


def shape(units: list[Unit]) -> list[object]:
    return [
        (unit.kind, unit.name, [line.text for line in unit.lines], shape(unit.inner))
        if unit.name
        else unit.lines[0].text
        for unit in units
    ]


def test_a_definition_has_its_comments_decorators_and_body_and_the_rest_stands_apart() -> None:
    assert shape(cut(logical_lines(SOURCE), 0)) == [
        "import os",
        ("def", "first", ["# Above.", "@decorated", "def first():", "    return 1"], []),
        "# Below.",
        (
            "class",
            "Layer",
            ["class Layer:", "    '''A layer.", "    With a docstring.", "    '''"],
            [
                "    size = 1",
                (
                    "def",
                    "width",
                    [
                        "    @property",
                        "    def width(self):",
                        "        return 1",
                        "    @width.setter",
                        "    def width(self, value):",
                        "        pass",
                    ],
                    [],
                ),
                (
                    "def",
                    "run",
                    [
                        "    # Of the method.",
                        "    async def run(self):",
                        "        def inner():",
                        "            pass",
                        "        return inner",
                        "# Commented out.",
                        "        # The end of run.",
                    ],
                    [],
                ),
            ],
        ),
        ("class", "Empty", ["class Empty: pass"], []),
    ]


def test_definitions_have_what_is_before_their_name() -> None:
    found = [(parent, unit.name) for parent, unit in definitions(cut(logical_lines(SOURCE), 0))]

    assert found == [("", "first"), ("", "Layer"), ("Layer.", "width"), ("Layer.", "run"), ("", "Empty")]


def test_a_name_that_stands_twice_names_nothing() -> None:
    units = cut(logical_lines("def a():\n    pass\n\ndef b():\n    pass\n\ndef a():\n    pass\n"), 0)

    assert named(units) == {"b": units[1]}


def test_a_header_that_its_comment_is_not_directly_above_has_none() -> None:
    units = cut(logical_lines("# Apart.\n\ndef a():\n    pass\n"), 0)

    assert shape(units) == ["# Apart.", ("def", "a", ["def a():", "    pass"], [])]


def alike(one: str, two: str, *, is_named: bool = False) -> bool:
    (old,), (new,) = (cut(logical_lines(text), 0) for text in (one, two))
    return is_alike(old, new, is_named=is_named)


def test_versions_of_a_definition_have_seven_of_ten_lines_in_common() -> None:
    old = "def f(a, b):\n" + "".join(f"    step{number}(a)\n" for number in range(10))

    assert alike(old, old.replace("f(", "g(").replace("step0", "x").replace("step1", "y").replace("step2", "z"))
    assert not alike(
        old, old.replace("f(", "g(").replace("step0", "x").replace("step1", "y").replace("step2", "z").replace("p3", "")
    )


def test_formatting_is_no_difference_and_another_signature_is() -> None:
    old = "def f(a, b):\n    one(a, 'b')\n    two(b)\n    three(a)\n    four(b)\n"

    assert alike(
        old, 'def g(a, b):\n    one(\n        a,\n        "b",\n    )\n    two(b)\n    three(a)\n    four(b)\n'
    )
    assert not alike(old, old.replace("f(a, b)", "g(*, size, name: str, **rest) -> dict[str, int]"))


def test_a_body_of_three_lines_says_too_little_about_another_name_and_enough_about_the_same() -> None:
    old = "def f(a):\n    b = a\n    c = b\n    return c\n"
    new = old.replace("f(a)", "f(a, *, size, name: str, **rest) -> dict[str, int]")

    assert not alike(old, old.replace("f(", "g("))
    assert alike(old, new, is_named=True)


@settings(deadline=None)
@given(programs())
def test_the_units_are_the_whole_text_in_order(source: bytes) -> None:
    lines = logical_lines(source.decode())

    assert list(flat(cut(lines, 0))) == lines
