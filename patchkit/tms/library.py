"""Which library of torch_memory_saver fits the CUDA of a process, and whether the loader takes it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Literal

from patchkit.errors import TmsFileError, TmsNotFoundError
from patchkit.tms.elf import Library, read_library
from patchkit.tms.package import INSTALL_ONCE, Package, content_of, installed_package, mode_of

HookMode = Literal["preload", "torch"]


@dataclass(frozen=True, slots=True)
class Cuda:
    """A process whose torch is built for CUDA."""

    major: int

    def __str__(self) -> str:
        return f"CUDA {self.major}"


@dataclass(frozen=True, slots=True)
class Rocm:
    """A process whose torch is built for ROCm."""

    def __str__(self) -> str:
        return "ROCm"


Runtime = Cuda | Rocm


def preload_library(runtime: Runtime | None = None, package: Package | None = None) -> Path:
    """Return the library for LD_PRELOAD that fits this process; torch is not loaded for it.

    ``runtime`` is by default that of this process' torch, ``package`` what it would import. Call it where the library
    will be loaded: the node of a driver may have another CUDA than the workers'. Raises TmsNotFoundError, which is a
    FileNotFoundError, and TmsFileError.
    """
    return fitting_library(package or installed_package(), runtime or torch_runtime(), "preload")


def torch_runtime() -> Runtime:
    """Return what the torch of this process is built for. Raises TmsNotFoundError when it is built for neither."""
    version = _torch_version()
    if getattr(version, "hip", None):
        return Rocm()
    cuda = str(getattr(version, "cuda", None) or "").split(".")[0]
    if cuda.isdecimal():
        return Cuda(int(cuda))
    raise TmsNotFoundError("the torch of this Python is built without CUDA and ROCm", hint=_NAME_IT)


_NAME_IT = "ask on a node that has the torch of the actors, or name their CUDA with --cuda-major"


def _torch_version() -> ModuleType:
    if "torch" in sys.modules:
        return sys.modules["torch"].version  # type: ignore[no-any-return]
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise TmsNotFoundError("there is no torch in this Python, so its CUDA is not known", hint=_NAME_IT)
    # torch/version.py alone holds what is asked for; importing torch takes seconds and may need a driver.
    place = Path(next(iter(spec.submodule_search_locations)), "version.py")
    loaded = importlib.util.spec_from_file_location("_torch_version", place)
    if loaded is None or loaded.loader is None or not place.is_file():
        raise TmsNotFoundError(f"{place} is missing, so the CUDA of torch is not known", hint=_NAME_IT)
    module = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(module)
    return module


def fitting_library(package: Package, runtime: Runtime, mode: HookMode) -> Path:
    """Return the library of ``package`` for a hook mode that fits ``runtime``.

    A name with the CUDA major goes before one without. What a library is linked against decides, not its name: the
    unsuffixed file of the wheels is a copy of the one for CUDA 12. Raises TmsNotFoundError, TmsFileError.
    """
    named = [path for path in package.libraries if package.only or mode_of(path) == mode]
    read = [(path, read_library(content_of(path), str(path))) for path in named]
    fitting = [path for path, library in read if _fits(library, runtime)]
    if not fitting:
        raise _nothing_fits(package, runtime, mode, read)
    exact = [path for path in fitting if isinstance(runtime, Cuda) and f"_cu{runtime.major}." in path.name]
    best = exact or fitting
    twins = [path for path in best[1:] if path.name == best[0].name and content_of(path) != content_of(best[0])]
    if twins:
        # Left over from an older installation; which of them gets loaded depends on who looks.
        raise TmsFileError(f"two different libraries fit {runtime}: {best[0]} and {twins[0]}", hint=INSTALL_ONCE)
    return best[0]


def _fits(library: Library, runtime: Runtime) -> bool:
    match runtime:
        case Rocm():
            return library.is_rocm
        case Cuda(major):
            # 0.0.8 needs the driver only, and so fits any major.
            return not library.is_rocm and library.cuda_major in (None, major) and "libcuda.so.1" in library.needed


def _nothing_fits(
    package: Package, runtime: Runtime, mode: HookMode, read: Sequence[tuple[Path, Library]]
) -> TmsNotFoundError:
    found = [f"{path.name} (for {_made_for(library)})" for path, library in read]
    message = (
        f"{package.label} has no library of hook mode {mode} for {runtime}: looked for {_looked_for(mode, runtime)}"
    )
    if not package.libraries:
        hint = "only Python files are installed: it was built without a compiler, CUDA or torch; install a wheel"
        return TmsNotFoundError(f"{message}; found no library at all", hint=hint)
    other = ", ".join(path.name for path in package.libraries) if not found else ", ".join(found)
    return TmsNotFoundError(f"{message}; found {other}", hint=_other_build(runtime))


def _made_for(library: Library) -> str:
    if library.is_rocm:
        return "ROCm"
    return f"CUDA {library.cuda_major}" if library.cuda_major else "any CUDA"


def _looked_for(mode: HookMode, runtime: Runtime) -> str:
    stem = f"torch_memory_saver_hook_mode_{mode}"
    names = [f"{stem}.*.so"]
    if isinstance(runtime, Cuda):
        names.insert(0, f"{stem}_cu{runtime.major}.*.so")
    if mode == "preload":
        names.append("torch_memory_saver_cpp.*.so")
    return ", ".join(names)


def _other_build(runtime: Runtime) -> str:
    if isinstance(runtime, Rocm):
        return "the wheels of the index are for CUDA; build from source with hipcc"
    return f"install 0.0.9.post1 or later (CUDA 12 and 13), or build from source with TMS_CUDA_MAJOR={runtime.major}"


_IGNORED = re.compile(r"object '(?P<entry>.*)' from LD_PRELOAD cannot be preloaded \((?P<why>.*)\)")
"""How the loader of glibc says that it leaves an entry out."""


@dataclass(frozen=True, slots=True)
class Loading:
    """What the loader of this machine makes of a library in LD_PRELOAD."""

    missing: tuple[str, ...]
    """Libraries that it needs and the loader does not find: the process would end with 127 before Python starts."""
    ignored: str | None
    """Why the loader would leave it out, with a warning that nobody reads; None when it would not."""
    others_ignored: Mapping[str, str] = field(default_factory=dict)
    """The other entries of LD_PRELOAD that it would leave out, and why."""

    @property
    def ok(self) -> bool:
        """Whether the library would be there."""
        return not self.missing and self.ignored is None


def try_loading(library: Path, environment: Mapping[str, str] | None = None, *, preload: str | None = None) -> Loading:
    """Ask the dynamic loader what it would do with ``library`` in LD_PRELOAD; no code of the library runs.

    ``environment`` is that of the process to start, by default this one's; its LD_PRELOAD is replaced by ``preload``,
    which names the library among others, or by the library alone. Raises TmsFileError when the library is damaged.
    """
    read_library(content_of(library), str(library))  # The loader maps the file, and a truncated one kills it.
    variables = {**(os.environ if environment is None else environment), "LD_PRELOAD": preload or str(library)}
    variables["LD_TRACE_LOADED_OBJECTS"] = "1"  # As ldd does: ld.so(8).
    # Where a loader does not know the variable, an empty program runs.
    done = subprocess.run(
        [sys.executable, "-c", ""],
        env=variables,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )
    missing = [line.split(" => ")[0].strip() for line in done.stdout.splitlines() if line.endswith(" => not found")]
    # A path with a blank is warned of in pieces, so what counts is whether the library shows among what is loaded.
    taken = any(line.strip().startswith(f"{library} (0x") for line in done.stdout.splitlines())
    warned = [line.split("ld.so: ")[-1] for line in done.stderr.splitlines() if "cannot be preloaded" in line]
    others = {found["entry"]: found["why"] for line in warned if (found := _IGNORED.match(line))} if taken else {}
    why = None if taken else (warned or ["it does not say why"])[0]
    return Loading(tuple(dict.fromkeys(missing)), why, others)


def runtime_folders(missing: Iterable[str], roots: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders below ``roots`` (site-packages) where pip's packages of CUDA keep the missing libraries.

    The libraries of torch_memory_saver up to 0.0.10 have no search path, so the loader does not look there.
    """
    found: dict[Path, None] = {}
    wanted = tuple(missing)
    for root in roots:
        for pattern in ("nvidia/*/lib", "torch/lib"):
            for folder in sorted(root.glob(pattern)):
                if any((folder / name).is_file() for name in wanted):
                    found[folder] = None
    return tuple(found)


