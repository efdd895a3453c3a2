from __future__ import annotations

from pathlib import Path

import pytest

import patchkit
from patchkit.errors import UsageError
from patchkit.store import location
from patchkit.store.location import default_patches, own_patches, own_versions_file, series_option, versions_file

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
    assert own_patches() == Path("patches/megatron")


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
