"""The stand-in for the driver is strict, and tells what was wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from patchkit.errors import SimulatorError
from patchkit.tms.simulator import build
from patchkit.tms.simulator.build import simulator

SIZE = 2 << 20

PRELUDE = f"""
import ctypes
cuda, cudart = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcudart.so.12")
SIZE = {SIZE}
size = ctypes.c_size_t
properties = (ctypes.c_int * 8)(1, 0, 1, 0)
access = (ctypes.c_int * 3)(1, 0, 3)
def create(bytes=SIZE):
    handle = ctypes.c_ulonglong()
    print("create", cuda.cuMemCreate(ctypes.byref(handle), size(bytes), properties, size(0)))
    return handle
def reserve(bytes=SIZE):
    pointer = size()
    print("reserve", cuda.cuMemAddressReserve(ctypes.byref(pointer), size(bytes), size(0), size(0), size(0)))
    return pointer
def call(name, *values):
    print(name, getattr(cuda, name)(*values))
def mapped():
    handle, pointer = create(), reserve()
    call("cuMemMap", pointer, size(SIZE), size(0), handle, size(0))
    call("cuMemSetAccess", pointer, size(SIZE), access, size(1))
    return handle, pointer
"""
MAPPED = ["create 0", "reserve 0", "cuMemMap 0", "cuMemSetAccess 0"]
FREED = "call('cuMemUnmap', p, size(SIZE)); call('cuMemRelease', h); call('cuMemAddressFree', p, size(SIZE))"
FREED_SAID = ["cuMemUnmap 0", "cuMemRelease 0", "cuMemAddressFree 0"]

RELEASED_FIRST = """
h, p = mapped()
call("cuMemRelease", h)
call("cuMemUnmap", p, size(SIZE))
call("cuMemAddressFree", p, size(SIZE))
print(cuda.patchkit_sim_device_bytes())
"""
PINNED = """
p = ctypes.c_void_p()
print(cudart.cudaMallocHost(ctypes.byref(p), size(5)), cuda.patchkit_sim_host_bytes())
print(cudart.cudaFreeHost(p), cuda.patchkit_sim_host_bytes(), cuda.patchkit_sim_host_peak())
print(cudart.cudaFreeHost(p))
"""
COPIED = """
h, p = mapped()
b = ctypes.create_string_buffer(SIZE)
print(cudart.cudaMemcpy(b, p, size(SIZE), 2))
call("cuMemUnmap", p, size(SIZE))
print(cudart.cudaMemcpy(b, p, size(SIZE), 2))
call("cuMemRelease", h)
call("cuMemAddressFree", p, size(SIZE))
"""
WITHOUT_ACCESS = """
h, p = create(), reserve()
call("cuMemMap", p, size(SIZE), size(0), h, size(0))
ctypes.string_at(p.value, 1)
"""


def drive(folder: Path, report: Path, script: str, **settings: str) -> tuple[int, list[str], list[str]]:
    """Code, what was printed, and the report, of a script against the stand-in."""
    environment = {
        "PATH": os.environ["PATH"],
        "LD_LIBRARY_PATH": str(folder),
        "PATCHKIT_SIMULATOR_REPORT": str(report),
        **{f"PATCHKIT_SIMULATOR_{name}": value for name, value in settings.items()},
    }
    command = [sys.executable, "-I", "-S", "-u", "-c", PRELUDE + script]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines(), report.read_text().splitlines() if report.exists() else []


@pytest.mark.parametrize(
    ("script", "said", "report"),
    [
        (f"h, p = mapped(); ctypes.memset(p.value, 1, SIZE); {FREED}", [*MAPPED, *FREED_SAID], []),
        (
            f"h, p = mapped(); {FREED}; call('cuMemUnmap', p, size(SIZE))",
            [*MAPPED, *FREED_SAID, "cuMemUnmap 1"],
            ["misuse cuMemUnmap: nothing is mapped at"],
        ),
        (
            f"h, p = mapped(); {FREED}; call('cuMemRelease', h)",
            [*MAPPED, *FREED_SAID, "cuMemRelease 1"],
            ["misuse cuMemRelease: handle 1 is released already"],
        ),
        (
            f"h, p = mapped(); {FREED}; call('cuMemAddressFree', p, size(SIZE))",
            [*MAPPED, *FREED_SAID, "cuMemAddressFree 1"],
            ["misuse cuMemAddressFree:"],
        ),
        (
            "call('cuMemRelease', ctypes.c_ulonglong(9))",
            ["cuMemRelease 1"],
            ["misuse cuMemRelease: there is no handle 9"],
        ),
        (
            RELEASED_FIRST,
            [*MAPPED, "cuMemRelease 0", "cuMemUnmap 0", "cuMemAddressFree 0", "0"],
            ["note cuMemRelease: handle 1 is still mapped"],
        ),
        (
            f"h, p = mapped(); call('cuMemUnmap', p, size(SIZE // 2)); {FREED}",
            [*MAPPED, "cuMemUnmap 1", *FREED_SAID],
            [f"misuse cuMemUnmap: {SIZE} bytes are mapped at"],
        ),
        (
            f"h, p = mapped(); call('cuMemAddressFree', p, size(SIZE)); {FREED}",
            [*MAPPED, "cuMemAddressFree 1", *FREED_SAID],
            ["misuse cuMemAddressFree: something is still mapped"],
        ),
        (
            f"h, p = mapped(); call('cuMemMap', p, size(SIZE), size(0), h, size(0)); {FREED}",
            [*MAPPED, "cuMemMap 1", *FREED_SAID],
            ["misuse cuMemMap: something is mapped at"],
        ),
        ("create(6912)", ["create 1"], [f"misuse cuMemCreate: 6912 bytes are no multiple of the granularity {SIZE}"]),
        ("reserve(6912)", ["reserve 1"], ["misuse cuMemAddressReserve: 6912 bytes are no multiple"]),
        ("call('cuMemSetAccess', size(SIZE), size(SIZE), access, size(1))", ["cuMemSetAccess 1"], ["misuse cuMemSet"]),
        ("mapped()", MAPPED, ["leak cuMemCreate: 1 handles, 2097152 bytes", "leak cuMemAddressReserve: 1 reser"]),
        (
            PINNED,
            ["0 5", "0 0 5", "1"],
            ["misuse cudaFreeHost:"],
        ),
        (
            COPIED,
            [*MAPPED, "0", "cuMemUnmap 0", "1", "cuMemRelease 0", "cuMemAddressFree 0"],
            [f"misuse cudaMemcpy: {SIZE} bytes, kind 2: the source is not memory of that kind"],
        ),
    ],
)
def test_calls_get_the_status_of_the_driver_and_misuse_is_told(
    simulated: Path, tmp_path: Path, script: str, said: list[str], report: list[str]
) -> None:
    code, printed, told = drive(simulated, tmp_path / "report", script)

    assert (code, printed) == (0, said)
    assert [line[: len(start)] for line, start in zip(told, report, strict=True)] == report


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("p = reserve(); ctypes.string_at(p.value, 1)", "reserved, but nothing is mapped there"),
        ("h, p = mapped(); call('cuMemUnmap', p, size(SIZE)); ctypes.memset(p.value, 1, 1)", "reserved, but nothing"),
        (
            WITHOUT_ACCESS,
            "mapped, but access to it was not set",
        ),
    ],
)
def test_touching_what_is_not_there_faults_and_is_told(simulated: Path, tmp_path: Path, script: str, text: str) -> None:
    code, _, told = drive(simulated, tmp_path / "report", script)

    assert (code, len(told)) == (-11, 1)
    assert told[0].startswith("fault access: 0x")
    assert text in told[0]


def test_contents_do_not_outlive_the_handle_and_are_shared_by_none(simulated: Path, tmp_path: Path) -> None:
    written = f"h, p = mapped(); ctypes.memset(p.value, 7, SIZE); {FREED}\n"
    script = written + "h, p = mapped(); print(ctypes.string_at(p.value, 2))"

    assert drive(simulated, tmp_path / "report", script)[1][-1] == r"b'\x00\x00'"


def test_limits_and_granularity_are_settings(simulated: Path, tmp_path: Path) -> None:
    script = (
        "create(4096); create(8192); p = ctypes.c_void_p()\n"
        "print(cudart.cudaMallocHost(ctypes.byref(p), size(10)), cudart.cudaMallocHost(ctypes.byref(p), size(11)))\n"
        "a, b = size(), size(); cudart.cudaMemGetInfo(ctypes.byref(a), ctypes.byref(b)); print(a.value, b.value)\n"
    )
    settings = {"GRANULARITY": "4096", "DEVICE_BYTES": "8192", "HOST_BYTES": "10"}

    assert drive(simulated, tmp_path / "report", script, **settings)[1] == ["create 0", "create 2", "0 2", "4096 8192"]


def test_it_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = simulator(tmp_path)
    monkeypatch.setattr(build, "_build", lambda *_: pytest.fail("built again"))

    assert simulator(tmp_path) == first
    assert {"libcuda.so.1", "libcudart.so.12", "libcudart.so.13"} <= {path.name for path in first.iterdir()}
    assert list(first.parent.iterdir()) == [first]


def test_no_compiler_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    with pytest.raises(SimulatorError, match="there is no C compiler") as caught:
        simulator(tmp_path / "cache")
    assert caught.value.hint == "install gcc or clang, or the package ziglang: pip install ziglang"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("'cc -m64", 'CC is no command line: "\'cc -m64": No closing quotation'),
        ("/bin/true", "/bin/true ended well, and made no libcuda.so.1"),
        ("/bin/false", "/bin/false cannot build libcuda.so.1: it said nothing"),
    ],
)
def test_a_compiler_that_makes_nothing_is_told_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, message: str
) -> None:
    monkeypatch.setenv("CC", named)

    with pytest.raises(SimulatorError) as caught:
        simulator(tmp_path)
    assert caught.value.message == message
    assert list(tmp_path.glob("tms-simulator/*")) == []


def test_a_compiler_that_cc_names_is_the_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    with pytest.raises(SimulatorError, match="there is no compiler /nowhere/cc, which CC names"):
        simulator(tmp_path)

    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no such header >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", f"{broken} -m64")
    with pytest.raises(SimulatorError, match=r"broken -m64 cannot build libcuda\.so\.1: no such header"):
        simulator(tmp_path / "cache")
    assert list((tmp_path / "cache" / "tms-simulator").iterdir()) == []
