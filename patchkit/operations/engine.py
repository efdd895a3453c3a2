"""What a remembered result of the carry engine depends on beside its inputs: the engine itself."""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import patchkit

_FOLDERS = ("core", "operations", "trees")
"""Parts of the package that have a say in an answer."""
_LIBRARIES = ("pyflakes", "rapidfuzz")
"""Distributions that have one."""


@lru_cache(maxsize=1)
def engine_digest() -> str:
    """Return 16 hexadecimal digits that change when the code behind an answer does, or the Python that runs it.

    Our code is told by version, sizes and times of its files, which an edit in a checkout changes as well as an update;
    reading all of them would take longer than most answers.
    """
    root = Path(patchkit.__file__).parent
    files = sorted(file for folder in _FOLDERS for file in (root / folder).rglob("*.py"))
    marks = [(str(file.relative_to(root)), file.stat().st_mtime_ns, file.stat().st_size) for file in files]
    versions = [patchkit.__version__, *(version(name) for name in _LIBRARIES), sys.version]
    return hashlib.sha256(repr((versions, marks)).encode()).hexdigest()[:16]
