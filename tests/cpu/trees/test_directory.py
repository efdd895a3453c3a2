from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from patchkit.errors import InterruptedWriteError, NotATreeError, TreeError, UnsafePathError, WriteFailedError
from patchkit.folders import TOO_DEEP
from patchkit.trees import transaction
from patchkit.trees.directory import DirectoryTree, open_directory
from patchkit.trees.installed import InstalledTree
from patchkit.trees.interface import Interrupted, WritableTree

from .faults import killed_at
from .snapshots import contents, lay, nested, snapshot
from .wheels import MEGATRON_CORE

FILES = {
    "megatron/core/b.py": b"b\n",
    "megatron/core/a.py": b"a\n",
    "megatron/core-x.py": b"x\n",
    "setup.py": b"setup\n",
}


def test_a_folder_reads_and_lists_as_a_tree(tmp_path: Path) -> None:
    lay(tmp_path, {**FILES, ".git/config": b"", "megatron/__pycache__/x.pyc": b"", ".patchkit/manifest.json": b"{}"})
    (tmp_path / "megatron" / "link.py").symlink_to("core/a.py")
    (tmp_path / "megatron" / "linked").symlink_to("core")
    os.mkfifo(tmp_path / "megatron" / "pipe")
    tree: WritableTree = DirectoryTree(tmp_path)

    assert tree.label == str(tmp_path)
    assert list(tree.paths()) == sorted(FILES)
    assert list(tree.paths("megatron/core")) == ["megatron/core/a.py", "megatron/core/b.py"]
    assert list(tree.paths("megatron/core/a.py")) == list(tree.paths("no/such")) == []
    assert tree.read("megatron/core/a.py") == b"a\n"
    assert tree.read(tree.manifest_path) == b"{}"
    assert [tree.read(path) for path in ("megatron/core", "no/such", "setup.py/x")] == [None] * 3


@pytest.mark.parametrize("kind", ["a named pipe", "a socket"])
def test_what_is_no_file_and_no_folder_is_told_as_what_it_is(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if kind == "a socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("odd")
    else:
        os.mkfifo("odd")

    with pytest.raises(TreeError) as raised:
        DirectoryTree(tmp_path).read("odd")

    assert raised.value.message == f"cannot read {tmp_path / 'odd'}: it is no regular file but {kind}"


def test_a_folder_is_told_from_what_is_no_folder(tmp_path: Path) -> None:
    tree = DirectoryTree(lay(tmp_path, FILES))
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")

    assert [tree.has_folder(path) for path in ("empty", "megatron/core")] == [True] * 2
    assert [tree.has_folder(path) for path in ("link", "setup.py", "no/such", "setup.py/x")] == [False] * 4


def test_files_that_may_be_executed_are_told(tmp_path: Path) -> None:
    tree = DirectoryTree(lay(tmp_path, FILES))
    (tmp_path / "setup.py").chmod(0o744)
    (tmp_path / "megatron" / "core" / "a.py").chmod(0o611)

    assert (tree.executables(), tree.executables("megatron")) == (frozenset({"setup.py"}), frozenset())


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "link.py", "linked/a.py", "dangling"])
def test_what_leads_elsewhere_is_not_read(tmp_path: Path, path: str) -> None:
    root = lay(tmp_path / "t", FILES)
    (tmp_path / "outside").write_bytes(b"secret\n")
    (root / "link.py").symlink_to("../outside")
    (root / "linked").symlink_to("megatron/core")
    (root / "dangling").symlink_to("nowhere")

    with pytest.raises(UnsafePathError):
        DirectoryTree(root).read(path)


@pytest.mark.parametrize("under", ["..", "/", "linked", "linked/core", "megatron/"])
def test_what_leads_elsewhere_is_not_listed(tmp_path: Path, under: str) -> None:
    root = lay(tmp_path / "t", FILES)
    (root / "linked").symlink_to("megatron")

    with pytest.raises(UnsafePathError):
        DirectoryTree(root).paths(under)


