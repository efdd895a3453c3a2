"""The environment of an actor."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from patchkit.errors import TmsFileError, UsageError
from patchkit.tms.elf import Library
from patchkit.tms.environment import (
    ActorEnvironment,
    actor_environment,
    as_dotenv,
    as_json,
    as_ray,
    as_shell,
    merged_preload,
)
from patchkit.tms.library import Cuda
from patchkit.tms.start import start_environment

from .conftest import MakeLibrary, Wheel
from .wheels import memory_saver

LIBRARY = Path("/site/torch_memory_saver_hook_mode_preload_cu13.abi3.so")
QUIET = {"NCCL_CUMEM_ENABLE": "0", "NCCL_GRAPH_REGISTER": "0"}
"""Settings with which there is nothing to note."""


def elf(*exports: str) -> Library:
    return Library("EM_X86_64", ("libcuda.so.1", "libcudart.so.13"), (), frozenset(exports), frozenset())


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", str(LIBRARY)),
        ("/a.so", f"{LIBRARY}:/a.so"),
        ("/a.so:/b.so", f"{LIBRARY}:/a.so:/b.so"),
        ("/a.so /b.so\t/c.so", f"{LIBRARY}:/a.so:/b.so:/c.so"),
        (f"/a.so:{LIBRARY}:/a.so:", f"{LIBRARY}:/a.so"),
        # Two libraries of torch_memory_saver would hook each other, and its package wants exactly one.
        ("/x/torch_memory_saver_hook_mode_preload.abi3.so:/a.so", f"{LIBRARY}:/a.so"),
        ("/x/torch_memory_saver_cpp.abi3.so", str(LIBRARY)),
        ("/torch_memory_saver/libc.so", f"{LIBRARY}:/torch_memory_saver/libc.so"),
    ],
)
def test_the_library_comes_first_and_the_users_own_stay_each_once(before: str, expected: str) -> None:
    assert merged_preload(LIBRARY, before) == expected


@pytest.mark.parametrize("path", ["/a b/torch_memory_saver_x.so", "/a:b/torch_memory_saver_x.so", "/a\tb.so"])
def test_a_path_that_ld_preload_cannot_name_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="LD_PRELOAD cannot name"):
        merged_preload(Path(path), "")


def test_the_variables_are_those_of_an_actor() -> None:
    assert actor_environment(LIBRARY, elf(), QUIET) == ActorEnvironment(
        {"LD_PRELOAD": str(LIBRARY), "TMS_INIT_ENABLE": "1", "TMS_INIT_ENABLE_CPU_BACKUP": "1"}, ()
    )
    assert actor_environment(LIBRARY, elf(), QUIET, cpu_backup=False).variables["TMS_INIT_ENABLE_CPU_BACKUP"] == "0"


def test_folders_of_libraries_go_before_those_that_are_there_each_once() -> None:
    before = {**QUIET, "LD_LIBRARY_PATH": "/b:/a:"}

    found = actor_environment(LIBRARY, elf(), before, library_folders=[Path("/a"), Path("/c")])

    assert found.variables["LD_LIBRARY_PATH"] == "/a:/c:/b"


@pytest.mark.parametrize("name", ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"])
@pytest.mark.parametrize(
    "value",
    [
        "expandable_segments:True",
        "max_split_size_mb:128,expandable_segments:True",
        "expandable_segments : true",
        " Expandable_Segments:TRUE ,max_split_size_mb : 128",
        "expandable_segments:False,expandable_segments:True",
        "expandable_segments:1",
    ],
)
def test_expandable_segments_are_refused_under_every_name(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}: with expandable segments torch maps memory itself"):
        actor_environment(LIBRARY, elf(), {name: value})


@pytest.mark.parametrize(
    "value",
    [
        "expandable_segments:False",
        " expandable_segments : false ",
        "expandable_segments:True,expandable_segments:False",
        "my_expandable_segments:True",
        "max_split_size_mb:128",
        "",
    ],
)
def test_expandable_segments_switched_off_are_no_matter(value: str) -> None:
    before = {**QUIET, "PYTORCH_ALLOC_CONF": value}

    assert actor_environment(LIBRARY, elf(), before).notes == ()


def test_a_build_that_tracks_expandable_segments_gets_a_note_only() -> None:
    before = {**QUIET, "PYTORCH_ALLOC_CONF": "expandable_segments:True"}

    (note,) = actor_environment(LIBRARY, elf("tms_cuMemCreate"), before).notes
    assert note.defect == "expandable-segments-no-pool"


@pytest.mark.parametrize(
    ("exports", "before", "defects", "expected"),
    [
        ((), {}, (), [None, "nccl-graph-hang"]),
        ((), QUIET, (), []),
        ((), {"NCCL_CUMEM_ENABLE": "", "NCCL_GRAPH_REGISTER": "1"}, (), ["nccl-graph-hang"]),
        ((), QUIET, ("nested-region-assert",), ["nested-region-assert"]),
        (("tms_region_enter",), QUIET, ("nested-region-lost",), [None]),
        ((), QUIET, ("preload-multiple-entries",), []),
        ((), {**QUIET, "LD_PRELOAD": "/a.so"}, ("preload-multiple-entries",), ["preload-multiple-entries"]),
        ((), {**QUIET, "LD_PRELOAD": "/a.so"}, (), []),
        ((), {**QUIET, "LD_PRELOAD": "/torch_memory_saver/a.so"}, (), [None]),
    ],
)
def test_what_is_noted(
    exports: tuple[str, ...], before: dict[str, str], defects: tuple[str, ...], expected: list[str | None]
) -> None:
    notes = actor_environment(LIBRARY, elf(*exports), before, defects=defects).notes

    assert [note.defect for note in notes] == expected


AWKWARD = ActorEnvironment({"LD_PRELOAD": "/it's/$HOME/`x`", "TMS_INIT_ENABLE": "1"}, ())


def test_a_shell_reads_the_very_values() -> None:
    script = as_shell(AWKWARD) + 'printf %s "$LD_PRELOAD"'

    assert (
        subprocess.run(["/bin/sh", "-c", script], check=False, capture_output=True, text=True).stdout
        == "/it's/$HOME/`x`"
    )


def test_json_and_ray_hold_the_very_values() -> None:
    assert json.loads(as_json(AWKWARD)) == {"variables": AWKWARD.variables, "notes": []}
    assert json.loads(as_ray(AWKWARD)) == {"env_vars": AWKWARD.variables}


def test_a_dotenv_file_quotes_and_refuses_what_it_cannot_hold() -> None:
    assert as_dotenv(ActorEnvironment({"A": "1 $x"}, ())) == "A='1 $x'\n"
    with pytest.raises(UsageError, match="cannot hold the value of LD_PRELOAD"):
        as_dotenv(AWKWARD)
    with pytest.raises(UsageError, match="cannot hold the value of A"):
        as_dotenv(ActorEnvironment({"A": "1\n2"}, ()))


def test_the_cuda_runtime_of_pip_is_put_on_the_path_and_the_real_process_then_starts(
    wheel: Wheel, simulated: Path, tmp_path: Path
) -> None:
    # As in an image where CUDA comes from pip only: the driver on the loader's path, the runtime in site-packages.
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "libcuda.so.1").symlink_to(simulated / "libcuda.so.1")
    runtime = tmp_path / "site" / "nvidia" / "cuda_runtime" / "lib"
    runtime.mkdir(parents=True)
    (runtime / "libcudart.so.12").symlink_to(simulated / "libcudart.so.12")
    before = {**QUIET, "PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(tmp_path / "driver")}
    package = wheel("0.0.10")

    found = start_environment(package, Cuda(12), before, memory_saver(), roots=[tmp_path / "site"])

    assert found.variables["LD_LIBRARY_PATH"] == f"{runtime}:{tmp_path / 'driver'}"
    assert subprocess.run(["/bin/true"], env={**before, **found.variables}, check=False).returncode == 0
    with pytest.raises(TmsFileError, match=r"does not find libcudart\.so\.12$"):
        start_environment(package, Cuda(12), before, memory_saver())


def test_the_notes_follow_from_the_build_that_is_there(wheel: Wheel, simulated: Path) -> None:
    before = {**QUIET, "LD_LIBRARY_PATH": str(simulated), "LD_PRELOAD": str(simulated / "libcudart.so.12")}

    old = start_environment(wheel("0.0.9.post1"), Cuda(12), before, memory_saver())
    new = start_environment(wheel("0.0.10"), Cuda(12), before, memory_saver())

    assert [note.defect for note in old.notes] == ["preload-multiple-entries", "nested-region-assert"]
    assert new.notes == ()


def test_what_the_user_preloads_is_asked_about_too(
    wheel: Wheel, simulated: Path, make_library: MakeLibrary, tmp_path: Path
) -> None:
    before = {**QUIET, "LD_LIBRARY_PATH": str(simulated), "LD_PRELOAD": "/nowhere/libx.so $UNSET/liby.so"}
    notes = start_environment(wheel("0.0.10"), Cuda(13), before, memory_saver()).notes

    why = "which the loader leaves out: cannot open shared object file"
    assert [note.text for note in notes] == [
        f"LD_PRELOAD named {entry}, {why}" for entry in ("/nowhere/libx.so", "$UNSET/liby.so")
    ]

    other = make_library(tmp_path / "libother.so", ["libnowhere.so.7"], ["f"])
    with pytest.raises(TmsFileError) as caught:
        start_environment(wheel("0.0.10"), Cuda(13), {**before, "LD_PRELOAD": str(other)}, memory_saver())
    assert caught.value.message == (
        f"LD_PRELOAD names {other} as well, and the loader does not find libnowhere.so.7 for it"
    )


def test_without_the_check_nothing_is_asked_of_the_loader(make_library: MakeLibrary, tmp_path: Path) -> None:
    from patchkit.tms.package import Package

    needs = ["libcuda.so.1", "libcudart.so.12", "libnowhere.so.7"]
    library = make_library(
        tmp_path / "site" / "torch_memory_saver_hook_mode_preload_cu12.abi3.so", needs, ["tms_pause"]
    )
    package = Package("made", tmp_path / "site")

    assert start_environment(package, Cuda(12), QUIET, memory_saver(), check=False).variables["LD_PRELOAD"] == str(
        library
    )
    with pytest.raises(TmsFileError, match="libnowhere"):
        start_environment(package, Cuda(12), QUIET, memory_saver())
