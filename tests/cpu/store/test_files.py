from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from patchkit.errors import WriteFailedError
from patchkit.store.files import write_files, write_reports


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
    synced: list[int] = []

    def full_at_the_second(handle: int) -> None:
        synced.append(handle)
        if len(synced) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full_at_the_second)
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


LIMITED = """
import pathlib, resource, sys
from patchkit.errors import WriteFailedError
from patchkit.store.files import write_reports
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    write_reports({pathlib.Path(name): b"x" * int(size) for name, size in zip(sys.argv[1::2], sys.argv[2::2])})
except WriteFailedError as error:
    print(error.message)
"""


def test_reports_that_find_no_room_leave_the_old_ones_and_no_copy(root: Path) -> None:
    before = snapshot(root)
    asked = [str(root / "run"), "50", str(root / "new"), "101"]
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, *asked],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )

    assert (ran.stdout, ran.stderr) == (f"cannot write {root / 'new'}: File too large\n", "")
    assert before == snapshot(root)


def test_a_report_keeps_its_mode_and_a_new_one_has_that_of_any_new_file(root: Path) -> None:
    (root / "any").touch()
    write_reports({root / "private": b"1", root / "new": b"2"})

    modes = {name: mode for name, (mode, _) in snapshot(root).items()}
    assert ((root / "private").read_bytes(), (root / "new").read_bytes()) == (b"1", b"2")
    assert (modes["private"], modes["new"]) == (0o600, modes["any"])


def test_a_report_through_a_link_is_written_where_the_link_leads(root: Path) -> None:
    (root / "link").symlink_to("run")
    write_reports({root / "link": b"1"})

    assert (root / "link").readlink() == Path("run")
    assert (root / "run").read_bytes() == b"1"


def test_what_is_no_file_is_written_to_and_stays_what_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_reports({pipe: b"1"})

    assert os.read(reader, 9) == b"1"
    os.close(reader)
    assert [*tmp_path.iterdir()] == [pipe]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_report_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(WriteFailedError) as caught:
        write_reports({tmp_path / "no" / "page.html": b"1"})

    assert caught.value.message == f"cannot write {tmp_path / 'no' / 'page.html'}: No such file or directory"
    assert [*tmp_path.iterdir()] == []
