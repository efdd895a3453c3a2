from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import patchkit
from patchkit.errors import StoreError, UsageError
from patchkit.store import location
from patchkit.store.location import (
    default_patches,
    edited_patches,
    own_patches,
    own_versions_file,
    series_here,
    series_option,
    versions_file,
)
from patchkit.store.series import load_series
from patchkit.store.versions import load_versions

TOP = Path(patchkit.__file__).resolve().parent.parent


def test_in_a_checkout_our_files_are_beside_the_package() -> None:
    found = (default_patches(), versions_file(default_patches()))

    assert found == (TOP / "patches" / "megatron", TOP / "upstream_versions.yaml")


def test_once_installed_our_files_are_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "_PACKAGE", tmp_path)
    (tmp_path / "data").mkdir()

    found = (default_patches(), versions_file(tmp_path / "own" / "patches" / "m"))
    assert (tmp_path / "data" / "patches" / "megatron", tmp_path / "data" / "upstream_versions.yaml") == found


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (["patches/m/upstream_versions.yaml", "upstream_versions.yaml"], "patches/m/upstream_versions.yaml"),
        (["upstream_versions.yaml"], "upstream_versions.yaml"),
        (["patches/upstream_versions.yaml"], None),
        ([], None),
    ],
    ids=["in the series' folder", "two levels up", "one level up is not looked at", "nowhere"],
)
def test_a_series_brings_its_own_versions_or_takes_the_built_in_ones(
    tmp_path: Path, there: list[str], expected: str | None
) -> None:
    (tmp_path / "patches" / "m").mkdir(parents=True)
    for file in there:
        (tmp_path / file).touch()

    built_in = TOP / "upstream_versions.yaml"
    assert (tmp_path / expected if expected else built_in) == versions_file(tmp_path / "patches" / "m")


def test_a_series_of_ones_own_is_that_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^which series\? there is no patches/megatron here$"):
        own_patches()

    (tmp_path / "patches" / "megatron").mkdir(parents=True)
    assert own_patches() == edited_patches() == Path("patches/megatron")
    assert series_here() is None
    (tmp_path / "patches" / "megatron" / "series.yaml").touch()
    assert series_here() == Path("patches/megatron")


def test_a_file_called_patches_is_no_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patches").touch()

    assert (series_here(), edited_patches()) == (None, default_patches())


ELSEWHERE = "put it elsewhere, or name the folder of the series with --patches DIR"
LINK = "remove the link, or put a copy of what it should lead to in its place"


@pytest.mark.parametrize(
    ("name", "make", "problem", "hint"),
    [
        ("patches", lambda it: it.symlink_to("gone"), "it is a link, and what it leads to is not there", LINK),
        ("patches/megatron", lambda it: it.symlink_to("gone"), "it is a link, and what it leads to is not there", LINK),
        ("patches/megatron", lambda it: it.symlink_to("megatron"), "Too many levels of symbolic links", LINK),
        ("patches/megatron", Path.touch, "it is no folder, as a series is, but a file", ELSEWHERE),
        ("patches/megatron", os.mkfifo, "it is no folder, as a series is, but a named pipe", ELSEWHERE),
    ],
)
@pytest.mark.parametrize("ask", [series_here, edited_patches, own_patches])
def test_no_other_series_is_taken_for_one_that_cannot_be_read(  # noqa: PLR0917 - the columns of the table
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[[], Path | None],
    name: str,
    make: Callable[[Path], None],
    problem: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    make(tmp_path / name)

    with pytest.raises(StoreError) as caught:
        ask()
    assert (caught.value.message, caught.value.hint) == (f"{name}: {problem}", hint)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda it: it.symlink_to("gone")])
def test_what_is_called_like_a_file_of_the_series_is_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    series = Path("patches/megatron")
    series.mkdir(parents=True)
    make(series / "series.yaml")
    make(series / "upstream_versions.yaml")

    assert (series_here(), versions_file(series)) == (series, series / "upstream_versions.yaml")
    for read in (lambda: load_series(series), lambda: load_versions(versions_file(series))):
        with pytest.raises(StoreError, match=r"/(series|upstream_versions)\.yaml: it is "):
            read()


def test_only_a_file_of_the_series_itself_may_be_written(tmp_path: Path) -> None:
    series = tmp_path / "root" / "patches" / "m"
    series.mkdir(parents=True)
    with pytest.raises(UsageError) as caught:
        own_versions_file(series)
    assert (caught.value.message, caught.value.hint) == (
        f"{series} has no upstream_versions.yaml of its own",
        f"copy {TOP / 'upstream_versions.yaml'} into {series} and try again",
    )

    (tmp_path / "root" / "upstream_versions.yaml").touch()
    assert own_versions_file(series) == tmp_path / "root" / "upstream_versions.yaml"
    assert own_versions_file(default_patches()) == TOP / "upstream_versions.yaml"


def test_the_file_of_an_installed_patchkit_is_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location, "_PACKAGE", tmp_path)
    (tmp_path / "data" / "patches" / "megatron").mkdir(parents=True)
    (tmp_path / "data" / "upstream_versions.yaml").touch()

    with pytest.raises(UsageError) as caught:
        own_versions_file(default_patches())
    path = tmp_path / "data" / "upstream_versions.yaml"
    assert caught.value.message == f"{path} belongs to the installed patchkit and is not changed"


@pytest.mark.parametrize(
    ("folder", "option"),
    [
        (Path("patches/megatron"), ""),
        (Path("../other/patches/megatron"), " --patches ../other/patches/megatron"),
        (Path("/a b/$series"), " --patches '/a b/$series'"),
    ],
)
def test_a_command_names_the_series_that_it_would_not_take_anyway(folder: Path, option: str) -> None:
    assert series_option(folder) == option
