"""What the tests of the cycle share."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from patchkit.cli.main import run
from patchkit.errors import TrainerError

from .trainings import Command, Train, Trainings


@pytest.fixture(scope="session")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> Trainings:
    """Patched trees, and what was trained on them."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; its CPU build is enough")
    try:
        return Trainings(tmp_path_factory.mktemp("cycle"))
    except TrainerError as error:  # Such as a torch for CUDA.
        pytest.skip(str(error))


@pytest.fixture
def train(trainings: Trainings) -> Train:
    """Train, or return what came of the same training."""
    return trainings.train


@pytest.fixture
def cycle(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `patchkit tms cycle` in this process; return code, output and errors."""

    def ran(*words: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["tms", "cycle", *map(str, words)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return ran
