"""The example runs as its first lines say, with and without pauses to the same end."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from .conftest import Wheel
from .wheels import fetch_saver

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.network


def run(*options: str) -> list[str]:
    script = ROOT / "examples" / "rl_loop.py"
    done = subprocess.run(
        [sys.executable, "-B", str(script), "--simulate", "--saver", str(fetch_saver("0.0.10")[-1]), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout.splitlines()


def test_a_pause_leaves_the_optimizer_on_the_host_and_nothing_on_the_device() -> None:
    lines = run("--poison")

    assert [line.split(";")[0] for line in lines[:-1]] == [
        f"round {number}: device 6 MiB, host 0 MiB -> device 0 MiB, host 1 MiB" for number in range(3)
    ]
    assert lines[-1] == run("--no-offload")[-1]
    assert lines[-1].startswith("weights 0.266")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--simulate", "--saver", "nowhere.whl"], "nowhere.whl does not exist"),
        # In a Python without torch, or on a machine without a GPU.
        ([], "there is no GPU here" if importlib.util.find_spec("torch") else "torch cannot be imported"),
        ([], "--simulate does without"),
    ],
)
def test_what_is_missing_is_said_in_a_line(options: list[str], said: str) -> None:
    script = ROOT / "examples" / "rl_loop.py"
    done = subprocess.run(
        [sys.executable, "-B", str(script), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_saver_is_for_the_simulation_only() -> None:
    """On a GPU the library that was preloaded counts, and another one that is named would not be looked at."""
    script = ROOT / "examples" / "rl_loop.py"
    done = subprocess.run(
        [sys.executable, "-B", str(script), "--saver", "some.whl"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "--saver is for --simulate" in done.stderr


PAGE = (ROOT / "docs" / "adopting.md").read_text(encoding="utf-8")
BLOCKS = [textwrap.dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```$", PAGE, re.DOTALL | re.MULTILINE)]


def test_the_output_on_the_page_is_that_of_the_example() -> None:
    shown = re.search(r"--poison\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    assert run("--poison") == shown[1].splitlines()


def test_the_lines_for_arguments_run_as_they_stand(wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    (lines,) = [block for block in BLOCKS if "resolve_offload_arguments" in block]
    monkeypatch.setattr("patchkit.tms.package.installed_package", lambda: wheel("0.0.10"))
    monkeypatch.setattr(sys, "argv", ["train.py"])
    parser = argparse.ArgumentParser()
    parser.add_argument("--record-memory-history", action="store_true", default=True)
    parser.set_defaults(offload_train=True, use_distributed_optimizer=True)
    names: dict[str, Any] = {"parser": parser}
    exec(lines, names)  # noqa: S102 - our own page

    args = names["args"]
    assert (args.record_memory_history, args.disable_grad_buffers_cpu_backup) == (False, True)
    assert (args.disable_param_buffers_cpu_backup, names["resolved"].warnings) == (True, ())
