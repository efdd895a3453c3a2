"""Trainings under the simulator, each in processes of its own, and run once for all tests that look at it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchkit.operations.make import apply_to
from patchkit.operations.sources import fetch_release, load_workspace
from patchkit.store.cache import default_cache
from patchkit.store.location import default_patches, versions_file
from patchkit.store.versions import load_versions
from patchkit.tms.library import Cuda, preload_library
from patchkit.tms.package import Package, package_at
from patchkit.tms.simulator.build import simulator
from patchkit.trees.index import fetch_wheel

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "behaviour"))  # Where it is written which releases differ.

CACHE = default_cache()
LIMIT = 300  # seconds for one training, which takes four


@dataclass(frozen=True)
class Trained:
    """What came of the ranks of one training."""

    codes: list[int]
    answers: list[dict[str, Any]]
    """Of each rank; empty for one that died."""
    said: list[str]
    """Standard error of each rank."""
    reports: list[list[str]]
    """What the simulator saw in each rank."""

    @property
    def only(self) -> dict[str, Any]:
        """The answer of the one rank, which lived."""
        assert self.codes == [0], self.said[0][-3000:]
        return self.answers[0]


Train = Callable[..., Trained]


def fetch_saver(version: str) -> Package:
    """A release of torch_memory_saver, unpacked."""
    saver = load_versions(versions_file(default_patches())).torch_memory_saver
    files = next(release.files for release in saver.releases if release.version == version)
    wheel = fetch_wheel(saver.distribution, version, files, cache=CACHE, exact_platform=True)
    return package_at(wheel, cache=CACHE)


class Trainings:
    """Trees, and the trainings that were run on them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workspace = load_workspace()
        self._known: dict[str, Trained] = {}

    def train(self, megatron: str, saver: str = "0.0.10", *, world: int = 1, **changes: Any) -> Trained:
        """Train a patched release; see cycle_worker.py for the job."""
        job = {"flags": True, "sharded": True, "cycles": 3, "free": True, "touch": False, "restore": True, **changes}
        key = json.dumps([megatron, saver, world, job])
        if key not in self._known:
            self._known[key] = self._run(self._tree(megatron), fetch_saver(saver), world, job)
        return self._known[key]

    def _tree(self, megatron: str) -> Path:
        tree = self._folder / megatron
        if not tree.is_dir():
            wheel = fetch_release(self._workspace.versions, self._workspace.target(megatron))
            report = apply_to(self._workspace, wheel, tree, asked=megatron, patches=())
            assert report.ok, report
        return tree

    def _run(self, tree: Path, saver: Package, world: int, job: dict[str, Any]) -> Trained:
        folder = self._folder / f"run-{len(self._known)}"
        folder.mkdir()
        with ExitStack() as files:
            children = [
                self._start(tree, saver, folder, {**job, "rank": rank, "world": world}, files) for rank in range(world)
            ]
            codes = [child.wait(timeout=LIMIT) for child in children]
        ranks = range(world)
        return Trained(
            codes,
            [json.loads(read(folder / f"{rank}.json") or "{}") for rank in ranks],
            [read(folder / f"{rank}.said") for rank in ranks],
            [read(folder / f"{rank}.report").splitlines() for rank in ranks],
        )

    @staticmethod
    def _start(
        tree: Path, saver: Package, folder: Path, job: dict[str, Any], files: ExitStack
    ) -> subprocess.Popen[bytes]:
        rank = job["rank"]
        places = {"tree": tree, "saver": saver.root, "out": folder / f"{rank}.json", "store": folder / "store"}
        full = {**job, **{name: str(path) for name, path in places.items()}}
        return subprocess.Popen(
            [sys.executable, "-B", str(HERE / "cycle_worker.py"), json.dumps(full)],
            env=environment(saver, folder / f"{rank}.report"),
            stdout=subprocess.DEVNULL,
            stderr=files.enter_context((folder / f"{rank}.said").open("wb")),
        )


def environment(saver: Package, report: Path) -> dict[str, str]:
    """What `patchkit tms env` sets, with the simulator in the place of a driver."""
    return {
        **os.environ,
        "LD_PRELOAD": str(preload_library(Cuda(12), saver)),
        "LD_LIBRARY_PATH": f"{simulator(CACHE)}:{os.environ.get('LD_LIBRARY_PATH', '')}".strip(":"),
        "TMS_INIT_ENABLE": "1",
        "TMS_INIT_ENABLE_CPU_BACKUP": "1",
        "PATCHKIT_SIMULATOR_GRANULARITY": "4096",
        "PATCHKIT_SIMULATOR_REPORT": str(report),
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
    }


def read(path: Path) -> str:
    """The text of a file; empty when there is none."""
    return path.read_text(errors="replace") if path.exists() else ""
