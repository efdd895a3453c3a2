from __future__ import annotations

import pytest

from patchkit.core.merging.indentation import indented


@pytest.mark.parametrize(
    ("text", "deeper"),
    [
        ("a = 1", "  a = 1"),
        ("f(\n    a,\n\n)", "  f(\n      a,\n\n  )"),
        ("a = b + \\\n    c", "  a = b + \\\n      c"),
        ('f("""\n  a\n""", b,\n  c)', '  f("""\n  a\n""", b,\n    c)'),
        ("f(rb'''\n  a\n''')", "  f(rb'''\n  a\n''')"),
        ("a = 'b\\\n  c'", "  a = 'b\\\n  c'"),
        ("a = 'b\\\r\n  c', \\\r\n  d", "  a = 'b\\\r\n  c', \\\r\n    d"),
        ('f(  # it\'s """\n  a, """\nb\n""")', '  f(  # it\'s """\n    a, """\nb\n""")'),
        ("f('\\'',\n  '''\na''',\n  b)", "  f('\\'',\n    '''\na''',\n    b)"),
    ],
    ids=[
        "one line",
        "brackets",
        "backslash",
        "three quotes",
        "prefix",
        "backslash in quotes",
        "backslash in quotes, crlf",
        "quotes in a comment",
        "escaped quote",
    ],
)
def test_lines_are_indented_but_those_that_begin_in_a_string(text: str, deeper: str) -> None:
    assert (indented(text, 2), indented(deeper, -2)) == (deeper, text)
