"""Trainings, each run once for all tests that look at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from patchkit.operations.make import apply_to
from patchkit.operations.sources import fetch_release, load_workspace
from patchkit.store.cache import default_cache
from patchkit.store.location import default_patches, versions_file
from patchkit.store.versions import load_versions
from patchkit.tms.cycle.interpreter import look_at_python
from patchkit.tms.cycle.trainings import Bench, Trained, Training
from patchkit.tms.package import Package, package_at
from patchkit.trees.archive import WheelTree, unpack
from patchkit.trees.index import fetch_wheel

sys.path.insert(0, str(Path(__file__).parents[1] / "behaviour"))  # Where it is written which releases differ.
from releases import TARGETS, first_of_each_text

CACHE = default_cache()
NEWEST_SAVER = "0.0.10"
RELEASES = first_of_each_text([name for name, target in TARGETS.items() if target.release])
NEWEST = RELEASES[-1]

Train = Callable[..., Trained]
Command = Callable[..., tuple[int, str, str]]


def only(trained: Trained) -> dict[str, Any]:
    """The answer of the one rank, which lived."""
    assert trained.codes == (0,), trained.said[0][-3000:]
    return dict(trained.answers[0])


def fetch_saver(version: str) -> Package:
    """A release of torch_memory_saver, unpacked."""
    saver = load_versions(versions_file(default_patches())).torch_memory_saver
    files = next(release.files for release in saver.releases if release.version == version)
    wheel = fetch_wheel(saver.distribution, version, files, cache=CACHE, exact_platform=True)
    return package_at(wheel, cache=CACHE)


def _along(megatron: str, saver: str) -> list[Training]:
    """What the tests look at of a release and a build of torch_memory_saver."""
    both = (True, False)
    if saver != NEWEST_SAVER:
        return [Training(), *(Training(flags=False, free=free) for free in both)]
    found = [Training(), Training(flags=False, cycles=0)]
    if megatron in (RELEASES[0], NEWEST):
        found += [Training(flags=on, sharded=split) for on in both for split in both]
        found.append(Training(flags=False, sharded=False, cycles=0))
    if megatron == NEWEST:
        found += [Training(restore="none"), *(Training(flags=on, touch=True) for on in both)]
        found += [Training(world=2), Training(world=2, flags=False, cycles=0)]
    return found


class Trainings:
    """Trees, and the trainings that were run on them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workspace = load_workspace()
        self._interpreter = look_at_python(sys.executable)
        self._known: dict[tuple[str, str, int, Training], Trained] = {}

    def train(
        self,
        megatron: str,
        saver: str = NEWEST_SAVER,
        *,
        major: int = 12,
        others: Iterable[Training] = (),
        **changes: Any,
    ) -> Trained:
        """Train a patched release; ``changes`` are fields of Training, ``others`` run along where none is known."""
        training = Training(**changes)
        key = (megatron, saver, major, training)
        if key not in self._known:
            bench = Bench(self.tree(megatron), fetch_saver(saver), major, self._interpreter, CACHE)
            # What other tests look at runs along: importing torch and Megatron takes as long as ten trainings.
            along = (*_along(megatron, saver), *others)
            unknown = [each for each in along if (megatron, saver, major, each) not in self._known]
            for each, trained in bench.train([training, *unknown]).items():
                self._known[megatron, saver, major, each] = trained
        return self._known[key]

    def tree(self, megatron: str) -> Path:
        """A release with the series."""
        tree = self._folder / megatron
        if not tree.is_dir():
            report = apply_to(self._workspace, self._wheel(megatron), tree, asked=megatron, patches=())
            assert report.ok, report
        return tree

    def unpatched(self, megatron: str, into: Path) -> Path:
        """A release as it is, in the new folder ``into``."""
        unpack(WheelTree(self._wheel(megatron)), into, {})
        return into

    def _wheel(self, megatron: str) -> Path:
        return fetch_release(self._workspace.versions, self._workspace.target(megatron))
