"""Which Python can train; torch is not needed to find out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.errors import TmsNotFoundError, TrainerError
from patchkit.tms.cycle.interpreter import TESTED, Interpreter, look_at_python

REQUIREMENTS = Path(__file__).parents[2] / "requirements-behaviour.txt"
VERSION = ".".join(map(str, sys.version_info[:3]))

MakeTorch = Callable[[str], None]


@pytest.fixture
def torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeTorch:
    """Put packages into the way of this Python that have the needed names, torch with this version.py."""

    def make(version: str) -> None:
        for name in ("torch", "numpy", "packaging"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text("raise SystemExit('this was imported')")
        (tmp_path / "torch" / "version.py").write_text(version)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return make


def bare(tmp_path: Path) -> str:
    """A Python without site-packages."""
    script = tmp_path / "bare"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_the_torch_that_is_named_is_the_one_that_the_tests_train_with() -> None:
    assert f"torch=={TESTED}\n" in REQUIREMENTS.read_text()


def test_a_python_is_asked_what_it_has_without_importing_it(torch: MakeTorch) -> None:
    torch("__version__ = '2.13.0+cpu'\ncuda = None\nhip = None\n")
    found = look_at_python(sys.executable)

    assert (found.path, found.version, found.torch) == (sys.executable, VERSION, "2.13.0+cpu")


@pytest.mark.parametrize("made_for", ["cuda = '13.0'", "hip = '6.4'\ncuda = None"])
def test_a_torch_for_a_gpu_is_refused_as_it_would_load_the_simulated_libraries(torch: MakeTorch, made_for: str) -> None:
    torch(f"__version__ = '2.13.0'\n{made_for}\n")

    with pytest.raises(TrainerError) as caught:
        look_at_python(sys.executable)

    message = f"torch 2.13.0 of {sys.executable} is built for a GPU, and would load the simulated CUDA"
    hint = "make an environment with the CPU build of torch, such as 2.13.0, and name its Python with --interpreter"
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_everything_that_is_missing_is_named_with_the_version_to_install(tmp_path: Path) -> None:
    with pytest.raises(TrainerError) as caught:
        look_at_python(bare(tmp_path))

    assert caught.value.message.endswith("has no torch, no numpy, no packaging, and real Megatron is what is trained")
    assert caught.value.hint == (
        "install there: torch==2.13.0 numpy packaging (of torch the CPU build), or name another Python with"
        " --interpreter"
    )


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("#!/bin/sh\necho no >&2\nexit 3\n", "does not say what it has: no"),
        ("#!/bin/sh\nexit 3\n", "does not say what it has: it ended with 3"),
        ("#!/bin/sh\necho hello\n", "does not say what it has: hello"),
    ],
)
def test_what_is_no_python_is_told(tmp_path: Path, script: str, message: str) -> None:
    path = tmp_path / "program"
    path.write_text(script)
    path.chmod(0o755)

    with pytest.raises(TrainerError) as caught:
        look_at_python(str(path))

    assert caught.value.message == f"{path} {message}"


def test_a_python_that_is_not_there_is_told() -> None:
    with pytest.raises(TrainerError, match="cannot run /nowhere/python: No such file or directory"):
        look_at_python("/nowhere/python")


def test_a_python_without_torch_memory_saver_has_none_to_train_with(tmp_path: Path) -> None:
    with pytest.raises(TmsNotFoundError, match="torch_memory_saver is not installed in /usr/bin/x") as caught:
        Interpreter("/usr/bin/x", "3.11.7", "2.13.0+cpu", None).installed_saver(cache=tmp_path)

    assert caught.value.hint == "name one with --tms, such as 0.0.10"
