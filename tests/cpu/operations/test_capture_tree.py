from __future__ import annotations

from pathlib import Path

import pytest
from trees.repositories import git, record
from trees.snapshots import lay

from patchkit.errors import UsageError
from patchkit.operations.capture_tree import Changed, Compared, compare
from patchkit.trees.git import GitTree
from patchkit.trees.interface import SourceTree
from patchkit.trees.memory import MemoryTree

UPSTREAM = {"m/a.py": b"a\n", "m/b.py": b"b\n", "m/sub/c.py": b"c\n", "other/d.py": b"d\n"}


def compared(files: dict[str, bytes], expected: dict[str, bytes | None] | None = None, *more: SourceTree) -> Compared:
    return compare(MemoryTree(files, "tree"), [MemoryTree(UPSTREAM), *more], expected or {}, "m")


def test_every_file_below_the_package_is_compared_and_none_elsewhere() -> None:
    assert compared({**UPSTREAM, "m/b.py": b"B\n", "other/d.py": b"D\n"}) == Compared(
        (Changed("m/b.py", b"b\n", b"B\n"),), ()
    )


def test_what_the_series_touches_is_compared_with_what_it_leaves_wherever_it_is() -> None:
    files = {**UPSTREAM, "m/a.py": b"A\n", "other/d.py": b"x\n"}
    expected: dict[str, bytes | None] = {"m/a.py": b"A\n", "m/new.py": b"n\n", "m/b.py": None, "other/d.py": b"D\n"}

    assert compared(files, expected).files == (
        Changed("m/b.py", None, b"b\n"),
        Changed("m/new.py", b"n\n", None),
        Changed("other/d.py", b"D\n", b"x\n"),
    )


def test_new_and_missing_python_files_are_changes() -> None:
    files = {"m/a.py": b"a\n", "m/sub/c.py": b"c\n", "m/new.py": b"n\n"}

    assert compared(files).files == (Changed("m/b.py", b"b\n", None), Changed("m/new.py", None, b"n\n"))


def test_folders_of_one_side_alone_are_named_and_left_out() -> None:
    files = {"m/a.py": b"a\n", "m/b.py": b"b\n", "m/own/x.py": b"x\n"}

    assert compared(files) == Compared(
        (), ("not upstream's, and not compared: m/own/", "not in tree, and not compared: m/sub/")
    )


def test_files_of_one_side_alone_that_are_no_python_are_named_and_left_out() -> None:
    upstream = MemoryTree({**UPSTREAM, "m/lib.so": b"1"})
    tree = MemoryTree({**UPSTREAM, "m/a.py.rej": b"x"}, "tree")

    assert compare(tree, [upstream], {}, "m") == Compared(
        (),
        (
            "new, and left out since they are no Python: m/a.py.rej",
            "not in tree, and not compared: m/lib.so",
        ),
    )


def test_a_file_that_is_as_any_source_has_it_is_unchanged() -> None:
    stamped = MemoryTree({**UPSTREAM, "m/a.py": b"a of the wheel\n", "m/more.py": b"m\n"})

    assert compared({**UPSTREAM, "m/a.py": b"a of the wheel\n", "m/more.py": b"m\n"}, None, stamped).files == ()
    assert (
        compared({**UPSTREAM, "m/a.py": b"edited\n"}, None, stamped).files
        == (
            Changed("m/a.py", b"a\n", b"edited\n"),
            Changed("m/more.py", b"m\n", None),
        )[:1]
    )


def test_a_repository_is_compared_by_blob_ids(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    lay(tmp_path, UPSTREAM)
    record(tmp_path, "all")

    class Unread(GitTree):
        def read(self, path: str) -> bytes | None:
            assert path == "m/b.py"
            return super().read(path)

    assert compare(MemoryTree({**UPSTREAM, "m/b.py": b"B\n"}), [Unread(tmp_path, "main")], {}, "m").files == (
        Changed("m/b.py", b"b\n", b"B\n"),
    )


@pytest.mark.parametrize("count", [5, 7])
def test_long_lists_are_cut(count: int) -> None:
    files = {**UPSTREAM, **{f"m/{number}.txt": b"" for number in range(count)}}
    more = " and 2 more" if count == 7 else ""

    assert compared(files).notes == (
        f"new, and left out since they are no Python: m/0.txt, m/1.txt, m/2.txt, m/3.txt, m/4.txt{more}",
    )


def test_a_file_with_a_marked_conflict_is_refused_unless_upstream_has_such_lines() -> None:
    marked = b"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n"
    with pytest.raises(UsageError, match=r"^m/a\.py:2: a conflict is marked here$"):
        compared({"m/a.py": marked}, {"m/a.py": b"a\nb\n"})

    assert compared({**UPSTREAM, "m/a.py": b"a\n=======\n"}, {"m/a.py": b"=======\n"}).files == (
        Changed("m/a.py", b"=======\n", b"a\n=======\n"),
    )
