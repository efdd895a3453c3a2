from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from trees.faults import killed_at
from trees.snapshots import contents, lay, nested

from patchkit.errors import StoreError, UsageError, WriteFailedError
from patchkit.store.edit_room import clear_room, make_room, read_open, sweep_room, write_open


@pytest.fixture
def series(tmp_path: Path) -> Path:
    (tmp_path / "series").mkdir()
    return tmp_path / "series"


def test_where_the_edit_directory_is_is_read_back(series: Path) -> None:
    assert read_open(series) is None
    write_open(make_room(series), Path("/some/where"))

    assert read_open(series) == Path("/some/where")
    assert sorted(contents(series)) == [".rebase/.gitignore", ".rebase/open.yaml"]


def test_the_second_one_is_refused_and_leaves_the_first(series: Path) -> None:
    write_open(make_room(series), Path("/first"))
    with pytest.raises(FileExistsError):
        write_open(series / ".rebase", Path("/second"))

    assert read_open(series) == Path("/first")
    assert sorted(contents(series)) == [".rebase/.gitignore", ".rebase/open.yaml"]


def test_killed_at_any_point_open_yaml_is_whole_or_not_there(series: Path) -> None:
    at = 0
    alive = True
    while alive:
        at += 1
        alive = killed_at(at, lambda: write_open(make_room(series), Path("/some/where")))
        assert read_open(series) in (None, Path("/some/where"))
        sweep_room(series)
        assert contents(series) == {}
    assert at > 3


def test_it_gets_its_name_once_it_is_whole(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bytes, bool]] = []
    link = Path.hardlink_to

    def watched(self: Path, target: Path) -> None:
        seen.append((target.read_bytes(), self.exists()))
        link(self, target)

    monkeypatch.setattr(Path, "hardlink_to", watched)
    write_open(make_room(series), Path("/some/where"))

    assert seen == [((series / ".rebase" / "open.yaml").read_bytes(), False)]


def no_links(_self: Path, _target: str) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def test_where_there_are_no_hard_links_it_is_written_all_the_same(
    series: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "hardlink_to", no_links)
    write_open(make_room(series), Path("/some/where"))

    assert read_open(series) == Path("/some/where")
    with pytest.raises(FileExistsError):
        write_open(series / ".rebase", Path("/second"))


def test_a_room_that_is_not_there_cannot_be_written_to(series: Path) -> None:
    with pytest.raises(WriteFailedError, match=r"cannot write .*open\.yaml"):
        write_open(series / ".rebase", Path("/some/where"))


BROKEN = ["", "# Written by", "edit-dir", "edit-dir:", "edit-dir: [", "[]", "edit-dir: ..", "edit-dir: ."]


@pytest.mark.parametrize("text", BROKEN)
def test_an_open_yaml_that_is_not_whole_says_how_to_get_rid_of_it(series: Path, text: str) -> None:
    (make_room(series) / "open.yaml").write_text(text)
    with pytest.raises(StoreError, match=r"open\.yaml: is no whole open\.yaml") as caught:
        read_open(series)

    command = f"patchkit rebase --abort --patches {series}"
    assert caught.value.hint == f"drop the rebase with `{command}`; the series is as it was"


def test_an_open_yaml_that_is_a_link_is_not_followed(series: Path, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("edit-dir: /other\n")
    (make_room(series) / "open.yaml").symlink_to(tmp_path / "other.yaml")
    with pytest.raises(StoreError, match="is a link, and links are not followed"):
        read_open(series)


@pytest.mark.parametrize(
    "told", ['"a\\0b"', '"/a\\0b"', "/a/../b", f"/{'n' * 300}", "{series}", "{series}/one", "{above}"]
)
def test_an_open_yaml_names_no_folder_that_no_rebase_could_have_nor_one_in_or_around_the_series(
    series: Path, told: str
) -> None:
    text = told.format(series=series.resolve(), above=series.resolve().parent)
    (make_room(series) / "open.yaml").write_text(f"edit-dir: {text}\n")

    with pytest.raises(StoreError, match=r"open\.yaml: is no whole open\.yaml"):
        read_open(series)


@pytest.mark.parametrize(
    ("told", "link"),
    [("/proc/self/cwd/build", "/proc/self"), ("{linked}/elsewhere", "{linked}"), ("{linked}", "{linked}")],
)
def test_an_open_yaml_names_no_folder_through_a_link(series: Path, tmp_path: Path, told: str, link: str) -> None:
    (tmp_path / "real" / "elsewhere").mkdir(parents=True)
    linked = tmp_path.resolve() / "linked"
    linked.symlink_to("real")
    (make_room(series) / "open.yaml").write_text(f"edit-dir: {told.format(linked=linked)}\n")

    with pytest.raises(StoreError) as caught:
        read_open(series)
    assert caught.value.message == f"{link.format(linked=linked)}: is a link, and links are not followed"


@pytest.mark.parametrize("target", ["../../elsewhere", "x"])
def test_an_edit_directory_of_the_room_that_is_a_link_is_not_followed(
    series: Path, tmp_path: Path, target: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (make_room(series) / "x").symlink_to(target)
    (series / ".rebase" / "open.yaml").write_text("edit-dir: x\n")

    with pytest.raises(StoreError, match=r"x: is a link, and links are not followed"):
        read_open(series)


def test_sweeping_takes_everything_but_a_write_that_was_cut_short(series: Path) -> None:
    lay(series / ".rebase", {"open.yaml": b"", "2.0/a": b"a", "x/y/b": b"b", "stray": b"c", "pending/list.yaml": b"l"})
    swept = sweep_room(series)

    assert swept == (series / ".rebase" / "2.0", series / ".rebase" / "x")
    assert contents(series) == {".rebase/pending/list.yaml": b"l"}


def test_sweeping_moves_nothing_through_a_link(series: Path, tmp_path: Path) -> None:
    """A room may have come with the series, and ``removed`` in it lead anywhere."""
    theirs = lay(tmp_path / "theirs", {"letter": b"a"})
    lay(series / ".rebase", {"2.0/a": b"a", "open.yaml": b""})
    (series / ".rebase" / "removed").symlink_to(theirs)
    seen: list[dict[str, bytes]] = []
    real = Path.rename

    def watched(self: Path, target: Path) -> Path:
        moved = real(self, target)
        seen.append(contents(theirs))
        return moved

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", watched)
        assert sweep_room(series) == (series / ".rebase" / "2.0",)
    assert (seen, contents(theirs), contents(series)) == ([{"letter": b"a"}], {"letter": b"a"}, {})


@pytest.mark.parametrize("sweep", [sweep_room, clear_room])
def test_a_room_that_is_a_link_is_refused_and_what_it_leads_to_stays(
    series: Path, tmp_path: Path, sweep: Callable[[Path], object]
) -> None:
    lay(tmp_path / "theirs", {"letters/a": b"a", ".gitignore": b""})
    (series / ".rebase").symlink_to(tmp_path / "theirs")
    with pytest.raises(UsageError, match="is a link, and links are not followed"):
        sweep(series)

    assert contents(tmp_path / "theirs") == {"letters/a": b"a", ".gitignore": b""}


@pytest.mark.parametrize("place", ["2.0", "pending.old", "removed"])
def test_what_is_left_of_a_rebase_is_removed_however_deep(series: Path, place: str) -> None:
    write_open(make_room(series), series.resolve() / ".rebase" / "2.0")
    with nested(series / ".rebase" / place, 1200):
        sweep_room(series)

        assert list(series.iterdir()) == []
