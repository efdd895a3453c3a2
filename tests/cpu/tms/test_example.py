"""The example runs as its first lines say, with and without pauses to the same end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
