from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from patchkit.errors import WriteFailedError
from patchkit.store.files import write_files


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of every file below ``root``."""
    return {
        path.relative_to(root).as_posix(): (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with an executable, a private and a superfluous file."""
    for name, mode in (("run", 0o755), ("private", 0o600), ("old", 0o644)):
        (tmp_path / name).write_bytes(b"before\n")
        (tmp_path / name).chmod(mode)
    return tmp_path


def test_files_are_written_with_their_modes_and_new_ones_for_all_to_read(root: Path) -> None:
    write_files({root / "run": b"1", root / "private": b"2", root / "a" / "b" / "new": b"3"}, [root / "old"])

    expected = {"run": (0o755, b"1"), "private": (0o600, b"2"), "a/b/new": (0o644, b"3")}
    assert expected == snapshot(root)


def test_nothing_to_write_is_no_error(root: Path) -> None:
    before = snapshot(root)
    write_files({})

    assert before == snapshot(root)


def test_a_full_disk_changes_nothing_and_leaves_no_copy(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot(root)
    opened: list[int] = []
    fdopen = os.fdopen

    def full_at_the_second(handle: int, mode: str) -> object:
        opened.append(handle)
        if len(opened) == 2:
            os.close(handle)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return fdopen(handle, mode)

    monkeypatch.setattr(os, "fdopen", full_at_the_second)
    with pytest.raises(WriteFailedError) as caught:
        write_files({root / "run": b"1", root / "private": b"2"}, [root / "old"])

    assert f"cannot write {root / 'private'}: No space left on device" == caught.value.message
    assert before == snapshot(root)


def test_a_file_is_never_seen_half_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, tuple[int, bytes]]] = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        seen.append({path.name: (0, path.read_bytes()) for path in (root / "run", root / "private")})
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    write_files({root / "run": b"1", root / "private": b"2"})

    before, after = (0, b"before\n"), (0, b"1")
    assert [{"run": before, "private": before}, {"run": after, "private": before}] == seen


@pytest.mark.parametrize(
    ("files", "removed", "named", "problem"),
    [
        (["run/below"], [], "run", "File exists"),
        (["run", "folder"], [], "folder", "Is a directory"),
        ([], ["gone"], "gone", "No such file or directory"),
    ],
    ids=["folder is a file", "file is a folder", "nothing to remove"],
)
def test_a_failed_write_names_the_file_and_leaves_no_copy(
    root: Path, files: list[str], removed: list[str], named: str, problem: str
) -> None:
    (root / "folder").mkdir()
    (root / "folder" / "inside").touch()
    names = {*snapshot(root)}

    with pytest.raises(WriteFailedError) as caught:
        write_files({root / file: b"x" for file in files}, [root / file for file in removed])

    assert f"cannot write {root / named}: {problem}" == caught.value.message
    assert names == {*snapshot(root)}
