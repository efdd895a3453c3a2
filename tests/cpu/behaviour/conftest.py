"""Megatron trees, and one child process for each of them that runs all scenarios the tests ask for."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from releases import prepared_trees

import patchkit
from patchkit.operations.make import apply_to
from patchkit.operations.sources import Workspace, fetch_release, load_workspace
from patchkit.trees.archive import WheelTree, unpack

Answer = dict[str, Any]
Ask = Callable[[str, str], Answer]

ROOT = Path(patchkit.__file__).parents[1]  # The child imports what it shares with `patchkit tms cycle`.
WORKER = Path(__file__).with_name("worker.py")
LIMIT = 300  # seconds for one child; it takes five
MOST = 8  # children at a time, half a GiB each


# Where trees come from.


def unpatched_tree(version: str, into: Path) -> Path:
    """The release as it is on the index, in the new folder ``into``."""
    prepared = prepared_trees()
    if prepared is not None:
        return prepared / "unpatched" / version
    unpack(WheelTree(_wheel(version)), into, {})
    return into


def patched_tree(version: str, into: Path, patches: tuple[str, ...] = ()) -> Path:
    """The release with these patches (none: the whole series), in the new folder ``into``."""
    prepared = prepared_trees()
    if prepared is not None:
        return prepared / ("grads-only" if patches else "patched") / version
    report = apply_to(_workspace(), _wheel(version), into, asked=version, patches=patches)
    assert report.ok, report
    return into


@functools.cache
def _workspace() -> Workspace:
    return load_workspace()


@functools.cache
def _wheel(version: str) -> Path:
    workspace = _workspace()
    return fetch_release(workspace.versions, workspace.target(version))


TREES: dict[str, Callable[[str, Path], Path]] = {
    "unpatched": unpatched_tree,
    "patched": patched_tree,
    "grads_only": lambda version, into: patched_tree(version, into, ("no-backup-grad-buffers",)),
}


# What is run in them.

_ASKED = pytest.StashKey[dict[tuple[str, str], list[str]]]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note what the chosen tests will ask of each tree, in the order of the tests."""
    asked: dict[tuple[str, str], list[str]] = {}
    for item in session.items:
        if isinstance(item, pytest.Function) and "runs" in item.fixturenames and hasattr(item, "callspec"):
            target, scenario = str(item.callspec.params["target"]), str(item.callspec.params["scenario"])
            for kind in TREES:
                if kind in item.fixturenames:
                    asked.setdefault((kind, target), []).append(scenario)
    session.stash[_ASKED] = asked


class Runs:
    """The children, a processor each, started in the order of the tests."""

    def __init__(self, asked: dict[tuple[str, str], list[str]], folder: Path) -> None:
        self._folder = folder
        self._pool = ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, MOST))
        self._results: dict[tuple[str, str], Future[Answer]] = {
            key: self._pool.submit(self._run, *key, scenarios) for key, scenarios in asked.items()
        }

    def answer(self, kind: str, target: str, scenario: str) -> Answer:
        """Wait for the child of that tree and return its answer."""
        result = self._results[kind, target].result()[scenario]
        if "failed" in result:
            pytest.fail(f"{scenario!r} in the {kind} tree of {target}:\n{result['failed']}", pytrace=False)
        answer: Answer = result["answer"]
        return answer

    def close(self) -> None:
        """Drop what no test waits for any more."""
        self._pool.shutdown(cancel_futures=True)

    def _run(self, kind: str, target: str, scenarios: list[str]) -> Answer:
        """Make the tree, run the child, and remove the tree, as twenty releases fill a disk."""
        folder = self._folder / f"{kind}-{target}"
        folder.mkdir()
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, folder)
            tree = TREES[kind](target, folder / "tree")
            result = folder / "result.json"
            chosen = [part for scenario in scenarios for part in ("--scenario", scenario)]
            child = subprocess.run(
                [sys.executable, "-B", str(WORKER), "--tree", str(tree), "--out", str(result), *chosen],
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
                env={
                    **os.environ,
                    "CUDA_VISIBLE_DEVICES": "",
                    "OMP_NUM_THREADS": "1",
                    "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
                },
            )
            if child.returncode != 0:
                raise RuntimeError(f"the child of the {kind} tree of {target} failed:\n{child.stderr[-4000:]}")
            answers: Answer = json.loads(result.read_text(encoding="utf-8"))
            return answers


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """All children of the session."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; its CPU build is enough")
    children = Runs(request.session.stash[_ASKED], tmp_path_factory.mktemp("behaviour"))
    yield children
    children.close()


@pytest.fixture
def unpatched(runs: Runs) -> Ask:
    """Ask the release as it is."""
    return lambda target, scenario: runs.answer("unpatched", target, scenario)


@pytest.fixture
def patched(runs: Runs) -> Ask:
    """Ask the release with the whole series."""
    return lambda target, scenario: runs.answer("patched", target, scenario)


@pytest.fixture
def grads_only(runs: Runs) -> Ask:
    """Ask the release with the first patch alone."""
    return lambda target, scenario: runs.answer("grads_only", target, scenario)
