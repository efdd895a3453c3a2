"""Trees and packages for the cases: from the index, or from a folder of wheels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from patchkit.errors import PatchkitError
from patchkit.operations.make import apply_to
from patchkit.operations.sources import fetch_release, load_workspace
from patchkit.store.cache import default_cache
from patchkit.tms.cycle.cases import Case
from patchkit.tms.cycle.gpus import Machine
from patchkit.tms.cycle.on_gpu import Site
from patchkit.tms.package import Package, package_at
from patchkit.trees.archive import WheelTree, unpack
from patchkit.trees.index import cached_wheel, fetch_wheel


class Places:
    """Patched and released trees of Megatron, and torch_memory_saver, each made once."""

    def __init__(self, folder: Path, wheels: Path | None) -> None:
        self._folder = folder
        self._offline = wheels is not None
        self._cache = default_cache() if wheels is None else as_cache(wheels, folder / "cache")
        self.workspace = load_workspace()

    def site(self, machine: Machine, cases: Sequence[Case], folder: Path) -> Site:
        """Everything that the cases need."""
        trees = {
            (case.megatron, case.patched): self.tree(case.megatron, patched=case.patched)
            for case in sorted(cases, key=lambda case: case.id)
        }
        savers = {release: self.saver(release) for release in sorted({case.saver for case in cases if case.saver})}
        return Site(machine=machine, trees=trees, savers=savers, folder=folder)

    def tree(self, release: str, *, patched: bool) -> Path:
        """The folder that holds megatron/, as released or with the series."""
        into = self._folder / f"{release}-{'patched' if patched else 'released'}"
        if not into.is_dir():
            target = self.workspace.target(release)
            wheel = self._wheel(target.release.files if target.release else {}) or fetch_release(
                self.workspace.versions, target, cache=self._cache
            )
            if patched:
                report = apply_to(self.workspace, wheel, into, asked=release)
                assert report.ok, report
            else:
                unpack(WheelTree(wheel), into, {})
        return into

    def has_saver(self, release: str) -> bool:
        """Whether that torch_memory_saver can be had."""
        try:
            self.saver(release)
        except PatchkitError:
            return False
        return True

    def saver(self, release: str) -> Package:
        """A torch_memory_saver, unpacked."""
        known = self.workspace.versions.torch_memory_saver
        files_of = {each.version: each.files for each in known.releases}
        assert release in files_of, f"upstream_versions.yaml has no torch_memory_saver {release}"
        wheel = self._wheel(files_of[release]) or fetch_wheel(
            known.distribution, release, files_of[release], cache=self._cache, exact_platform=True
        )
        return package_at(wheel, cache=self._folder / "savers")

    def _wheel(self, files: Mapping[str, str]) -> Path | None:
        """A wheel that is there already; those of an architecture that this is not hold the same Python files."""
        fitting = {name: digest for name, digest in files.items() if "x86_64" in name}
        return cached_wheel(fitting, self._cache) if self._offline else None


def as_cache(wheels: Path, cache: Path) -> Path:
    """Make a cache of the wheels below a folder: they are known by their digests."""
    for wheel in sorted(path for path in wheels.rglob("*.whl") if path.is_file()):
        place = cache / "wheels" / hashlib.sha256(wheel.read_bytes()).hexdigest()
        place.mkdir(parents=True, exist_ok=True)
        link = place / wheel.name
        if not link.exists():
            link.symlink_to(wheel.resolve())
    return cache
