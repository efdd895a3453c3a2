"""What a remembered answer depends on beside its inputs: the engine that gave it."""

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
"""Packages of others that have one; their version stands in their first file."""


@lru_cache(maxsize=1)
def engine_digest() -> str:
    """Return 32 hexadecimal digits that change when the code behind an answer does, or the Python that runs it.

    Told by content, not by times: a cache that is carried from one machine to the next is as good there.
    """
    root = Path(patchkit.__file__).parent
    told = hashlib.sha256(repr((patchkit.__version__, sys.version)).encode())
    for file in sorted(file for folder in _FOLDERS for file in (root / folder).rglob("*.py")):
        told.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    for name in _LIBRARIES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            told.update(name.encode() + b"\0" + Path(spec.origin).read_bytes() + b"\0")
    return told.hexdigest()[:32]
