from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from trees.reporters import Told
from trees.snapshots import contents, lay, nested, snapshot

from patchkit.core.blobs import blob_id
from patchkit.core.upstream import PinnedCommit
from patchkit.errors import InterruptedWriteError, StoreError, UnsafePathError
from patchkit.folders import TOO_DEEP
from patchkit.operations.series_files import read_series_files, undo_interrupted_write, write_series_files
from patchkit.operations.staging import staged
from patchkit.progress import silent
from patchkit.store.new_patch import extended_versions
from patchkit.store.versions import add_blobs

TEXT = b"print('planted')\n"


def planted(series: Path, path: str, folders: tuple[str, ...] = ()) -> Path:
    """A journal as a stranger would leave it in a series that he hands on: its undoing makes the file."""
    entry = {"path": path, "before": blob_id(TEXT), "after": None, "mode": 0o755}
    journal = {"schema": 1, "operation": "regenerate", "token": "ab", "entries": [entry], "folders": [*folders]}
    files = {"journal.json": json.dumps(journal).encode(), blob_id(TEXT): TEXT}
    return lay(series / ".patchkit" / "journal", files)


OUTSIDE = [
    "conftest.py",
    ".github/workflows/x.yml",
    "patches/other/series.yaml",
    "patches/megatron2/x",
    "patches/megatron",
    "patches/megatron/.patchkit/manifest.json",
    "patches/megatron/.PATCHKIT/manifest.json",
    "patches/megatron/.rebase/open.yaml",
    "patches/megatron/README.md",
    "patches/megatron/.gitignore",
    "patches/megatron/setup.py",
    "patches/megatron/own/conftest.py",
    "patches/megatron/own/variants/a/b.patch",
    "patches/megatron/generated/patch.yaml",
    "patches/megatron/SERIES.YAML",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_planted_journal_makes_no_file_that_no_command_writes(series: Path, path: str) -> None:
    place = planted(series, path)
    before = snapshot(series.parents[1])
    with pytest.raises(InterruptedWriteError) as caught:
        undo_interrupted_write(series, silent)

    told = f"its journal {place} cannot be read: {path!r} is no file that was written from here"
    assert caught.value.message == f"an earlier write was cut short and {told}"
    assert snapshot(series.parents[1]) == before


def test_a_planted_journal_removes_no_folder_outside_of_the_series(series: Path) -> None:
    for path in ("empty", "patches/megatron/docs/empty"):
        (series.parents[1] / path).mkdir(parents=True)
        planted(series, "patches/megatron/lock.yaml", (path,))
        with pytest.raises(InterruptedWriteError, match=f"{path!r} is no folder that was made from here"):
            undo_interrupted_write(series, silent)

        assert (series.parents[1] / path).is_dir()


def test_a_write_of_the_series_is_undone(series: Path) -> None:
    planted(series, "patches/megatron/own/patch.yaml", ("patches/megatron/own",))
    told = Told()
    undo_interrupted_write(series, told)

    assert (series / "own" / "patch.yaml").read_bytes() == TEXT
    assert told.lines == ["note: an interrupted regenerate was undone: 1 file was put back"]


def of_versions(series: Path, old: bytes | None, new: bytes | None) -> Path:
    """A journal of a write that made ``new`` of ``old`` above the series, where ``new`` is by now."""
    file = series.parents[1] / "upstream_versions.yaml"
    ids = [None if text is None else blob_id(text) for text in (old, new)]
    entry = {"path": file.name, "before": ids[0], "after": ids[1], "mode": 0o644}
    journal = {"schema": 1, "operation": "regenerate", "token": "ab", "entries": [entry], "folders": []}
    kept = {} if old is None else {blob_id(old): old}
    lay(series / ".patchkit" / "journal", {"journal.json": json.dumps(journal).encode(), **kept})
    if new is not None:
        file.write_bytes(new)
    return series / ".patchkit" / "journal"


def test_what_a_write_of_the_series_adds_to_its_versions_above_is_taken_back(series: Path) -> None:
    file = series.parents[1] / "upstream_versions.yaml"
    old = file.read_bytes()
    commit = PinnedCommit(commit="c" * 40, as_of="2.0", name="cccccccc", date="2026-01-01", branch="main", blobs={})
    new = extended_versions(old, str(file), commit)
    file.write_bytes(new)
    new = add_blobs(file, {"2.0": {"megatron/new.py": "d" * 40}, "cccccccc": {"megatron/new.py": "e" * 40}})
    of_versions(series, old, new)
    told = Told()
    undo_interrupted_write(series, told)

    assert new != old
    assert file.read_bytes() == old
    assert told.lines == ["note: an interrupted regenerate was undone: 1 file was put back"]


def another_digest(text: bytes) -> bytes:
    digest = re.findall(rb"[0-9a-f]{64}", text)[0]
    return text.replace(digest, b"0" * 64)


def another_blob(text: bytes) -> bytes:
    blob = re.findall(rb"py: '?([0-9a-f]{40})", text)[0]
    return text.replace(blob, b"0" * 40)


@pytest.mark.parametrize("change", [another_digest, another_blob, lambda _: b"", lambda _: b"schema: 1\n", None])
def test_a_planted_journal_changes_nothing_of_the_versions_above_and_does_not_remove_them(
    series: Path, change: Callable[[bytes], bytes] | None
) -> None:
    """By their digests all else is judged, and they are no part of a series that a stranger hands on."""
    file = series.parents[1] / "upstream_versions.yaml"
    new = file.read_bytes()
    old = None if change is None else change(new)
    assert old != new
    journal = of_versions(series, old, new)
    with pytest.raises(InterruptedWriteError) as caught:
        undo_interrupted_write(series, silent)

    assert caught.value.message == f"the journal {journal} would change in {file} what no write of a series changes"
    assert caught.value.hint == (
        f"it may have come with the series: compare the file with its history, then remove {journal}"
    )
    assert file.read_bytes() == new


def test_the_versions_above_are_somebody_elses_where_the_series_has_its_own(series: Path) -> None:
    lay(series, {"upstream_versions.yaml": (series.parents[1] / "upstream_versions.yaml").read_bytes()})
    planted(series, "upstream_versions.yaml")
    with pytest.raises(InterruptedWriteError, match=r"'upstream_versions\.yaml' is no file that was written from here"):
        undo_interrupted_write(series, silent)


WRITTEN = [
    "series.yaml",
    "lock.yaml",
    "upstream_versions.yaml",
    "generated/v1.patch",
    "resolutions/one.yaml",
    "own/patch.yaml",
    "own/variants/v1.patch",
]
"""What commands write of a series."""


@pytest.mark.parametrize("path", WRITTEN)
def test_a_series_that_stands_alone_has_all_that_commands_write_undone(tmp_path: Path, path: str) -> None:
    alone = tmp_path / "alone"
    folders = {"generated/v1.patch": ("generated",), "own/variants/v1.patch": ("own", "own/variants")}.get(path, ())
    planted(alone, path, folders)
    undo_interrupted_write(alone, silent)
    assert contents(alone) == {path: TEXT}


@pytest.mark.parametrize("path", [".rebase/open.yaml", "conftest.py", "own"])
def test_a_series_that_stands_alone_has_nothing_else_undone(tmp_path: Path, path: str) -> None:
    alone = tmp_path / "alone"
    planted(alone, path)
    with pytest.raises(InterruptedWriteError, match=f"{re.escape(repr(path))} is no file that was written from here"):
        undo_interrupted_write(alone, silent)


def test_nothing_is_written_that_an_undo_would_not_put_back(series: Path) -> None:
    lay(series, {"README.md": b"mine"})
    before = snapshot(series)
    edits: list[tuple[dict[Path, bytes], list[Path]]] = [({}, [series / "README.md"]), ({series / "x": b""}, [])]
    for files, removed in edits:
        with pytest.raises(UnsafePathError, match=r"is no file of a series that patchkit writes$"):
            write_series_files(series, files, removed, operation="import", expected={})
    assert snapshot(series) == before


@pytest.mark.parametrize("outside", ["precious", "../elsewhere"])
def test_a_folder_of_the_series_that_is_a_link_is_not_written_through_or_cleared(series: Path, outside: str) -> None:
    """regenerate removes what it did not make from `generated`, and writes there."""
    place = series / "generated"
    shutil.rmtree(place)
    theirs = lay(series.parents[1] / outside, {"mine.patch": b"mine"})
    place.symlink_to(theirs)
    before = snapshot(theirs)
    edits: list[tuple[dict[Path, bytes], list[Path]]] = [({}, [place / "mine.patch"]), ({place / "x.patch": b"x"}, [])]
    for files, removed in edits:
        with pytest.raises(UnsafePathError) as caught:
            write_series_files(series, files, removed, operation="regenerate", expected={})
        assert caught.value.message.endswith(": generated is a link, and links are not followed")
    assert snapshot(theirs) == before


def test_a_series_that_is_reached_through_a_link_is_written(series: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(series)
    write_series_files(link, {link / "new/patch.yaml": b"x"}, [link / "lock.yaml"], operation="import", expected={})

    assert ((series / "new" / "patch.yaml").read_bytes(), (series / "lock.yaml").exists()) == (b"x", False)


@pytest.mark.parametrize("depth", [257, sys.getrecursionlimit() + 100])
def test_a_series_with_folders_in_each_other_without_end_is_refused(series: Path, depth: int) -> None:
    """Whoever copies or removes such a folder does so by recursion."""
    with nested(series, depth):
        said = f"{series}{'/a' * 20}...: it is nested more than 256 folders deep"
        with pytest.raises(StoreError) as caught:
            read_series_files(series)
        assert (caught.value.message, caught.value.hint) == (said, TOO_DEEP)
        with pytest.raises(StoreError) as caught, staged(series):
            pass
        assert caught.value.message == said


def test_what_patchkit_keeps_in_a_series_for_itself_is_not_gone_through(series: Path) -> None:
    before = read_series_files(series)
    with nested(series / ".rebase", 1200), nested(series / ".patchkit", 1200):
        assert read_series_files(series) == before


def test_files_of_a_series_that_are_too_large_together_are_not_read(series: Path) -> None:
    for number in range(6):
        (series / f"large-{number}").touch()
        os.truncate(series / f"large-{number}", 250 << 20)
    with pytest.raises(StoreError) as caught:
        read_series_files(series)

    assert caught.value.message == f"{series}: cannot be read: its files have more than 1024 MiB together"
