"""Folders are gone through and removed however deep they are, and no link is followed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from trees.snapshots import lay, nested

from patchkit.folders import below, remove


def test_everything_is_told_by_name_each_folder_before_what_is_in_it(tmp_path: Path) -> None:
    lay(tmp_path, {"b/z": b"", "b/a/x": b"", "c": b"", "a/y": b"", "skipped/x": b""})
    (tmp_path / "b" / "link").symlink_to(tmp_path / "a")
    found = below(tmp_path, 9, enter=lambda entry: entry.name != "skipped")

    assert [entry.path.removeprefix(f"{tmp_path}/") for entry in found] == [
        *("a", "b", "c", "skipped", "a/y", "b/a", "b/link", "b/z", "b/a/x"),
    ]
    assert list(below(tmp_path / "nowhere", 9)) == []


@pytest.mark.parametrize("most", [2, sys.getrecursionlimit() + 100])
def test_more_folders_in_each_other_than_may_be_are_an_error_that_names_the_first(tmp_path: Path, most: int) -> None:
    with nested(tmp_path, most):
        assert len(list(below(tmp_path, most))) == most + 1
        deepest = tmp_path.joinpath(*["a"] * most)
        (deepest / "a").mkdir()
        with pytest.raises(OSError, match=f"it is nested more than {most} folders deep") as caught:
            list(below(tmp_path, most))

        assert caught.value.filename == f"{deepest / 'a'}"[: len(str(tmp_path)) + 40] + "..."


@pytest.mark.parametrize("depth", [3, sys.getrecursionlimit() + 100, 5000])
def test_a_folder_is_removed_however_deep_and_what_its_links_lead_to_is_not(tmp_path: Path, depth: int) -> None:
    kept = lay(tmp_path / "kept", {"mine": b"mine"})
    with nested(tmp_path / "gone", depth):
        lay(tmp_path / "gone", {"b/c/d": b"", "e": b""})
        for place in ("link", "a/link", "a/a/link"):
            (tmp_path / "gone" / place).symlink_to(kept)
        remove(tmp_path / "gone")

        assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["kept", "mine"]


def test_a_link_is_not_removed_as_the_folder_that_it_leads_to(tmp_path: Path) -> None:
    lay(tmp_path / "kept", {"mine": b"mine"})
    (tmp_path / "link").symlink_to("kept")
    with pytest.raises(NotADirectoryError):
        remove(tmp_path / "link")

    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["kept", "mine", "link"]


def test_what_cannot_be_removed_is_named_where_it_lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path / "gone", {"a/b/c": b""})
    real = os.unlink

    def unlink(name: str, *, dir_fd: int) -> None:
        if name == "c":
            raise PermissionError(1, "Operation not permitted", name)
        real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(PermissionError) as caught:
        remove(tmp_path / "gone")

    assert caught.value.filename == str(tmp_path / "gone" / "a" / "b" / "c")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_empty_folder_that_nobody_may_write_to_is_removed(tmp_path: Path) -> None:
    (tmp_path / "gone" / "a" / "b").mkdir(parents=True, mode=0o755)
    (tmp_path / "gone" / "a" / "b").chmod(0o555)
    remove(tmp_path / "gone")

    assert not (tmp_path / "gone").exists()
