"""What a build of torch_memory_saver from source needs on this machine, and why."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from patchkit.tms.library import Cuda, Rocm, Runtime

Which = Callable[[str], str | None]

_VERSION = re.compile(r"^#define\s+CUDA_VERSION\s+(\d+)", re.MULTILINE)


class Need(msgspec.Struct, frozen=True, rename="kebab"):
    """One thing that the build needs."""

    name: str
    found: str | None
    """What is there; None when nothing is."""
    ok: bool
    set_to: str | None
    """Value to set, for a variable that the build reads and nothing here has right."""
    why: str


def build_needs(runtime: Runtime, environment: Mapping[str, str], which: Which = shutil.which) -> tuple[Need, ...]:
    """Return what setup.py of torch_memory_saver asks for, for a process with ``runtime``.

    ``environment`` is that of the build. The rules are those of setup.py at 4a43c97: it looks for hipcc first, then for
    nvcc; it takes headers and stubs from CUDA_HOME, CUDA_PATH, nvcc's folder or /usr/local/cuda.
    """
    compiler = _compiler(environment, which)
    match runtime:
        case Cuda(major):
            return (
                _major(major, environment),
                _platform(environment, which),
                _toolkit(major, environment, which),
                compiler,
            )
        case Rocm():
            return (_hipcc(which),)


def _major(major: int, environment: Mapping[str, str]) -> Need:
    found = environment.get("TMS_CUDA_MAJOR") or None
    return Need(
        "TMS_CUDA_MAJOR",
        found,
        ok=found == str(major),
        set_to=str(major),
        why="names the libraries (_cu12, _cu13), by which the right one is found when a process starts; since cb4fa6b98"
        " a build for CUDA stops without it. It chooses nothing: the libraries are linked against the toolkit below",
    )


def _platform(environment: Mapping[str, str], which: Which) -> Need:
    hipcc, forced = which("hipcc"), environment.get("TMS_PLATFORM")
    return Need(
        "TMS_PLATFORM",
        forced,
        ok=forced == "cuda" or (hipcc is None and not forced),
        set_to="cuda" if hipcc or forced not in (None, "", "cuda") else None,
        why=f"setup.py builds for ROCm wherever it finds hipcc ({hipcc or 'not on this PATH'}); commits since 6f3def21a"
        " can be told otherwise",
    )


def _toolkit(major: int, environment: Mapping[str, str], which: Which) -> Need:
    home = _cuda_home(environment, which)
    header = home / "include" / "cuda.h"
    try:
        version = _VERSION.search(header.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        version = None
    found = int(version[1]) // 1000 if version else None
    return Need(
        "CUDA toolkit",
        None if found is None else f"CUDA {found} in {home}",
        ok=found == major,
        set_to=None,
        why=f"cuda.h and libcudart of CUDA {major} are compiled and linked against; looked for in {home}"
        " (CUDA_HOME, CUDA_PATH, nvcc's folder, /usr/local/cuda)",
    )


def _cuda_home(environment: Mapping[str, str], which: Which) -> Path:
    named = environment.get("CUDA_HOME") or environment.get("CUDA_PATH")
    if named:
        return Path(named)
    nvcc = which("nvcc")
    return Path(nvcc).parent.parent if nvcc else Path("/usr/local/cuda")


def _compiler(environment: Mapping[str, str], which: Which) -> Need:
    try:
        named = shlex.split(environment.get("CXX") or environment.get("CC") or "")
    except ValueError:  # No command line; the build would stop at it.
        return Need("C++ compiler", None, ok=False, set_to=None, why="CXX or CC is no command line: a quote is open")
    found = next((path for name in (*named[:1], "c++", "g++", "clang++") if (path := which(name))), None)
    return Need("C++ compiler", found, ok=found is not None, set_to=None, why="compiles csrc/*.cpp as C++17")


def _hipcc(which: Which) -> Need:
    found = which("hipcc")
    why = (
        "compiles and links for ROCm, with the headers of ROCM_HOME, ROCM_PATH or hipcc's folder; TMS_CUDA_MAJOR is not"
        " read"
    )
    return Need("hipcc", found, ok=found is not None, set_to=None, why=why)


def needs_as_shell(needs: tuple[Need, ...]) -> str:
    """Return lines for ``eval`` in a POSIX shell: the variables that have to be set."""
    return "".join(f"export {each.name}={shlex.quote(each.set_to)}\n" for each in needs if each.set_to)
