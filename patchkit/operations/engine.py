"""What a remembered result of the carry engine depends on beside its inputs: the engine itself."""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import patchkit

_FOLDERS = ("core", "operations", "trees")
"""Parts of the package that have a say in an answer."""
_LIBRARIES = ("pyflakes", "rapidfuzz")
"""Packages of others that have one."""


@lru_cache(maxsize=1)
def engine_digest() -> str:
    """Return 16 hexadecimal digits that change when the code behind an answer does, or the Python that runs it.

    Our code is told by version, sizes and times of its files, which an edit in a checkout changes as well as an update;
    reading all of them would take longer than most answers.
    """
    root = Path(patchkit.__file__).parent
    files = sorted(file for folder in _FOLDERS for file in (root / folder).rglob("*.py"))
    # A library's version stands in its first file; to ask the installation for it takes longer than all the rest.
    specs = [find_spec(name) for name in _LIBRARIES]
    files += [Path(spec.origin) for spec in specs if spec is not None and spec.origin is not None]
    marks = [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files]
    return hashlib.sha256(repr((patchkit.__version__, sys.version, marks)).encode()).hexdigest()[:16]
