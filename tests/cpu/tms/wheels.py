"""Wheels of torch_memory_saver: from the cache of whoever runs the tests, or through their pip."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from patchkit.core.memory_saver import MemorySaver
from patchkit.store.cache import default_cache
from patchkit.store.location import default_patches, versions_file
from patchkit.store.versions import load_versions
from patchkit.trees.index import fetch_wheel

VERSIONS = ("0.0.8", "0.0.9", "0.0.9.post1", "0.0.10")


@cache
def memory_saver() -> MemorySaver:
    """What upstream_versions.yaml says of torch_memory_saver."""
    return load_versions(versions_file(default_patches())).torch_memory_saver


@cache
def fetch_saver(version: str) -> tuple[Path, ...]:
    """Every wheel of a release, that of 64-bit Intel last."""
    release = next(item for item in memory_saver().releases if item.version == version)
    return tuple(
        fetch_wheel(memory_saver().distribution, version, {name: digest}, cache=default_cache())
        for name, digest in sorted(release.files.items())
    )
