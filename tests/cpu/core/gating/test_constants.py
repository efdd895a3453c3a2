from __future__ import annotations

import ast

import pytest

from patchkit.core.gating.constants import constants


def found(head: str, *lines: str) -> list[tuple[str, int]]:
    tree = ast.parse("".join(f"{line}\n" for line in (f"class {head}:", *(f"    {line}" for line in lines))))
    node = tree.body[0]
    assert isinstance(node, ast.ClassDef)
    return list(constants(node))


@pytest.mark.parametrize(
    ("head", "lines", "expected"),
    [
        ("Kind(Enum)", ["A = 1", "B = 'b'"], [("1", 2), ("'b'", 3)]),
        ("Kind(enum.IntEnum)", ["A = -1", "B = 2 + 1"], [("-1", 2), ("3", 3)]),
        ("Kind(MyEnum)", ["A = 1"], [("1", 2)]),
        # auto() counts from the highest value above it, in a flag by powers of two.
        ("Kind(Enum)", ["A = auto()", "B = 7", "C = enum.auto()"], [("1", 2), ("7", 3), ("8", 4)]),
        (
            "Bits(Flag)",
            ["A = auto()", "B = 1 << 3", "C = auto()", "D = 1 | 2"],
            [("1", 2), ("8", 3), ("16", 4), ("3", 5)],
        ),
        # That of strings is the name.
        ("Kind(StrEnum)", ["A = auto()", "B = 'b'"], [("'b'", 3)]),
        # What is no member, or no literal.
        ("Kind(Enum)", ["_ignore_ = 1", "A: int = 1", "B = f()", "C = True", "D = 1 << 99999", "E = (1, 2)"], []),
        # Outside of enumerations only strings by names in capitals.
        ("Names", ["KIND = 'k'", "OTHER: str = 'o'", "kind = 'k'", "SIZE = 1"], [("'k'", 2), ("'o'", 3)]),
    ],
)
def test_the_constants_of_a_class(head: str, lines: list[str], expected: list[tuple[str, int]]) -> None:
    assert expected == found(head, *lines)
