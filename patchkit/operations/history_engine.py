"""The name of the engine at hand: two with one name carry every patch alike."""

from __future__ import annotations

import hashlib
import platform
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import patchkit
from patchkit import __version__

_PACKAGES = ("pyflakes", "rapidfuzz")
"""What carrying rests on beside Python and our own code; told by its files, since importing it takes longer."""
_OUTSIDE = ("operations/rebase_carry.py", "operations/history_carry.py")


@lru_cache(maxsize=1)
def engine() -> str:
    """Return a digest of everything that carries: the code, the packages below it, and Python."""
    root = Path(patchkit.__file__).parent
    told = hashlib.sha256(
        f"{__version__} {platform.python_version()} {[_marks(package) for package in _PACKAGES]}".encode()
    )
    files = [*sorted((root / "core").rglob("*.py")), *(root / name for name in _OUTSIDE)]
    for file in files:
        told.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return told.hexdigest()[:32]


def _marks(package: str) -> list[tuple[str, int, int]]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return []
    files = sorted(entry for entry in Path(spec.origin).parent.iterdir() if entry.is_file())
    return [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files]
