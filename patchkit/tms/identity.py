"""Which torch_memory_saver is really there: metadata, digests and symbols, and what follows from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from patchkit.errors import TmsFileError
from patchkit.reading import read_regular
from patchkit.tms.elf import Library, read_library
from patchkit.tms.fingerprints import MARKERS, interface_of, known_builds
from patchkit.tms.package import Package, content_of, mode_of, sha256
from patchkit.tms.verdict import (
    DefectStanding,
    Evidence,
    SaverRecords,
    Verdict,
    judge,
    meets_minimum,
    standings,
)

_CUDA_DRIVER = "libcuda.so.1"


class LibraryIdentity(msgspec.Struct, frozen=True, rename="kebab"):
    """One shared library."""

    path: str
    sha256: str
    mode: str | None
    """``preload`` or ``torch``, by its name."""
    linked_against: str
    """Such as ``CUDA 12``; ``the driver only``."""
    known_as: str | None
    """``WHEEL:LIBRARY`` when it is byte for byte one that the index has."""


class Identity(msgspec.Struct, frozen=True, rename="kebab"):
    """What is there, and what follows."""

    label: str
    version: str | None
    origin: str
    """Where pip got it from, in words."""
    build: str
    """``index wheel``, ``source build``, ``python only``, ``a library``."""
    libraries: tuple[LibraryIdentity, ...]
    verdict: Verdict
    defects: tuple[DefectStanding, ...]
    meets_minimum: bool | None
    """Whether it is 0.0.10, b5588e83d or later in what the series needs; None when that is not known."""
    notes: tuple[str, ...] = ()


def gather(package: Package) -> tuple[Evidence, tuple[LibraryIdentity, ...]]:
    """Read everything that tells what ``package`` is. Raises TmsFileError on a damaged library."""
    contents = {path: content_of(path) for path in package.libraries}
    read = {path: read_library(content, str(path)) for path, content in contents.items()}
    known = {digest: name for build in known_builds().values() for digest, name in build.libraries.items()}
    libraries = tuple(
        LibraryIdentity(
            path=str(path),
            sha256=sha256(contents[path]),
            mode=mode_of(path),
            linked_against=_linked_against(library),
            known_as=known.get(sha256(contents[path])),
        )
        for path, library in read.items()
    )
    # Both hook modes are built from the same sources; that for preloading is the one whose defects matter most.
    telling = next((read[path] for path in package.preload_libraries), next(iter(read.values()), None))
    exports = telling.exports if telling else frozenset()
    # Under its own name a library may be a fork's; a file that somebody names has to offer something of it.
    if package.only and not any(name.startswith("tms_") for name in exports):
        raise TmsFileError(f"{package.only} exports no function of torch_memory_saver")
    evidence = Evidence(
        version=package.version,
        commit=(_vcs(package) or {}).get("commit_id"),
        exports=interface_of(exports),
        all_exports=frozenset(exports),
        markers=tuple(name for name in MARKERS if telling and name in telling.imports),
        python=package.python_files,
        digests=frozenset(item.sha256 for item in libraries),
        platforms=frozenset(found for library in read.values() if (found := _platform(library))),
    )
    return evidence, libraries


def identify(package: Package, records: SaverRecords, *, free_while_paused: bool | None = None) -> Identity:
    """Return what ``package`` is; ``free_while_paused`` is what trying it out showed. Raises TmsFileError."""
    evidence, libraries = gather(package)
    evidence = replace(evidence, free_while_paused=free_while_paused)
    verdict = judge(evidence, known_builds(), records)
    found = standings(verdict, evidence, known_builds(), records)
    return Identity(
        label=package.label,
        version=evidence.version,
        origin=_origin(package),
        build=_build(package, libraries),
        libraries=libraries,
        verdict=verdict,
        defects=found,
        meets_minimum=meets_minimum(found) if libraries else False,
        notes=_notes(libraries),
    )


def _platform(library: Library) -> str | None:
    """Return ``cuda`` or ``rocm``; None for one that needs neither."""
    if library.is_rocm:
        return "rocm"
    return "cuda" if library.cuda_major or _CUDA_DRIVER in library.needed else None


def _linked_against(library: Library) -> str:
    if library.is_rocm:
        return "ROCm"
    return f"CUDA {library.cuda_major}" if library.cuda_major else "the driver only"


def _build(package: Package, libraries: tuple[LibraryIdentity, ...]) -> str:
    if package.only:
        return "a library"
    if not libraries:
        return "python only"
    # A wheel of the index holds a library for each CUDA; a build from source one, for the CUDA it found.
    majors = {item.linked_against for item in libraries}
    return "index wheel" if len(majors) > 1 or all(item.known_as for item in libraries) else "source build"


def _notes(libraries: tuple[LibraryIdentity, ...]) -> tuple[str, ...]:
    known = [item for item in libraries if item.known_as]
    if known and len(known) < len(libraries):
        others = ", ".join(Path(item.path).name for item in libraries if not item.known_as)
        return (f"{others}: not from the index, although the other libraries are; two installations were mixed",)
    if not libraries:
        return ("nothing is tracked, and preloading fails: there is no library",)
    return ()


def _origin(package: Package) -> str:
    if package.metadata_folder is None:
        return "no metadata of pip"
    url = _direct_url(package)
    if url is None and not (package.metadata_folder / "INSTALLER").is_file():
        return "a wheel that is not installed"
    if url is None:
        return "a package index (no direct_url.json): whatever a Dockerfile pins, it is not a git pin that is installed"
    vcs = _vcs(package)
    if vcs:
        asked = vcs.get("requested_revision")
        return f"{vcs.get('vcs')}+{url.get('url')} at {vcs.get('commit_id')}" + (
            f" (asked for {asked})" if asked else ""
        )
    return f"{url.get('url')}" + (" (editable)" if (url.get("dir_info") or {}).get("editable") else "")


def _direct_url(package: Package) -> Mapping[str, Any] | None:
    """Return pip's record of a direct URL (PEP 610); None without one."""
    folder = package.metadata_folder
    if folder is None or not (folder / "direct_url.json").is_file():
        return None
    try:
        found = json.loads(read_regular(folder / "direct_url.json").decode())
    except (OSError, ValueError, RecursionError) as error:
        raise TmsFileError(f"cannot read {folder / 'direct_url.json'}: {error}") from error
    if not isinstance(found, dict):
        raise TmsFileError(f"{folder / 'direct_url.json'} is no JSON object")
    return found


def _vcs(package: Package) -> Mapping[str, Any] | None:
    found = (_direct_url(package) or {}).get("vcs_info")
    return found if isinstance(found, dict) and isinstance(found.get("commit_id"), str) else None
