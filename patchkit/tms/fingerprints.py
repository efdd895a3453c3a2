"""What tells the builds of torch_memory_saver apart: symbols, Python files, digests, and the lines that they print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

import msgspec

MARKERS = ("cudaDeviceSynchronize", "cudaMemGetInfo", "cuMemGetAllocationGranularity")
"""Imported functions of CUDA that came with a feature or a fix, and so tell builds apart."""

_HOOKS = frozenset({"tms_torch_malloc", "tms_torch_free"})
"""In the library of hook mode torch only, so no mark of a version."""


class Printed(msgspec.Struct, frozen=True, array_like=True):
    """A place in the C++ sources that prints where it is before it ends the process."""

    file: str
    """Without its folder, such as ``core.cpp``."""
    function: str
    line: int
    """1-based, as the compiler counts it."""
    what: str
    """``CUresult cuMemUnmap``: the call that failed; or the text itself."""


class Fingerprint(msgspec.Struct, frozen=True):
    """One build: a release on the index, or a commit."""

    version: str
    """What it calls itself."""
    exports: tuple[str, ...]
    """Its own C functions, sorted; see interface_of."""
    markers: tuple[str, ...]
    """Which of MARKERS it imports."""
    python: Mapping[str, str]
    """SHA-256 of each Python file, by path below site-packages."""
    prints: tuple[Printed, ...]
    libraries: Mapping[str, str] = {}
    """Of a release: ``WHEEL:LIBRARY`` by SHA-256 of the library."""


def interface_of(symbols: Iterable[str]) -> frozenset[str]:
    """Return the C functions of torch_memory_saver among symbols, those left out that only one hook mode has."""
    own = {name for name in symbols if name.startswith("tms_") or name == "set_memory_margin_bytes"}
    return frozenset(own - _HOOKS)


@cache
def known_builds() -> Mapping[str, Fingerprint]:
    """Return the builds that have been looked at, oldest first: releases by version, then commits by full id.

    Made by tests/cpu/tms/record_fingerprints.py from wheels and sources.
    """
    text = files("patchkit.tms").joinpath("data", "fingerprints.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, Fingerprint])
