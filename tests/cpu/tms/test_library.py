"""Which library fits a process, and what the loader makes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from patchkit.errors import PatchkitError, TmsFileError, TmsNotFoundError
from patchkit.tms.library import (
    Cuda,
    Loading,
    Rocm,
    Runtime,
    check_loads,
    fitting_library,
    preload_library,
    runtime_folders,
    torch_runtime,
    try_loading,
)
from patchkit.tms.package import Package, package_at

from .conftest import CACHE, MakeLibrary, Wheel

PRELOAD = "torch_memory_saver_hook_mode_preload"


@pytest.mark.parametrize(
    ("version", "runtime", "expected"),
    [
        ("0.0.8", Cuda(12), "torch_memory_saver_cpp.abi3.so"),
        ("0.0.8", Cuda(13), "torch_memory_saver_cpp.abi3.so"),
        ("0.0.9", Cuda(12), f"{PRELOAD}.abi3.so"),
        ("0.0.9.post1", Cuda(12), f"{PRELOAD}_cu12.abi3.so"),
        ("0.0.9.post1", Cuda(13), f"{PRELOAD}_cu13.abi3.so"),
        ("0.0.10", Cuda(12), f"{PRELOAD}_cu12.abi3.so"),
        ("0.0.10", Cuda(13), f"{PRELOAD}_cu13.abi3.so"),
    ],
)
def test_the_library_for_the_cuda_of_the_process_is_taken(
    wheel: Wheel, version: str, runtime: Runtime, expected: str
) -> None:
    assert preload_library(runtime, wheel(version)).name == expected


def test_the_copy_for_cuda_12_without_a_suffix_is_never_taken_on_cuda_13(wheel: Wheel) -> None:
    package = wheel("0.0.9")

    with pytest.raises(FileNotFoundError) as caught:
        preload_library(Cuda(13), package)
    assert str(caught.value) == (
        f"{package.label} has no library of hook mode preload for CUDA 13: looked for {PRELOAD}_cu13.*.so,"
        f" {PRELOAD}.*.so, torch_memory_saver_cpp.*.so; found {PRELOAD}.abi3.so (for CUDA 12)"
    )
    assert isinstance(caught.value, PatchkitError)


def test_what_a_library_is_linked_against_counts_and_not_its_name(make_library: MakeLibrary, tmp_path: Path) -> None:
    # As a build from source of 2025 leaves it on a CUDA 13 host.
    library = make_library(tmp_path / "site" / f"{PRELOAD}.abi3.so", ["libcuda.so.1", "libcudart.so.13"], ["tms_pause"])
    package = Package("made", tmp_path / "site")

    assert preload_library(Cuda(13), package) == library
    with pytest.raises(TmsNotFoundError, match=r"found torch_memory_saver_hook_mode_preload\.abi3\.so \(for CUDA 13\)"):
        preload_library(Cuda(12), package)


def test_on_rocm_the_library_that_needs_hip_is_taken(make_library: MakeLibrary, tmp_path: Path, wheel: Wheel) -> None:
    library = make_library(tmp_path / "site" / f"{PRELOAD}.abi3.so", ["libamdhip64.so.7"], ["tms_pause"])

    assert preload_library(Rocm(), Package("made", tmp_path / "site")) == library
    with pytest.raises(TmsNotFoundError, match=r"for ROCm: looked for .*\(for CUDA 12\)"):
        preload_library(Rocm(), wheel("0.0.10"))


def test_libraries_inside_the_package_are_found_too(make_library: MakeLibrary, tmp_path: Path) -> None:
    inside = tmp_path / "site" / "torch_memory_saver" / f"{PRELOAD}_cu12.abi3.so"
    make_library(inside, ["libcuda.so.1", "libcudart.so.12"], ["tms_pause"])

    assert preload_library(Cuda(12), Package("made", tmp_path / "site")) == inside


def test_a_library_left_over_from_an_older_installation_is_told(make_library: MakeLibrary, tmp_path: Path) -> None:
    site, needs = tmp_path / "site", ["libcuda.so.1", "libcudart.so.12"]
    beside = make_library(site / f"{PRELOAD}_cu12.abi3.so", needs, ["tms_pause"])
    inside = make_library(site / "torch_memory_saver" / f"{PRELOAD}_cu12.abi3.so", needs, ["tms_pause", "tms_old"])

    with pytest.raises(TmsFileError, match="two different libraries fit CUDA 12") as caught:
        preload_library(Cuda(12), Package("made", site))
    assert (str(beside) in str(caught.value), str(inside) in str(caught.value)) == (True, True)
    beside.write_bytes(inside.read_bytes())
    assert preload_library(Cuda(12), Package("made", site)) == inside


def test_a_package_of_python_files_only_is_told(tmp_path: Path) -> None:
    (tmp_path / "torch_memory_saver").mkdir()
    (tmp_path / "torch_memory_saver" / "__init__.py").touch()

    with pytest.raises(TmsNotFoundError, match="found no library at all") as caught:
        preload_library(Cuda(12), package_at(tmp_path, cache=CACHE))
    assert caught.value.hint == (
        "only Python files are installed: it was built without a compiler, CUDA or torch; install a wheel"
    )


def test_the_library_for_hook_mode_torch_is_another(wheel: Wheel) -> None:
    assert fitting_library(wheel("0.0.10"), Cuda(13), "torch").name == "torch_memory_saver_hook_mode_torch_cu13.abi3.so"
    with pytest.raises(TmsNotFoundError, match="no library of hook mode torch"):
        fitting_library(wheel("0.0.8"), Cuda(12), "torch")


def fake_torch(folder: Path, cuda: str | None, hip: str | None) -> None:
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("raise AssertionError('torch was imported')\n")
    (folder / "torch" / "version.py").write_text(f"cuda = {cuda!r}\nhip = {hip!r}\n")


@pytest.mark.parametrize(
    ("cuda", "hip", "expected"),
    [("12.8", None, Cuda(12)), ("13.0", None, Cuda(13)), (None, "7.2.1", Rocm())],
)
def test_the_runtime_is_that_of_torch_which_is_not_imported_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuda: str | None, hip: str | None, expected: Runtime
) -> None:
    fake_torch(tmp_path, cuda, hip)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    assert torch_runtime() == expected


def test_a_torch_without_cuda_and_no_torch_at_all_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(tmp_path, None, None)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(TmsNotFoundError, match="built without CUDA and ROCm"):
        torch_runtime()

    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(TmsNotFoundError, match="there is no torch in this Python"):
        torch_runtime()


def started(library: Path, folder: Path | None = None) -> tuple[int, str]:
    """Code and last words of a process that preloads the library."""
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": str(library), "LD_LIBRARY_PATH": str(folder or "")}
    done = subprocess.run(["/bin/true"], env=environment, check=False, capture_output=True, text=True)
    return done.returncode, done.stderr


def test_a_missing_dependency_is_seen_beforehand_where_the_process_would_die(
    make_library: MakeLibrary, tmp_path: Path
) -> None:
    library = make_library(tmp_path / f"{PRELOAD}.so", ["libnowhere.so.7", "libc.so.6"], ["tms_pause"])

    assert try_loading(library) == Loading(("libnowhere.so.7",), None)
    assert started(library) == (
        127,
        (
            "/bin/true: error while loading shared libraries: libnowhere.so.7:"
            " cannot open shared object file: No such file or directory\n"
        ),
    )
    with pytest.raises(TmsFileError, match=r"cannot be preloaded here: the loader does not find libnowhere\.so\.7"):
        check_loads(library)


def test_a_library_that_the_loader_would_leave_out_is_refused(make_library: MakeLibrary, tmp_path: Path) -> None:
    # A blank ends an entry, so the loader finds no file; the process would run without the library.
    library = make_library(tmp_path / "a folder" / f"{PRELOAD}.so", [], ["tms_pause"])
    code, said = started(library)

    assert (code, "cannot be preloaded" in said) == (0, True)
    with pytest.raises(TmsFileError, match="the loader would leave"):
        check_loads(library)


def test_a_truncated_library_is_told_before_the_loader_sees_it(wheel: Wheel, tmp_path: Path) -> None:
    # The loader of glibc dies of SIGBUS on it.
    library = tmp_path / f"{PRELOAD}.so"
    library.write_bytes(wheel("0.0.10").preload_libraries[0].read_bytes()[:100_000])

    with pytest.raises(TmsFileError, match="no intact ELF library"):
        try_loading(library)


@pytest.mark.parametrize("version", ["0.0.8", "0.0.9", "0.0.9.post1", "0.0.10"])
def test_with_driver_and_runtime_at_hand_the_real_libraries_load(wheel: Wheel, simulated: Path, version: str) -> None:
    library = preload_library(Cuda(12), wheel(version))

    assert try_loading(library, {"LD_LIBRARY_PATH": str(simulated)}) == Loading((), None)
    assert started(library, simulated) == (0, "")


def test_libraries_of_cuda_are_found_where_pip_puts_them(tmp_path: Path) -> None:
    for place in ("nvidia/cu13/lib/libcudart.so.13", "nvidia/cuda_runtime/lib/libcudart.so.12", "nvidia/nccl/lib/x.so"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).touch()

    assert runtime_folders(["libcudart.so.13"], [tmp_path]) == (tmp_path / "nvidia" / "cu13" / "lib",)
    assert runtime_folders(["libcuda.so.1"], [tmp_path]) == ()
    assert runtime_folders([], [tmp_path]) == ()


@pytest.mark.parametrize(
    "needed",
    [
        ["libc.so.6"],
        ["libcudart.so.12"],
        ["libamdhip64.so.7", "libcuda.so.1"],
        ["libcuda.so.1", "libcudart.so.13"],
    ],
    ids=["no CUDA", "no driver", "ROCm with a driver for CUDA", "another CUDA"],
)
def test_what_is_not_linked_for_the_cuda_of_a_process_does_not_fit_it(
    make_library: MakeLibrary, tmp_path: Path, needed: list[str]
) -> None:
    make_library(tmp_path / "site" / f"{PRELOAD}_cu12.abi3.so", needed, ["tms_pause"])

    with pytest.raises(TmsNotFoundError):
        preload_library(Cuda(12), Package("made", tmp_path / "site"))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        (
            "libcuda.so.1",
            "libcuda.so.1 comes with the GPU driver: is this a GPU node, and is the container started with --gpus?",
        ),
        (
            "libcudart.so.99",
            "put their folders on LD_LIBRARY_PATH (patchkit tms env does so for those that pip installed)",
        ),
    ],
)
def test_what_to_do_about_a_missing_dependency_depends_on_which(
    make_library: MakeLibrary, tmp_path: Path, name: str, hint: str
) -> None:
    library = make_library(tmp_path / f"{PRELOAD}.so", [name], ["tms_pause"])

    with pytest.raises(TmsFileError) as caught:
        check_loads(library, {})
    assert (caught.value.message, caught.value.hint) == (
        f"{library} cannot be preloaded here: the loader does not find {name}",
        hint,
    )


def test_libraries_that_torch_brings_along_are_found(tmp_path: Path) -> None:
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "torch" / "lib" / "libcudart.so.12").touch()

    assert runtime_folders(["libcudart.so.12"], [tmp_path]) == (tmp_path / "torch" / "lib",)
