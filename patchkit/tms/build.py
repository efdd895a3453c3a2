"""What a build of torch_memory_saver from source needs on this machine, and why."""

from __future__ import annotations

import platform
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


def build_needs(
    runtime: Runtime, environment: Mapping[str, str], which: Which = shutil.which, root: Path = Path("/")
) -> tuple[Need, ...]:
    """Return what setup.py of torch_memory_saver asks for, for a process with ``runtime``.

    ``environment`` is that of the build, ``root`` holds usr/. The rules are those of setup.py at 4a43c97: it looks for
    hipcc first, then for nvcc; it takes headers and stubs from CUDA_HOME, CUDA_PATH, nvcc's folder or /usr/local/cuda.
    """
    compiler = _compiler(environment, which)
    match runtime:
        case Cuda(major):
            home = _cuda_home(environment, which, root)
            toolkit = _toolkit(major, home, environment, root)
            return (
                _major(major, environment),
                _platform(environment, which),
                toolkit,
                _driver(Path(toolkit.set_to) if toolkit.set_to else home, environment, root),
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


def _toolkit(major: int, home: Path, environment: Mapping[str, str], root: Path) -> Need:
    found = _major_of(home)
    why = (
        f"cuda.h and libcudart of CUDA {major} are compiled and linked against; looked for in {home} (CUDA_HOME,"
        " CUDA_PATH, nvcc's folder, /usr/local/cuda)"
    )
    if found == major:
        return Need("CUDA toolkit", f"CUDA {found} in {home}", ok=True, set_to=None, why=why)
    # An nvcc on the PATH that is a link or a script of somebody leads to a folder without a toolkit.
    usual = (*sorted((root / "usr" / "local").glob(f"cuda-{major}*")), root / "usr" / "local" / "cuda")
    other = next((place for place in usual if _major_of(place) == major), None)
    if other is not None:
        return Need("CUDA_HOME", environment.get("CUDA_HOME"), ok=False, set_to=str(other), why=why)
    return Need("CUDA toolkit", None if found is None else f"CUDA {found} in {home}", ok=False, set_to=None, why=why)


def _major_of(home: Path) -> int | None:
    """Return the major of the toolkit in a folder; None when there is none."""
    try:
        text = (home / "include" / "cuda.h").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    version = _VERSION.search(text)
    return int(version[1]) // 1000 if version else None


def _driver(home: Path, environment: Mapping[str, str], root: Path) -> Need:
    """The linker wants libcuda.so, by that name; a driver alone has libcuda.so.1 in many an image."""
    machine = platform.machine()
    folders = [
        home / "lib64",
        home / "lib64" / "stubs",
        *(Path(folder) for folder in environment.get("LIBRARY_PATH", "").split(":") if folder),
        *(root / "usr" / folder for folder in (f"lib/{machine}-linux-gnu", "lib64", "lib", "local/lib")),
    ]
    found = next((folder / "libcuda.so" for folder in folders if (folder / "libcuda.so").exists()), None)
    return Need(
        "driver library",
        None if found is None else str(found),
        ok=found is not None,
        set_to=None,
        why="the libraries are linked with -lcuda: a toolkit has a stub of it in lib64/stubs, and LIBRARY_PATH can name"
        " the folder of another",
    )


def _cuda_home(environment: Mapping[str, str], which: Which, root: Path) -> Path:
    named = environment.get("CUDA_HOME") or environment.get("CUDA_PATH")
    if named:
        return Path(named)
    nvcc = which("nvcc")
    return Path(nvcc).parent.parent if nvcc else root / "usr" / "local" / "cuda"


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
