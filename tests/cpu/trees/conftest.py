from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .indexes import Index, only_index


@pytest.fixture(autouse=True)
def _hermetic(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the git nor the pip of whoever runs the tests, nor their cache, has a say."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "PIP_", "PATCHKIT_", "XDG_")):
            monkeypatch.delenv(name)
    home: Path = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """For hundreds of writes: flushing is counted and may fail, but no test pulls the plug."""
    monkeypatch.setattr(os, "fsync", os.fstat)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """The one index that pip is set up for."""
    with only_index(monkeypatch) as made:
        yield made


@pytest.fixture
def no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("pip was started")

    monkeypatch.setattr(subprocess, "Popen", fail)