def test_a_file_that_cannot_be_read_is_a_tree_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, FILES)

    def refuse(*_args: object, **_kwargs: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(TreeError) as caught:
        DirectoryTree(tmp_path).read("setup.py")
    monkeypatch.undo()

    assert caught.value.message == f"cannot read {tmp_path}/setup.py: Permission denied"


def test_a_write_and_its_reverse_restore_the_folder(tmp_path: Path) -> None:
    tree = DirectoryTree(lay(tmp_path, FILES))
    before = snapshot(tmp_path)

    tree.write(
        {"setup.py": b"new\n", "megatron/core/b.py": None, "fresh/deep/c.py": b"c\n", tree.manifest_path: b"{}"},
        operation="apply",
    )
    assert contents(tmp_path) == {
        "megatron/core/a.py": b"a\n",
        "megatron/core-x.py": b"x\n",
        "setup.py": b"new\n",
        "fresh/deep/c.py": b"c\n",
        ".patchkit/manifest.json": b"{}",
    }
    tree.write(
        {"setup.py": b"setup\n", "megatron/core/b.py": b"b\n", "fresh/deep/c.py": None, tree.manifest_path: None},
        operation="revert",
    )
    assert snapshot(tmp_path) == before


def test_stale_byte_code_of_changed_modules_goes_and_other_byte_code_stays(tmp_path: Path) -> None:
    compiled = [
        f"megatron/core/__pycache__/{name}.pyc" for name in ("a.cpython-312", "a.cpython-312.opt-1", "ab.x", "b.x")
    ]
    lay(tmp_path, {**FILES, **dict.fromkeys(compiled, b""), "megatron/core/__pycache__/a.notes": b""})
    DirectoryTree(tmp_path).write({"megatron/core/a.py": b"new\n", "megatron/core/c.py": b"c\n"}, operation="apply")

    left = sorted(path.name for path in (tmp_path / "megatron/core/__pycache__").iterdir())
    assert left == ["a.notes", "ab.x.pyc", "b.x.pyc"]


def test_byte_code_is_gone_before_the_first_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Unchecked byte code (PEP 552) outlives its source: a kill between write and clean-up would leave it for good.
    compiled = "megatron/core/__pycache__/a.cpython-312.pyc"
    lay(tmp_path, {**FILES, compiled: b"old"})
    seen: list[bool] = []
    monkeypatch.setattr(
        "patchkit.trees.transaction.write_all", lambda *_args, **_named: seen.append((tmp_path / compiled).exists())
    )
    DirectoryTree(tmp_path).write({"megatron/core/a.py": b"new\n"}, operation="apply")

    assert seen == [False]


def test_python_runs_the_new_source_although_size_and_second_are_the_same(tmp_path: Path) -> None:
    lay(tmp_path, {"m.py": b"print(1)\n"})
    (tmp_path / "m.pyc").unlink(missing_ok=True)
    run = [sys.executable, "-c", "import m"]
    assert subprocess.run(run, cwd=tmp_path, capture_output=True, check=True).stdout == b"1\n"
    stamp = (tmp_path / "m.py").stat()
    DirectoryTree(tmp_path).write({"m.py": b"print(2)\n"}, operation="apply")
    os.utime(tmp_path / "m.py", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    assert subprocess.run(run, cwd=tmp_path, capture_output=True, check=True).stdout == b"2\n"


def test_byte_code_behind_a_link_is_left_alone(tmp_path: Path) -> None:
    root = lay(tmp_path / "t", {"a.py": b"a\n"})
    lay(tmp_path / "elsewhere", {"a.x.pyc": b""})
    (root / "__pycache__").symlink_to(tmp_path / "elsewhere")
    DirectoryTree(root).write({"a.py": b"A\n"}, operation="apply")

    assert (tmp_path / "elsewhere" / "a.x.pyc").exists()


def test_byte_code_that_cannot_be_removed_does_not_fail_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path, {"a.py": b"a\n", "__pycache__/a.x.pyc": b""})
    real = os.unlink

    def unlink(path: str | Path, *, dir_fd: int | None = None) -> None:
        if str(path).endswith(".pyc"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        real(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", unlink)
    DirectoryTree(tmp_path).write({"a.py": b"A\n"}, operation="apply")

    assert contents(tmp_path) == {"a.py": b"A\n", "__pycache__/a.x.pyc": b""}


def test_folders_that_a_removal_empties_go_and_others_stay(tmp_path: Path) -> None:
    lay(tmp_path, {**FILES, "p/q/a.py": b"", "p/q/__pycache__/a.x.pyc": b"", "p/r/b.py": b""})
    DirectoryTree(tmp_path).write({"p/q/a.py": None, "megatron/core/a.py": None}, operation="apply")

    assert not (tmp_path / "p/q").exists()
    assert (tmp_path / "p/r/b.py").exists()
    assert (tmp_path / "megatron/core/b.py").exists()


def test_a_folder_that_is_swapped_for_a_link_meanwhile_keeps_what_is_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = lay(tmp_path / "t", {"p/q/a.py": b"a\n"})
    outside = lay(tmp_path / "outside", {"q/__pycache__/a.x.pyc": b""})
    (outside / "empty" / "__pycache__").mkdir(parents=True)
    before = snapshot(outside)
    write = transaction.write_all

    def swapping(*given: Any, **named: Any) -> None:
        write(*given, **named)
        for name in ("p", "r"):
            shutil.rmtree(root / name)
        (root / "p").symlink_to(outside)
        (root / "r").symlink_to(outside)

    monkeypatch.setattr(transaction, "write_all", swapping)
    lay(root, {"r/empty/b.py": b"b\n"})
    DirectoryTree(root).write({"p/q/a.py": b"A\n", "r/empty/b.py": None}, operation="apply")

    assert snapshot(outside) == before


def test_a_file_that_somebody_changed_since_it_was_read_stops_the_write(tmp_path: Path) -> None:
    tree = DirectoryTree(lay(tmp_path, FILES))
    tree.read("setup.py")
    (tmp_path / "setup.py").write_bytes(b"by hand\n")
    before = snapshot(tmp_path)

    with pytest.raises(WriteFailedError, match="changed by somebody else"):
        tree.write({"megatron/core/a.py": b"new\n", "setup.py": b"new\n"}, operation="apply")
    assert snapshot(tmp_path) == before

    # Having looked again, the same caller may write.
    tree.read("setup.py")
    tree.write({"setup.py": b"new\n"}, operation="apply")
    tree.write({"setup.py": b"newer\n"}, operation="apply")
    assert contents(tmp_path)["setup.py"] == b"newer\n"


def test_an_interrupted_write_is_told_and_undone(tmp_path: Path) -> None:
    tree = DirectoryTree(lay(tmp_path, FILES))
    before = snapshot(tmp_path)
    number = 0
    while tree.interrupted() is None:
        number += 1
        assert killed_at(
            number, lambda: tree.write({"setup.py": b"new\n", tree.manifest_path: b"{}"}, operation="apply")
        )

    with pytest.raises(InterruptedWriteError):
        tree.write({"setup.py": b"newer\n"}, operation="apply")
    expected = Interrupted("apply", written=(), pending=("setup.py", ".patchkit/manifest.json"), damaged=())
    assert tree.undo_interrupted() == expected
    assert (tree.interrupted(), tree.undo_interrupted()) == (None, None)
    assert snapshot(tmp_path) == before


def test_opening_a_folder_gives_a_plain_tree(tmp_path: Path) -> None:
    tree = open_directory(lay(tmp_path, FILES), *MEGATRON_CORE)

    assert (type(tree), tree.root) == (DirectoryTree, tmp_path)


def test_opening_site_packages_gives_the_installed_tree(tmp_path: Path) -> None:
    lay(tmp_path, {**FILES, "megatron_core-1.2.dist-info/RECORD": b"", "other-1.dist-info/RECORD": b""})
    tree = open_directory(tmp_path, *MEGATRON_CORE)

    assert isinstance(tree, InstalledTree)
    assert tree.manifest_path == "megatron_core-1.2.dist-info/patchkit.json"


def test_metadata_without_record_counts_only_where_none_has_one(tmp_path: Path) -> None:
    lay(tmp_path, {**FILES, "megatron_core-1.2.dist-info/METADATA": b""})
    stripped = open_directory(tmp_path, *MEGATRON_CORE)
    lay(tmp_path, {"megatron_core-1.3.dist-info/RECORD": b""})
    whole = open_directory(tmp_path, *MEGATRON_CORE)

    assert stripped.manifest_path == "megatron_core-1.2.dist-info/patchkit.json"
    assert whole.manifest_path == "megatron_core-1.3.dist-info/patchkit.json"


def test_two_installed_at_once_are_refused(tmp_path: Path) -> None:
    lay(tmp_path, {**FILES, "megatron_core-1.2.dist-info/RECORD": b"", "megatron_core-1.3.dist-info/RECORD": b""})

    with pytest.raises(NotATreeError) as caught:
        open_directory(tmp_path, *MEGATRON_CORE)

    names = "megatron_core-1.2.dist-info, megatron_core-1.3.dist-info"
    assert caught.value.message == f"{tmp_path} has the metadata of more than one megatron-core: {names}"


@pytest.mark.parametrize(
    ("below", "hint"),
    [
        ("", "did you mean {0}/t?"),
        ("t/megatron", "did you mean {0}/t?"),
        ("missing", "name the folder that holds megatron/, such as a checkout or a site-packages folder"),
        ("around", "did you mean {0}/around/Megatron-LM?"),
    ],
)
def test_a_folder_without_megatron_core_is_refused_with_a_guess(tmp_path: Path, below: str, hint: str) -> None:
    lay(tmp_path / "t", FILES)
    lay(tmp_path / "around" / "Megatron-LM", FILES)

    with pytest.raises(NotATreeError) as caught:
        open_directory(tmp_path / below, *MEGATRON_CORE)

    assert caught.value.message == f"{tmp_path / below} has no folder megatron/core"
    assert caught.value.hint == hint.format(tmp_path)


def test_patching_a_folder_imports_neither_git_nor_archives(tmp_path: Path) -> None:
    lay(tmp_path, FILES)
    program = (
        "import sys; from pathlib import Path; from patchkit.trees.directory import open_directory; "
        f"tree = open_directory(Path({str(tmp_path)!r}), 'd', ('megatron/core',)); tree.read('setup.py'); "
        "list(tree.paths()); "
        "tree.write({'setup.py': b'new'}, operation='apply'); "
        "heavy = {'git', 'zipfile', 'tarfile', 'subprocess', 'tempfile', 'platformdirs', 'packaging', 'csv', "
        "'importlib.metadata', 'shutil', 'patchkit.trees.installed', 'patchkit.trees.archive', 'patchkit.trees.git'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    repository = Path(__file__).parents[3]
    # Without `site`, whose .pth files may import anything; the journal's types are msgspec's.
    environment = {**os.environ, "PYTHONPATH": str(Path(msgspec.__file__).parents[1])}
    found = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        check=True,
        text=True,
        cwd=repository,
        env=environment,
    )

    assert found.stdout == "[]\n"


def test_a_file_that_claims_to_be_larger_than_any_source_is_not_read(tmp_path: Path) -> None:
    lay(tmp_path, FILES)
    os.truncate(tmp_path / "setup.py", (256 << 20) + 1)

    with pytest.raises(TreeError) as caught:
        DirectoryTree(tmp_path).read("setup.py")

    assert caught.value.message == f"cannot read {tmp_path}/setup.py: it is larger than 256 MiB"


def test_a_tree_with_folders_in_each_other_without_end_is_an_error_and_not_a_bug(tmp_path: Path) -> None:
    with nested(tmp_path / "megatron", 1200):
        tree = DirectoryTree(tmp_path)
        said = f"cannot list {tmp_path}/megatron{'/a' * 15}/...: it is nested more than 256 folders deep"
        looks: list[Callable[[], object]] = [tree.paths, tree.others]
        for look in looks:
            with pytest.raises(TreeError) as caught:
                look()
            assert (caught.value.message, caught.value.hint) == (said, TOO_DEEP)
