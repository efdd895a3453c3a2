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
import threading
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
LIMIT = 300  # seconds for one child; it takes two
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


class Workers:
    """Processes of worker.py, one for each thread that asks, each with one order at a time."""

    def __init__(self) -> None:
        self._mine = threading.local()
        self._all: list[subprocess.Popen[str]] = []

    def run(self, tree: Path, scenarios: list[str], folder: Path) -> Answer:
        """Have them run in a process of their own, and return its result."""
        result, errors = folder / "result.json", folder / "errors.txt"
        order = {"tree": str(tree), "scenarios": scenarios, "out": str(result), "errors": str(errors), "limit": LIMIT}
        worker = self._worker()
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(json.dumps(order) + "\n")
        worker.stdin.flush()
        if (code := worker.stdout.readline().strip()) != "0":
            said = errors.read_text(encoding="utf-8", errors="replace") if errors.exists() else "nothing"
            raise RuntimeError(f"the child of {tree} ended with {code or worker.wait()}:\n{said[-4000:]}")
        answers: Answer = json.loads(result.read_text(encoding="utf-8"))
        return answers

    def close(self) -> None:
        """End them."""
        for worker in self._all:
            # Its input ends, and so does it.
            worker.communicate()

    def _worker(self) -> subprocess.Popen[str]:
        if not hasattr(self._mine, "worker"):
            self._mine.worker = subprocess.Popen(
                [sys.executable, "-B", str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={
                    **os.environ,
                    "CUDA_VISIBLE_DEVICES": "",
                    "OMP_NUM_THREADS": "1",
                    "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
                },
            )
            self._all.append(self._mine.worker)
        worker: subprocess.Popen[str] = self._mine.worker
        return worker


class Runs:
    """The answers for all trees, asked for in the order of the tests."""

    def __init__(self, asked: dict[tuple[str, str], list[str]], folder: Path) -> None:
        self._folder = folder
        self._workers = Workers()
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
        self._workers.close()

    def _run(self, kind: str, target: str, scenarios: list[str]) -> Answer:
        """Make the tree, run the child, and remove the tree, as twenty releases fill a disk."""
        folder = self._folder / f"{kind}-{target}"
        folder.mkdir()
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, folder)
            return self._workers.run(TREES[kind](target, folder / "tree"), scenarios, folder)


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
