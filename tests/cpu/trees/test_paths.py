from __future__ import annotations

import pytest

from patchkit.errors import UnsafePathError
from patchkit.trees.paths import checked


@pytest.mark.parametrize(
    "path",
    ["a", "megatron/core/x.py", ".patchkit/manifest.json", "a b", "..a/b..", ".gitignore", "é", "1:a", "x\udcff"],
)
def test_a_path_inside_a_tree_is_given_back(path: str) -> None:
    assert checked(path) == path


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/passwd", "it is absolute"),
        ("//a", "it is absolute"),
        ("a\\b", "it has a backslash"),
        ("a\0b", "it has a NUL"),
        ("", "a part of it is empty"),
        ("a//b", "a part of it is empty"),
        ("a/", "a part of it is empty"),
        ("..", "a part of it is '.' or '..'"),
        ("a/../../b", "a part of it is '.' or '..'"),
        ("./a", "a part of it is '.' or '..'"),
        ("C:a", "it begins with a drive letter"),
        (".git/hooks/post-checkout", "it leads into a git repository"),
        ("a/.GIT/config", "it leads into a git repository"),
        ("a/.g\u200cit/config", "it leads into a git repository"),
        (".git./hooks/x", "it leads into a git repository"),
        (".git /hooks/x", "it leads into a git repository"),
        ("GIT~1/hooks/x", "it leads into a git repository"),
        (".git::$INDEX_ALLOCATION/hooks/x", "it leads into a git repository"),
        ("a\ud800", "it is not text that a file name can hold"),
    ],
)
def test_a_path_that_leads_elsewhere_is_refused_with_the_reason(path: str, reason: str) -> None:
    with pytest.raises(UnsafePathError) as caught:
        checked(path)

    assert caught.value.message == f"{path!r} is not a path inside a tree: {reason}"


def test_a_path_that_no_system_takes_is_refused_and_shown_in_part() -> None:
    with pytest.raises(UnsafePathError) as caught:
        checked("a/" * 50_000 + "b")

    shown = "a/" * 40 + "..."
    assert caught.value.message == f"{shown!r} is not a path inside a tree: it has more than 4000 characters"


def test_a_file_in_256_folders_is_in_a_tree_and_one_in_257_is_not() -> None:
    assert checked("a/" * 256 + "b") == "a/" * 256 + "b"
    with pytest.raises(UnsafePathError) as caught:
        checked("a/" * 257 + "b")

    shown = "a/" * 40 + "..."
    assert caught.value.message == f"{shown!r} is not a path inside a tree: it is nested more than 256 folders deep"
