from __future__ import annotations

import pytest

from patchkit.errors import UnsafePathError
from patchkit.trees.interface import WritableTree
from patchkit.trees.memory import MemoryTree


def test_a_tree_in_memory_reads_lists_and_writes() -> None:
    tree: WritableTree = MemoryTree(
        {"m/b.py": b"b", "m/a.py": b"a", "m-x": b"x"}, label="made up", manifest_path="m.json"
    )
    tree.write({"m/a.py": b"A", "m/b.py": None, "m/c.py": b"c", "gone.py": None}, operation="apply")

    assert (tree.label, tree.manifest_path) == ("made up", "m.json")
    assert {path: tree.read(path) for path in tree.paths()} == {"m-x": b"x", "m/a.py": b"A", "m/c.py": b"c"}
    assert list(tree.paths("m")) == ["m/a.py", "m/c.py"]
    assert tree.read("m/b.py") is None
    assert (tree.interrupted(), tree.undo_interrupted()) == (None, None)


def test_an_unsafe_path_is_refused_before_anything_is_written() -> None:
    tree = MemoryTree({"a": b"a"})

    with pytest.raises(UnsafePathError):
        tree.write({"a": b"b", "../c": b"c"}, operation="apply")
    with pytest.raises(UnsafePathError):
        tree.read("/a")
    with pytest.raises(UnsafePathError):
        MemoryTree({"/a": b"a"})
    assert tree.files == {"a": b"a"}


def test_the_tree_does_not_share_the_dict_it_was_made_from() -> None:
    files = {"a": b"a"}
    MemoryTree(files).write({"a": b"b"}, operation="apply")

    assert files == {"a": b"a"}
