"""What a remembered answer depends on beside its inputs: the engine that gave it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import patchkit
from patchkit.store.cache import ContentCache, default_cache

_FOLDERS = ("core", "operations", "trees")
"""Parts of the package that have a say in an answer."""
_LIBRARIES = ("pyflakes", "rapidfuzz")
"""Packages of others that have one; their version stands in their first file."""


@lru_cache(maxsize=1)
def engine_digest() -> str:
    """Return 32 hexadecimal digits that change when the code behind an answer does, or the Python that runs it.

    Told by content: a cache that is carried from one machine to the next is as good there. Sizes and times tell whether
    the content has to be read again.
    """
    files = _files()
    key = hashlib.sha256(repr((sys.version, _marks(files))).encode()).hexdigest()
    cache = ContentCache(default_cache())
    kept = cache.get("engine", key)
    if isinstance(kept, str):
        return kept
    digest = _read(files)
    cache.put("engine", key, digest)
    return digest


@lru_cache(maxsize=8)
def library_digest(name: str) -> str:
    """Return 16 hexadecimal digits that change when another build of the package ``name`` is installed.

    Told by the names, times and sizes of its files, which takes a fraction of what asking for its version takes.
    """
    spec = find_spec(name)
    origin = Path(spec.origin) if spec is not None and spec.origin is not None else Path()
    files = sorted(str(entry) for entry in origin.parent.iterdir() if entry.is_file())
    return hashlib.sha256(repr(_marks(files)).encode()).hexdigest()[:16]


def _marks(files: Iterable[str]) -> list[tuple[str, int, int, int]]:
    # A build that gives every file one time, or a clock that was set back, leaves the time of the change (stat(2)).
    stats = ((file, os.stat(file)) for file in files)  # noqa: PTH116 - as above
    return [(file, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size) for file, stat in stats]


def _files() -> Sequence[str]:
    root = os.path.dirname(patchkit.__file__)  # noqa: PTH120 - as in _below
    files = [f"{root}/__init__.py", *sorted(file for name in _FOLDERS for file in _below(f"{root}/{name}"))]
    specs = [find_spec(name) for name in _LIBRARIES]
    return [*files, *(spec.origin for spec in specs if spec is not None and spec.origin is not None)]


def _below(folder: str) -> Iterator[str]:
    """Yield the Python files below a folder: as text, since two hundred paths take longer than all of a short run."""
    for place, _folders, names in os.walk(folder):
        yield from (f"{place}/{name}" for name in names if name.endswith(".py"))


def _read(files: Sequence[str]) -> str:
    root = Path(patchkit.__file__).parent
    told = hashlib.sha256(sys.version.encode())
    for file in map(Path, files):
        name = file.relative_to(root).as_posix() if file.is_relative_to(root) else file.parent.name
        told.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return told.hexdigest()[:32]
