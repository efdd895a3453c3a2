"""What the tests of the cycle share."""

from __future__ import annotations

import importlib.util

import pytest

from .trainings import Train, Trainings


@pytest.fixture(scope="session")
def train(tmp_path_factory: pytest.TempPathFactory) -> Train:
    """Train, or return what came of the same training."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; its CPU build is enough")
    return Trainings(tmp_path_factory.mktemp("cycle")).train
