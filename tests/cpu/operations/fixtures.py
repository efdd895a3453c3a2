"""Fixtures for the tests of operations and of the command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from unittest import mock

import pytest

from patchkit.operations.sources import Workspace, fetch_release, load_workspace
from patchkit.store.cache import default_cache

from . import made_up

ENVIRONMENT = dict(os.environ)
"""As whoever runs the tests has it: releases are fetched with it, and nothing else is done with it."""
CACHE = default_cache()
"""Where releases are kept from one run of the tests to the next."""

ReleaseWheel = Callable[[str], Path]


@pytest.fixture(scope="session")
def made_up_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the releases of the made-up Megatron and nothing else."""
    cache = tmp_path_factory.mktemp("cache")
    made_up.fill_cache(cache)
    return cache


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder without anything in it."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def hermetic(made_up_cache: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither git nor pip of whoever runs the tests, nor their cache, nor a network, nor the disk's speed has a say."""
    for name in ENVIRONMENT:
        if name.startswith(("GIT_", "PIP_", "PATCHKIT_", "XDG_")):
            monkeypatch.delenv(name, raising=False)
    settings = {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INDEX": "1",
        "PATCHKIT_CACHE": str(made_up_cache),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "fsync", os.fstat)


@lru_cache(maxsize=1)
def load_built_in() -> Workspace:
    """The series that patchkit ships."""
    return load_workspace()


@cache
def fetch(version: str) -> Path:
    """The wheel of a release, from the user's cache or with the user's pip."""
    with mock.patch.dict(os.environ, ENVIRONMENT, clear=True):
        workspace = load_built_in()
        return fetch_release(workspace.versions, workspace.named(version), cache=CACHE)


@pytest.fixture
def built_in() -> Workspace:
    """The series that patchkit ships, loaded."""
    return load_built_in()


@pytest.fixture
def release_wheel(monkeypatch: pytest.MonkeyPatch) -> ReleaseWheel:
    """Return the wheel of a release of Megatron; with it, patchkit finds releases in the user's cache."""
    monkeypatch.setenv("PATCHKIT_CACHE", str(CACHE))
    return fetch


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """The folder of the made-up series, lock and generated patches included."""
    return made_up.lay_series(tmp_path / "series")
