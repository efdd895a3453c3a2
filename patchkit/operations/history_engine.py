"""The name of the engine at hand: two with one name carry every patch alike."""

from __future__ import annotations

import hashlib
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import patchkit
from patchkit import __version__

_PACKAGES = ("pyflakes", "rapidfuzz")
"""What carrying rests on beside Python and our own code."""
_OUTSIDE = ("operations/rebase_carry.py", "operations/history_carry.py")


@lru_cache(maxsize=1)
def engine() -> str:
    """Return a digest of everything that carries: the code, the packages below it, and Python."""
    root = Path(patchkit.__file__).parent
    told = hashlib.sha256(f"{__version__} {platform.python_version()} {' '.join(map(_version, _PACKAGES))}".encode())
    files = [*sorted((root / "core").rglob("*.py")), *(root / name for name in _OUTSIDE)]
    for file in files:
        told.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return told.hexdigest()[:32]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"
