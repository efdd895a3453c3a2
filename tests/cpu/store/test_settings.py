from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.errors import StoreError
from patchkit.store.location import series_option
from patchkit.store.settings import Settings, find_settings, settings_text


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two series, and the current folder."""
    for name in ("patches/one", "patches/two", "deep/below"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_init_writes_names_the_series_from_its_own_folder(project: Path) -> None:
    (project / "patchkit.toml").write_bytes(settings_text(Path('patches/one "and" more')))
    (project / 'patches/one "and" more').mkdir()

    assert find_settings(Path()) == Settings(Path("patchkit.toml"), Path('patches/one "and" more'))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("patchkit.toml", 'patches = "patches/one"\n'),
        ("pyproject.toml", '[tool.patchkit]\npatches = "patches/one"\n'),
        ("pyproject.toml", 'tool.patchkit = {patches = "patches/one"}\n'),
    ],
)
def test_the_nearest_settings_upward_count(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    (project / name).write_text(text)
    # A project's file in which there is nothing of ours is none.
    (project / "deep/pyproject.toml").write_text('[project]\nname = "uses-patchkit"\n')
    monkeypatch.chdir(project / "deep/below")

    assert find_settings(Path()) == Settings(project / name, project / "patches/one")
    assert series_option(project / "patches/one") == ""
    assert series_option(project / "patches/two") == f" --patches {project}/patches/two"


def test_in_one_folder_our_own_file_goes_before_the_projects(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.patchkit]\npatches = "patches/two"\n')
    (project / "patchkit.toml").write_text('patches = "patches/one"\n')

    assert find_settings(Path()) == Settings(Path("patchkit.toml"), Path("patches/one"))


def test_a_series_at_the_top_has_its_parents_in_its_name(project: Path) -> None:
    (project / "series").mkdir()
    (project / "patchkit.toml").write_text('patches = "series"\n')

    assert find_settings(Path()) == Settings(Path("patchkit.toml"), project / "series")


def test_without_settings_there_is_none(project: Path) -> None:
    assert find_settings(Path()) is None
    assert series_option(Path("patches/megatron")) == ""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("patchkit.toml", "patches = ", "patchkit.toml: it is no TOML: "),
        pytest.param(
            "patchkit.toml", f"a = {'[' * 20_000}", "patchkit.toml: it is nested too deep to be read", id="nested"
        ),
        pytest.param(
            "patchkit.toml",
            f"{'a.' * 50_000}a = 1",
            "patchkit.toml: it has a key of more than 100 parts (at line 1)",
            id="parts",
        ),
        pytest.param(
            "pyproject.toml",
            f"[tool.patchkit]\n{'a.' * 50_000}a = 1",
            "pyproject.toml: it has a key of more than 100 parts (at line 2)",
            id="parts of pyproject",
        ),
        pytest.param("patchkit.toml", "#" * (1 << 20) + "\n", "patchkit.toml: it is larger than 1 MiB", id="large"),
        pytest.param(
            "pyproject.toml", "#" * (4 << 20) + "\n", "pyproject.toml: it is larger than 4 MiB", id="large pyproject"
        ),
        pytest.param("patchkit.toml", f"a = {'9' * 5000}", "patchkit.toml: it is no TOML: ", id="digits"),
        pytest.param(
            "patchkit.toml",
            f'patches = "{"a/" * 5000}"',
            "patchkit.toml: patches: there is no folder a/a/a/",
            id="long",
        ),
        ("patchkit.toml", 'patches = "a\\u0000b"', "patchkit.toml: patches: there is no folder a\0b"),
        ("patchkit.toml", "", "patchkit.toml: patches: it must be there, and name the folder of a series"),
        ("patchkit.toml", "patches = 1", "patchkit.toml: patches: it must be there, and name the folder of a series"),
        (
            "patchkit.toml",
            'patch = "x"',
            "patchkit.toml: patch: there is no such setting; the one there is is `patches`",
        ),
        ("patchkit.toml", 'patches = "x"', "patchkit.toml: patches: there is no folder x"),
        ("pyproject.toml", "[tool]\npatchkit = 1", "pyproject.toml: tool.patchkit: it must be a table"),
        (
            "pyproject.toml",
            '[tool.patchkit]\npatches = "x"',
            "pyproject.toml: tool.patchkit.patches: there is no folder x",
        ),
    ],
)
def test_settings_that_say_nothing_are_an_error_with_file_and_key(
    project: Path, name: str, text: str, message: str
) -> None:
    (project / name).write_text(text)

    with pytest.raises(StoreError) as caught:
        find_settings(Path())

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Path.mkdir, "it is no regular file but a folder"),
        (os.mkfifo, "it is no regular file but a named pipe"),
        (lambda file: file.symlink_to("gone"), "it is a link, and what it leads to is not there"),
        (lambda file: file.symlink_to(file.name), "Too many levels of symbolic links"),
    ],
)
@pytest.mark.parametrize("name", ["patchkit.toml", "pyproject.toml"])
def test_what_is_called_like_the_settings_and_is_no_file_is_an_error(
    project: Path, make: Callable[[Path], None], message: str, name: str
) -> None:
    make(project / name)

    with pytest.raises(StoreError) as caught:
        find_settings(Path())
    assert caught.value.message == f"{name}: {message}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_settings_that_cannot_be_read_are_an_error(project: Path) -> None:
    (project / "patchkit.toml").write_text('patches = "patches/one"\n')
    (project / "patchkit.toml").chmod(0)

    with pytest.raises(StoreError):
        find_settings(Path())
