from __future__ import annotations

import pytest

from patchkit.core.lines import split_lines
from patchkit.core.merging.strings import Strings


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (b"a = 1\nb = 2\n", []),
        (b'a = """\nimport os\n"""\nb = 2\n', [1, 2]),
        (b"a = '''\nimport os\n'''\nb = 2\n", [1, 2]),
        (b'# it says """\nimport os\n', []),
        (b'a = \'"""\'\nimport os\n', []),
        (b"a = 'b\\\nimport os'\nc = 1 + \\\n2\nd = 3\n", [1, 3]),
        (b'a = """\nimport os\n', [1]),
    ],
    ids=["none", "double", "single", "in a comment", "in a string", "backslash", "open to the end"],
)
def test_lines_that_begin_in_a_string_or_go_on_with_the_line_before(text: bytes, rows: list[int]) -> None:
    lines = split_lines(text)
    strings = Strings(lines)

    assert rows == [row for row in range(len(lines)) if strings.hold(row)]
