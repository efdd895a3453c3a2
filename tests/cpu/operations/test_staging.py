from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from trees.snapshots import contents, lay

from patchkit.errors import StoreError, UsageError, WriteFailedError
from patchkit.operations.series_files import read_series_files
from patchkit.operations.staging import ready, staged
from patchkit.progress import silent
from patchkit.store.location import versions_file


def test_the_copy_is_the_series_with_its_versions_and_differs_in_nothing(series: Path) -> None:
    with staged(series) as stage:
        assert contents(stage.folder) == contents(series)
        assert versions_file(stage.folder).read_bytes() == versions_file(series).read_bytes()
        assert stage.changes() == ({}, [])


def test_what_is_done_to_the_copy_is_done_to_the_series_on_commit_and_not_before(series: Path) -> None:
    before = contents(series.parents[1])
    with staged(series) as stage:
        (stage.folder / "series.yaml").write_text("changed")
        (stage.folder / "own").mkdir()
        (stage.folder / "own" / "patch.yaml").write_text("new")
        (stage.folder / "lock.yaml").unlink()
        versions_file(stage.folder).write_text("versions")
        assert contents(series.parents[1]) == before
        written = stage.commit("import")

    after = {name: text for name, text in contents(series.parents[1]).items() if before.get(name) != text}
    assert after == {
        "patches/megatron/series.yaml": b"changed",
        "patches/megatron/own/patch.yaml": b"new",
        "upstream_versions.yaml": b"versions",
    }
    assert not (series / "lock.yaml").exists()
    assert len(written) == 4


def test_what_another_process_wrote_meanwhile_is_neither_overwritten_nor_removed(series: Path) -> None:
    """Another import: its patch is in series.yaml and in a folder that the copy does not have."""
    for name, text in (("series.yaml", "mine"), ("generated/more.patch", "new")):
        kept = contents(series)
        with staged(series) as stage:
            (stage.folder / name).write_text(text)
            (series / "theirs").mkdir()
            (series / "theirs" / "patch.yaml").write_text("theirs")
            (series / "series.yaml").write_text("theirs")
            with pytest.raises(WriteFailedError) as caught:
                stage.commit("import")

        expected = f"patches/megatron/series.yaml in {series.parents[1]} was changed by somebody else since it was read"
        assert caught.value.message == f"{expected}; nothing was changed"
        assert contents(series) == {**kept, "theirs/patch.yaml": b"theirs", "series.yaml": b"theirs"}
        (series / "series.yaml").write_bytes(kept["series.yaml"])
        shutil.rmtree(series / "theirs")


def test_a_series_that_changes_between_reading_and_copying_is_refused(series: Path) -> None:
    before = read_series_files(series)
    (series / "series.yaml").write_text("theirs")

    with pytest.raises(WriteFailedError) as caught, staged(series, before):
        pass

    expected = f"{series / 'series.yaml'} was changed by somebody else since it was read; nothing was changed"
    assert caught.value.message == expected


def test_a_series_that_is_not_there_yet_is_made_on_commit(tmp_path: Path) -> None:
    with staged(tmp_path / "new" / "series") as stage:
        (stage.folder / "series.yaml").write_text("x")
        stage.commit("import")

    assert contents(tmp_path) == {"new/series/series.yaml": b"x"}


def test_errors_and_messages_name_the_real_folder(series: Path) -> None:
    with pytest.raises(StoreError) as caught, staged(series) as stage:
        raise StoreError(str(stage.folder / "x.yaml"), "key", "is wrong", hint=f"look at {stage.folder}")

    assert (caught.value.message, caught.value.hint) == (f"{series / 'x.yaml'}: key: is wrong", f"look at {series}")


def test_a_folder_of_one_word_gets_its_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert ready(Path("series"), silent, dry_run=False) == tmp_path / "series"
    assert ready(Path("patches/megatron"), silent, dry_run=False) == Path("patches/megatron")
    assert ready(tmp_path / "series", silent, dry_run=False) == tmp_path / "series"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies are made."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    return tmp_path / "scratch"


def fifo(place: Path, _outside: Path) -> None:
    os.mkfifo(place)


def endless(place: Path, _outside: Path) -> None:
    place.symlink_to("/dev/zero")


def private(place: Path, outside: Path) -> None:
    place.symlink_to(outside)


def dangling(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "nothing")


LINK = "is a link, and links are not followed"
ODD = [
    (fifo, "is no regular file but a named pipe"),
    (endless, LINK),
    (private, LINK),
    (dangling, LINK),
]


@pytest.mark.parametrize("name", ["notes", "first/notes", "first/variants/notes", ".rebase/notes"])
@pytest.mark.parametrize(("put", "told"), ODD)
def test_links_pipes_and_devices_of_a_series_are_refused_and_nothing_is_copied(
    series: Path, scratch: Path, name: str, put: Callable[[Path, Path], None], told: str
) -> None:
    outside = lay(scratch.parent / "outside", {"private": b"private"})
    place = series / name
    place.parent.mkdir(parents=True, exist_ok=True)
    put(place, outside)
    with pytest.raises(UsageError) as caught, staged(series):
        pass

    assert caught.value.message == f"{place} {told}"
    assert list(scratch.iterdir()) == []


def test_what_becomes_a_link_while_the_copy_is_made_is_not_followed(
    series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("patchkit.operations.staging.refuse_odd_files", lambda _folder: None)
    (series / "notes").symlink_to(lay(tmp_path / "outside", {"private": b"private"}))
    with staged(series) as stage:
        assert (stage.folder / "notes").is_symlink()


def test_the_rooms_of_a_series_are_neither_copied_nor_taken_away(series: Path) -> None:
    rooms = {".rebase/2.0/first/a.py": b"edited", ".rebase/open.yaml": b"open", ".patchkit/lock": b"1"}
    lay(series, rooms)
    with staged(series) as stage:
        assert not any((stage.folder / room).exists() for room in (".rebase", ".patchkit"))
        assert stage.changes() == ({}, [])
        (stage.folder / "series.yaml").write_text("changed")
        stage.commit("import")

    kept = contents(series)
    assert {name: kept.get(name) for name in list(rooms)[:2]} == dict(list(rooms.items())[:2])


def test_a_series_in_a_folder_that_is_called_like_a_room_has_files(tmp_path: Path) -> None:
    series = lay(tmp_path / ".patchkit" / ".rebase" / "series", {"series.yaml": b"x", "lock.yaml": b"y"})
    with staged(series) as stage:
        (stage.folder / "series.yaml").write_text("y")
        (stage.folder / "lock.yaml").unlink()
        assert stage.changes() == ({series / "series.yaml": b"y"}, [series / "lock.yaml"])


def test_a_file_of_a_series_that_claims_terabytes_is_not_read(series: Path) -> None:
    made = series / "generated" / "vast.patch"
    made.parent.mkdir(exist_ok=True)
    made.touch()
    os.truncate(made, 1 << 40)

    with pytest.raises(StoreError, match=r"^.*/generated/vast\.patch: cannot be read: it is larger than 256 MiB$"):
        read_series_files(series)
