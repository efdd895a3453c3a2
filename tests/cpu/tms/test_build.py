"""What a source build needs, by the rules of setup.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from patchkit.tms.build import Need, build_needs, needs_as_shell
from patchkit.tms.library import Cuda, Rocm

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    """A CUDA toolkit of major 13, as far as setup.py looks."""
    (tmp_path / "cuda" / "include").mkdir(parents=True)
    (tmp_path / "cuda" / "include" / "cuda.h").write_text("#ifndef X\n#define CUDA_VERSION 13010\n#endif\n")
    (tmp_path / "cuda" / "lib64" / "stubs").mkdir(parents=True)
    (tmp_path / "cuda" / "lib64" / "stubs" / "libcuda.so").touch()
    return tmp_path / "cuda"


def programs(*there: str) -> Callable[[str], str | None]:
    return lambda name: f"/bin/{name}" if name in there else None


def states(needs: tuple[Need, ...]) -> list[tuple[str, str | None, bool, str | None]]:
    return [(need.name, need.found, need.ok, need.set_to) for need in needs]


def test_a_machine_that_has_everything(toolkit: Path) -> None:
    environment = {"CUDA_HOME": str(toolkit), "TMS_CUDA_MAJOR": "13"}

    assert states(build_needs(Cuda(13), environment, programs("g++"))) == [
        ("TMS_CUDA_MAJOR", "13", True, "13"),
        ("TMS_PLATFORM", None, True, None),
        ("CUDA toolkit", f"CUDA 13 in {toolkit}", True, None),
        ("driver library", f"{toolkit}/lib64/stubs/libcuda.so", True, None),
        ("C++ compiler", "/bin/g++", True, None),
    ]


def test_a_toolkit_of_another_major_than_torch_is_not_taken(toolkit: Path) -> None:
    needs = build_needs(Cuda(12), {"CUDA_HOME": str(toolkit)}, programs("c++"), toolkit)

    assert states(needs)[0] == ("TMS_CUDA_MAJOR", None, False, "12")
    assert states(needs)[2] == ("CUDA toolkit", f"CUDA 13 in {toolkit}", False, None)


def test_hipcc_makes_setup_py_build_for_rocm(toolkit: Path) -> None:
    environment = {"CUDA_PATH": str(toolkit), "TMS_CUDA_MAJOR": "13"}
    needs = build_needs(Cuda(13), environment, programs("hipcc", "clang++"))

    assert states(needs)[1] == ("TMS_PLATFORM", None, False, "cuda")
    assert needs_as_shell(needs) == "export TMS_CUDA_MAJOR=13\nexport TMS_PLATFORM=cuda\n"


def test_the_toolkit_is_that_of_nvcc_and_the_compiler_that_of_the_variable(toolkit: Path) -> None:
    found = {"nvcc": str(toolkit / "bin" / "nvcc"), "my-c++": "/opt/my-c++", "g++": "/bin/g++"}
    needs = build_needs(Cuda(13), {"CXX": "my-c++ -m64"}, found.get)

    assert states(needs)[2:] == [
        ("CUDA toolkit", f"CUDA 13 in {toolkit}", True, None),
        ("driver library", f"{toolkit}/lib64/stubs/libcuda.so", True, None),
        ("C++ compiler", "/opt/my-c++", True, None),
    ]


@pytest.mark.parametrize("name", ["cuda", "cuda-13.0"])
def test_a_toolkit_where_it_is_usually_installed_is_named_when_nvcc_leads_elsewhere(
    toolkit: Path, tmp_path: Path, name: str
) -> None:
    usual = tmp_path / "root" / "usr" / "local" / name
    usual.parent.mkdir(parents=True)
    toolkit.rename(usual)
    needs = build_needs(Cuda(13), {}, programs("nvcc", "c++"), tmp_path / "root")

    assert states(needs)[2:4] == [
        ("CUDA_HOME", None, False, str(usual)),
        ("driver library", f"{usual}/lib64/stubs/libcuda.so", True, None),
    ]
    assert needs_as_shell(needs) == f"export TMS_CUDA_MAJOR=13\nexport CUDA_HOME={usual}\n"
    assert states(build_needs(Cuda(12), {}, programs("nvcc"), tmp_path / "root"))[2][0] == "CUDA toolkit"


def test_the_linker_needs_a_driver_library_by_its_plain_name(toolkit: Path, tmp_path: Path) -> None:
    (toolkit / "lib64" / "stubs" / "libcuda.so").rename(tmp_path / "libcuda.so")
    there = {"CUDA_HOME": str(toolkit), "LIBRARY_PATH": f":{tmp_path}"}

    assert states(build_needs(Cuda(13), {"CUDA_HOME": str(toolkit)}, programs(), toolkit))[3] == (
        "driver library",
        None,
        False,
        None,
    )
    assert states(build_needs(Cuda(13), there, programs(), toolkit))[3][1] == f"{tmp_path}/libcuda.so"


def test_rocm_needs_hipcc_and_no_cuda() -> None:
    assert states(build_needs(Rocm(), {}, programs())) == [("hipcc", None, False, None)]
    assert states(build_needs(Rocm(), {}, programs("hipcc"))) == [("hipcc", "/bin/hipcc", True, None)]


def test_the_command(command: Command, toolkit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit))
    monkeypatch.delenv("TMS_CUDA_MAJOR", raising=False)
    monkeypatch.delenv("TMS_PLATFORM", raising=False)
    asked = ("tms", "build-env", "--cuda-major", "13")

    assert command(*asked)[1].splitlines()[::2][0] == "missing: TMS_CUDA_MAJOR: not set; set it to 13"
    assert command(*asked)[0] == 0
    assert command(*asked, "--format", "shell") == (0, "export TMS_CUDA_MAJOR=13\n", "")
    assert [need["ok"] for need in json.loads(command(*asked, "--format", "json")[1])["needs"]] == [
        False,
        True,
        True,
        True,
        True,
    ]
    assert command("tms", "build-env", "--cuda-major", "12")[0] == 1


def test_a_compiler_variable_with_an_open_quote_is_told() -> None:
    needs = build_needs(Cuda(13), {"CXX": "'c++ -m64"}, lambda name: f"/bin/{name}")

    assert needs[-1] == Need(
        "C++ compiler", None, ok=False, set_to=None, why="CXX or CC is no command line: a quote is open"
    )


def test_a_major_that_is_set_to_another_than_torchs_is_to_be_set(toolkit: Path) -> None:
    needs = build_needs(Cuda(13), {"CUDA_HOME": str(toolkit), "TMS_CUDA_MAJOR": "12"}, programs("c++"))

    assert states(needs)[0] == ("TMS_CUDA_MAJOR", "12", False, "13")


@pytest.mark.parametrize(
    ("environment", "there", "expected"),
    [
        ({}, (), (None, True, None)),
        ({}, ("hipcc",), (None, False, "cuda")),
        ({"TMS_PLATFORM": "cuda"}, ("hipcc",), ("cuda", True, "cuda")),
        ({"TMS_PLATFORM": "hip"}, (), ("hip", False, "cuda")),
    ],
)
def test_the_platform_is_cuda_unless_something_says_otherwise(
    environment: dict[str, str], there: tuple[str, ...], expected: tuple[str | None, bool, str | None]
) -> None:
    assert states(build_needs(Cuda(13), environment, programs(*there)))[1] == ("TMS_PLATFORM", *expected)


def test_cuda_path_names_the_toolkit_too(toolkit: Path, tmp_path: Path) -> None:
    needs = build_needs(Cuda(13), {"CUDA_PATH": str(toolkit)}, programs("nvcc"), tmp_path / "nowhere")

    assert states(needs)[2] == ("CUDA toolkit", f"CUDA 13 in {toolkit}", True, None)
