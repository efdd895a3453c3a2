"""Building the stand-in with the C compiler of this machine; kept by the digest of its sources."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from patchkit.errors import SimulatorError

RUNTIMES = (12, 13)
"""CUDA majors that there is a runtime for."""

_SOURCES = ("simulator.h", "cuda.c", "cudart.c")
_FLAGS = ("-O1", "-fPIC", "-shared")


def simulator(cache: Path) -> Path:
    """Return the folder, below ``cache``, with libcuda.so.1 and libcudart.so.12 and .13; build them if need be.

    Raises SimulatorError.
    """
    place = cache / "tms-simulator" / _key()
    if place.is_dir():
        return place
    compiler = _compiler()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        from patchkit.unfinished import unfinished  # noqa: PLC0415 - only building needs it

        with unfinished(place, folder=True) as building:
            _build(compiler, building)
            building.rename(place)
    except OSError as error:
        # Somebody else may have been faster; what they built is the same.
        if not place.is_dir():
            raise SimulatorError(f"cannot keep the simulator in {place.parent}: {error.strerror}") from error
    return place


def _source(name: str) -> bytes:
    return files("patchkit.tms.simulator").joinpath(name).read_bytes()


def _key() -> str:
    parts = [platform.machine().encode(), *map(str.encode, _FLAGS), *map(_source, _SOURCES)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def _compiler() -> list[str]:
    """Return the command that compiles: $CC, this machine's compiler, or that of the package ziglang."""
    if sys.platform != "linux":
        raise SimulatorError(f"the simulator runs on Linux only, not on {sys.platform}")
    try:
        asked = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise SimulatorError(f"CC is no command line: {os.environ['CC']!r}: {error}") from error
    if asked:
        if shutil.which(asked[0]) is None:
            raise SimulatorError(f"there is no compiler {asked[0]}, which CC names")
        return asked
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise SimulatorError(
        "there is no C compiler to build the simulator with",
        hint="install gcc or clang, or the package ziglang: pip install ziglang",
    )


def _build(compiler: list[str], folder: Path) -> None:
    for name in _SOURCES:
        (folder / name).write_bytes(_source(name))
    _compile(compiler, folder, "libcuda.so.1", ["cuda.c", "-lpthread"])
    for major in RUNTIMES:
        name = f"libcudart.so.{major}"
        # The real ones give their symbols a version of that name, which libraries linked against them ask for.
        (folder / f"{name}.map").write_text(f"{name} {{ global: *; }};\n", encoding="ascii")
        _compile(compiler, folder, name, ["cudart.c", "libcuda.so.1", f"-Wl,--version-script={name}.map"])


def _compile(compiler: list[str], folder: Path, name: str, arguments: list[str]) -> None:
    command = [*compiler, *_FLAGS, f"-Wl,-soname,{name}", "-o", name, *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, check=False, capture_output=True, text=True, errors="replace", timeout=120
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SimulatorError(f"cannot run the compiler {compiler[0]}: {error}") from error
    if done.returncode != 0:
        said = "; ".join((done.stderr or done.stdout).split("\n")).strip("; ")
        raise SimulatorError(f"{shlex.join(compiler)} cannot build {name}: {said or 'it said nothing'}")
    # What is kept serves every later call, so nothing is believed of a compiler that only says that it was good.
    if not (folder / name).is_file():
        raise SimulatorError(f"{shlex.join(compiler)} ended well, and made no {name}")
