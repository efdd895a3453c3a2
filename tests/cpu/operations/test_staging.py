from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from trees.snapshots import contents

from patchkit.errors import StoreError, WriteFailedError
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
    for name, text in (("series.yaml", "mine"), ("more.yaml", "new")):
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


def test_a_file_of_a_series_that_claims_terabytes_is_not_read(series: Path) -> None:
    made = series / "generated" / "vast.patch"
    made.parent.mkdir(exist_ok=True)
    made.touch()
    os.truncate(made, 1 << 40)

    with pytest.raises(StoreError, match=r"^.*/generated/vast\.patch: cannot be read: it is larger than 256 MiB$"):
        read_series_files(series)
