from __future__ import annotations

import pytest

from patchkit.core.merging.imports import merged_imports
from patchkit.core.merging.lexemes import logical_lines

CASES = [
    ("from a import b, c\n", "from a import b, c, d\n", "from a import c\n", "from a import c, d\n"),
    ("from a import b\n", "from a import b, c\n", "", "from a import c\n"),
    ("import a.b\n", "import a.b\nimport a.c\n", "import a.b as d\n", "import a.b as d\nimport a.c\n"),
    # The same on both sides, and blank lines of the target's.
    ("import a\n", "import b\n", "\nimport b\nimport c\n\n", "\nimport b\nimport c\n\n"),
    # What the patch adds joins the target's paragraph.
    ("import a\n", "import a\n\nfrom d import e\n", "\nfrom b import c\n", "\nfrom b import c\nfrom d import e\n"),
    ("from a import (\n    b,\n)\n", "", "from a import (\n    b,\n    c,\n)\n", "from a import c\n"),
]
LONG = "c" * 90
REFUSED = {
    "another module on both sides": ("from a import b\n", "from c import b\n", "from d import b\n"),
    "taken out and from another module": ("from a import b\n", "", "from d import b\n"),
    "more of the former module": ("from a import b\n", "from a import b, c\n", "from d import b\n"),
    "in the place of one that is gone": ("from a import b\n", "from a import c\n", ""),
    "taken out and under another name": ("from a import b\n", "", "from a import b as c\n"),
    "a comment": ("import a\n", "import a  # for b\nimport c\n", ""),
    "everything of a module": ("from a import *\n", "", "from a import *\nimport b\n"),
    "another statement": ("import a\n", "a = 1\n", ""),
    "two of one name": ("import a\n", "import a\nfrom b import c\nfrom d import c\n", ""),
    "in another block": ("import a\n", "    import b\n", ""),
    "too wide": (
        f"from a import b, {'c' * 90}\n",
        f"from a import {'c' * 90}\n",
        f"from a import b, {'c' * 90}, dddddd\n",
    ),
}


@pytest.mark.parametrize(("base", "changed", "target", "result"), CASES)
def test_imports_are_merged_name_by_name(base: str, changed: str, target: str, result: str) -> None:
    lines = merged_imports(*map(logical_lines, (base, changed, target)))

    assert lines is not None
    assert "".join(lines) == result


@pytest.mark.parametrize("texts", REFUSED.values(), ids=REFUSED)
def test_imports_that_do_not_go_together_are_refused(texts: tuple[str, str, str]) -> None:
    base, changed, target = map(logical_lines, texts)

    assert merged_imports(base, changed, target) is None
    assert merged_imports(base, target, changed) is None