def check_loads(library: Path, environment: Mapping[str, str] | None = None) -> None:
    """Raise TmsFileError unless the loader takes ``library``; the message says what would happen."""
    loading = try_loading(library, environment)
    if loading.missing:
        names = ", ".join(loading.missing)
        hint = "put their folders on LD_LIBRARY_PATH (patchkit tms env does so for those that pip installed)"
        if "libcuda.so.1" in loading.missing:
            hint = (
                "libcuda.so.1 comes with the GPU driver: is this a GPU node, and is the container started with --gpus?"
            )
        raise TmsFileError(f"{library} cannot be preloaded here: the loader does not find {names}", hint=hint)
    if loading.ignored:
        raise TmsFileError(f"the loader would leave {library} out: {loading.ignored}")


def check_others(library: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the entries of ``environment``'s LD_PRELOAD that the loader would leave out beside ``library``, and why.

    Raises TmsFileError when one of them needs a library that the loader does not find, which ends the process.
    """
    loading = try_loading(library, environment, preload=environment["LD_PRELOAD"])
    if loading.missing:
        others = ", ".join(entry for entry in environment["LD_PRELOAD"].split(":") if entry != str(library))
        raise TmsFileError(
            f"LD_PRELOAD names {others} as well, and the loader does not find {', '.join(loading.missing)} for it",
            hint="the process would end with code 127 before it starts: take the entry out, or set LD_LIBRARY_PATH",
        )
    return loading.others_ignored
