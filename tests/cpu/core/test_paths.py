from __future__ import annotations

import pytest

from patchkit.core.paths import glob_root, is_glob, matches

FILES = ("a.py", "m/a.py", "m/b.pyi", "m/n/a.py", "m/n/o/c.py", "mm/a.py", "m/[a].py", "m/n/.hidden")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("m/a.py", ["m/a.py"]),
        ("m/*.py", ["m/a.py", "m/[a].py"]),
        ("m/**/*.py", ["m/a.py", "m/n/a.py", "m/n/o/c.py", "m/[a].py"]),
        ("**/a.py", ["a.py", "m/a.py", "m/n/a.py", "mm/a.py"]),
        ("m/**", ["m/a.py", "m/b.pyi", "m/n/a.py", "m/n/o/c.py", "m/[a].py", "m/n/.hidden"]),
        ("**", list(FILES)),
        ("m?/a.py", ["mm/a.py"]),
        ("m/?.py*", ["m/a.py", "m/b.pyi"]),
        ("m/[a].py", ["m/[a].py"]),
        ("m/*/c.py", []),
        ("m", []),
        ("a.p.", []),
    ],
)
def test_a_pattern_matches_whole_paths(pattern: str, found: list[str]) -> None:
    assert found == [path for path in FILES if matches(pattern, path)]


@pytest.mark.parametrize(
    ("pattern", "wild", "root"),
    [
        ("m/a.py", False, "m/a.py"),
        ("m/[a].py", False, "m/[a].py"),
        ("m/*.py", True, "m"),
        ("m/n/**/a?.py", True, "m/n"),
        ("**/a.py", True, ""),
        ("a?.py", True, ""),
    ],
)
def test_a_wildcard_ends_the_folder_that_must_be_listed(pattern: str, wild: bool, root: str) -> None:
    assert (wild, root) == (is_glob(pattern), glob_root(pattern))
