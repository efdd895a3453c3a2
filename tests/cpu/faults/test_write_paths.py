"""Whatever changes a file has a scenario, in which every fault is tried."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from .trying import ROOT, settled
from .writers import all_writers, writers

# What no scenario runs, and why.
WITHOUT = {
    "cli/commands/tms_cycle.py:_trainable": "a temporary folder",
    "cli/schemas.py:main": "makes files of this repository",
    "operations/init.py:_Beside.take_back": "after an error: what ENOSPC and the others try",
    "operations/series_files.py:_take_back": "after an error: what ENOSPC and the others try",
    "store/files.py:write_reports": "its own writes go to what is no file (test_files.py)",
    "tms/cycle/on_gpu.py:Runs.__init__": "a new folder of measurements, which needs a GPU",
    "tms/cycle/on_gpu.py:Runs._run": "as above",
    "tms/cycle/on_gpu.py:Runs._start": "as above",
    "tms/cycle/on_gpu.py:_compiler_paths": "as above",
    "tms/cycle/trainings.py:Bench._run": "a temporary folder",
    "tms/cycle/trainings.py:Bench.train": "as above",
    "tms/cycle/worker/checkpoint.py:save": "as above",
    "tms/cycle/worker/child.py:fork_rank": "as above",
    "tms/cycle/worker/child.py:main": "as above",
    "tms/cycle/worker/gpu.py:main": "as above",
    "tms/probe.py:_Bench.run": "as above",
    "tms/probe.py:_preloadable": "as above",
    "tms/simulator/child.py:fork_off": "as above",
    "trees/transaction.py:_put_back": "its own part is folders that the write had made: test_transaction.py",
}


def test_every_function_that_changes_files_is_run_by_a_scenario(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "faults.writers", str(tmp_path)]
    home = tmp_path / "home"
    home.mkdir()
    done = subprocess.run(command, env=settled(os.environ, home), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]

    assert all_writers().keys() - set(json.loads(done.stdout)) == WITHOUT.keys()


def test_a_function_that_changes_files_is_known_by_its_text() -> None:
    source = """
def reads(path):
    path.read_bytes(), open(path), path.open("rb"), os.open(path, os.O_RDONLY), "a".replace("b", "c")

@contextmanager
def makes(path):
    with path.open("wb") as file:
        file.write(b"")

class Place:
    def take(self, other):
        def later():
            os.unlink(other)
        self.path.replace(other)
        program.output("cat-file", "blob")

def commits(program):
    program.output("update-ref", "refs/heads/x")

def flags(path):
    return os.open(path, _NEW), os.replace(path, path)
"""

    assert list(writers(source)) == [
        (5, "makes"),
        (12, "Place.take.later"),
        (11, "Place.take"),
        (17, "commits"),
        (20, "flags"),
    ]


def test_the_package_is_where_it_is_looked_for() -> None:
    # Else nothing would be found, and nothing lack.
    assert (ROOT / "patchkit" / "unfinished.py").is_file()
    assert {"unfinished.py:unfinished", "trees/transaction.py:_place", "store/cache.py:ContentCache.put"} <= set(
        all_writers()
    )
