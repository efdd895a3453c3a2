from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from operations.fixtures import built_in, hermetic, home, made_up_cache, release_wheel, series

from patchkit.cli.main import run

__all__ = ["built_in", "hermetic", "home", "made_up_cache", "release_wheel", "series"]


@dataclass(frozen=True)
class Ran:
    """What came of a command line."""

    code: int
    out: str
    err: str


Command = Callable[..., Ran]


@pytest.fixture
def patchkit(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line in this process."""

    def command(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return command


@pytest.fixture
def made_up(patchkit: Command, series: Path) -> Command:
    """As ``patchkit``, with the made-up series."""
    return lambda name, *arguments: patchkit(name, "--patches", series, *arguments)
