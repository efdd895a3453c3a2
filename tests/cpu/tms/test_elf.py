"""What is read of an ELF library, and what is refused."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from patchkit.errors import TmsFileError
from patchkit.tms.elf import Library, read_library

from .conftest import MakeLibrary, Wheel


def read(path: Path) -> Library:
    return read_library(path.read_bytes(), path.name)


def test_needed_libraries_symbols_and_the_cuda_of_a_real_library_are_read(wheel: Wheel) -> None:
    library = read(next(path for path in wheel("0.0.10").libraries if "preload_cu13" in path.name))

    assert library.machine == "EM_X86_64"
    assert library.needed[:3] == ("libcuda.so.1", "libcudart.so.13", "libstdc++.so.6")
    assert library.search_path == ()
    assert (library.cuda_major, library.is_rocm) == (13, False)
    assert {"tms_pause", "tms_get_cpu_backup_backend", "cudaMalloc"} <= library.exports
    assert {"cuMemUnmap", "cudaMallocHost", "cuMemGetAllocationGranularity"} <= library.imports
    assert library.exports.isdisjoint(library.imports)


def test_the_library_of_0_0_8_needs_the_driver_and_no_runtime(wheel: Wheel) -> None:
    library = read(wheel("0.0.8").libraries[0])

    assert (library.cuda_major, "libcuda.so.1" in library.needed) == (None, True)


def test_rocm_is_seen_by_what_is_needed(make_library: MakeLibrary, tmp_path: Path) -> None:
    library = read(make_library(tmp_path / "a.so", ["libamdhip64.so.6"], ["tms_pause"]))

    assert (library.is_rocm, library.cuda_major, library.exports) == (True, None, frozenset({"tms_pause"}))


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF" + b"\xff" * 60], ids=str)
def test_what_is_no_elf_library_is_refused_with_its_name(content: bytes) -> None:
    with pytest.raises(TmsFileError, match=r"^it\.so is no intact ELF library: ."):
        read_library(content, "it.so")


@pytest.mark.parametrize("kept", [100, 4096, 100_000, -1])
def test_a_truncated_library_is_refused(wheel: Wheel, kept: int) -> None:
    whole = wheel("0.0.9").libraries[0].read_bytes()

    with pytest.raises(TmsFileError, match="no intact ELF library"):
        read_library(whole[:kept], "it.so")


@pytest.mark.parametrize("at", range(0, 4096, 97))
def test_a_damaged_library_is_read_or_refused_and_never_crashes(wheel: Wheel, at: int) -> None:
    content = bytearray(wheel("0.0.8").libraries[0].read_bytes())
    content[at : at + 16] = b"\xff" * 16

    with suppress(TmsFileError):
        read_library(bytes(content), "it.so")


@pytest.mark.parametrize(
    ("flags", "path"),
    [
        ("-Wl,--enable-new-dtags,-rpath,/a:/b", ("/a", "/b")),
        ("-Wl,--disable-new-dtags,-rpath,/a", ("/a",)),
        ("-Wl,--enable-new-dtags", ()),
    ],
    ids=["RUNPATH", "RPATH", "neither"],
)
def test_the_search_path_is_the_runpath_or_the_rpath(tmp_path: Path, flags: str, path: tuple[str, ...]) -> None:
    library = tmp_path / "lib.so"
    command = ["cc", "-shared", "-nostdlib", "-x", "c", "/dev/null", flags, "-o", str(library)]
    subprocess.run(command, check=True)

    assert read_library(library.read_bytes(), "lib.so").search_path == path
