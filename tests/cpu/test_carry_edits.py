"""The edits that benchmarks/carry/fuzz.py makes are what their names say."""

from __future__ import annotations

import difflib
import re
from random import Random

import pytest

from benchmarks.carry import usual_edits
from benchmarks.carry.small_edits import Source, applied

SOURCE = '''__all__ = ["Shape", "assemble"]


@dataclass
class Shape:
    """How large a thing is."""

    width: int = 1


def assemble(width, depth=2):
    """Make a thing
    from its parts here.
    """
    parser.add_argument('--width')
    return Shape(width, depth)


def first():
    return assemble(1)


def last():
    return 2
'''


SHAPE = ["", "@dataclass", "class Shape:", '    """How large a thing is."""', "", "    width: int = 1"]


def changed(maker: str) -> list[list[str]]:
    """The lines that each edit of a maker takes out and puts in, with one name for all fresh ones."""
    edits = getattr(usual_edits, maker)(Source(SOURCE), Random(3))  # noqa: S311 - a choice, no secret
    texts = [re.sub(r"fresh[_-]\d+", "fresh", applied(SOURCE, [edit])) for edit in edits]
    return [
        [line for line in difflib.ndiff(SOURCE.splitlines(), text.splitlines()) if line[0] in "+-"] for text in texts
    ]


@pytest.mark.parametrize(
    ("maker", "first"),
    [
        (
            "add_parameters_with_calls",
            [
                "- def assemble(width, depth=2):",
                "+ def assemble(width, depth=2, fresh=None):",
                "-     return assemble(1)",
                "+     return assemble(1, fresh=fresh_value)",
            ],
        ),
        ("add_fields", ["+     fresh: int = 0"]),
        ("add_options", ['+     parser.add_argument("--fresh", type=int, default=None)']),
        ("add_exports", ['- __all__ = ["Shape", "assemble"]', '+ __all__ = ["Shape", "fresh", "assemble"]']),
        ("decorate", ["+ @fresh"]),
        (
            "rename_definitions",
            [
                '- __all__ = ["Shape", "assemble"]',
                '+ __all__ = ["Shape", "assemble_fresh"]',
                "- def assemble(width, depth=2):",
                "+ def assemble_fresh(width, depth=2):",
                "-     return assemble(1)",
                "+     return assemble_fresh(1)",
            ],
        ),
        ("requote", ['- __all__ = ["Shape", "assemble"]', "+ __all__ = ['Shape', 'assemble']"]),
        ("last_commas", ['- __all__ = ["Shape", "assemble"]', '+ __all__ = ["Shape", "assemble",]']),
        ("edit_docstrings", ['-     """How large a thing is."""', '+     """How fresh a thing is."""']),
        (
            "move_definitions_far",
            ["- ", *(f"- {line}" for line in SHAPE), *(f"+ {line}" for line in SHAPE), "+ ", "+ "],
        ),
    ],
)
def test_an_edit_is_what_its_maker_says(maker: str, first: list[str]) -> None:
    assert changed(maker)[0] == first
