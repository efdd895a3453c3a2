from __future__ import annotations

from pathlib import Path

import pytest
from trees.snapshots import contents

from patchkit.errors import StoreError
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
