"""What a running process has loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from patchkit.errors import TmsError, TmsNotFoundError
from patchkit.tms.identity import identify
from patchkit.tms.library import Cuda, preload_library
from patchkit.tms.process import Process, loaded_package, look_at

from .conftest import Wheel
from .wheels import memory_saver

LIBRARY = "/site/torch_memory_saver_hook_mode_preload_cu12.abi3.so"


@contextmanager
def running(**environment: str) -> Iterator[int]:
    """A Python process that waits; its id."""
    command = [sys.executable, "-S", "-c", "print(flush=True); input()"]
    settings = {"PATH": os.environ["PATH"], **environment}
    with subprocess.Popen(command, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate(b"\n")


def test_the_memory_map_of_a_real_process_tells_what_it_loaded(wheel: Wheel, simulated: Path) -> None:
    library = preload_library(Cuda(12), wheel("0.0.10"))
    with running(LD_PRELOAD=str(library), LD_LIBRARY_PATH=str(simulated)) as pid:
        process = look_at(pid)
        package = loaded_package(process)
        found = identify(package, memory_saver())

    assert process == Process(pid, (str(library),), (), (str(library),))
    assert package.label == f"process {pid}: {library}"
    assert (found.verdict.candidates, found.meets_minimum) == (("0.0.10",), True)


def test_what_the_environment_names_and_the_loader_left_out_is_told(tmp_path: Path) -> None:
    with running(LD_PRELOAD=str(tmp_path / "torch_memory_saver_hook_mode_preload_cu13.abi3.so")) as pid:
        process = look_at(pid)

    assert (process.mapped, len(process.ignored)) == ((), 1)
    with pytest.raises(TmsNotFoundError, match="which the loader left out"):
        loaded_package(process)


def test_a_process_without_the_library_is_told() -> None:
    with pytest.raises(TmsNotFoundError, match="its LD_PRELOAD does not name one"):
        loaded_package(look_at(os.getpid()))


def fake(folder: Path, maps: str, environment: bytes = b"") -> Path:
    (folder / "7").mkdir()
    (folder / "7" / "maps").write_text(maps)
    (folder / "7" / "environ").write_bytes(environment)
    return folder


def test_a_library_that_was_replaced_since_is_not_taken_for_the_one_that_runs(tmp_path: Path) -> None:
    proc = fake(tmp_path, f"7f00-7f01 r-xp 00000000 08:01 12 {LIBRARY} (deleted)\n", b"A=1\0LD_PRELOAD=/x.so\0")
    process = look_at(7, proc)

    assert process == Process(7, (LIBRARY,), (LIBRARY,), ())
    with pytest.raises(TmsError, match="was deleted or replaced since process 7 loaded it"):
        loaded_package(process, proc)


def test_lines_of_the_map_without_a_file_and_with_blanks_in_a_name_are_read(tmp_path: Path) -> None:
    lines = [
        "7f00-7f01 rw-p 00000000 00:00 0 ",
        "7f01-7f02 r-xp 00000000 08:01 12                  /a b/torch_memory_saver_cpp.abi3.so",
        "7f02-7f03 r--p 00001000 08:01 12                  /a b/torch_memory_saver_cpp.abi3.so",
        "7f03-7f04 r-xp 00000000 00:00 0                   [vdso]",
        "7f04-7f05 r-xp 00000000 08:01 13                  /usr/lib/libc.so.6",
    ]

    assert look_at(7, fake(tmp_path, "\n".join(lines))).mapped == ("/a b/torch_memory_saver_cpp.abi3.so",)


def test_no_process_is_told(tmp_path: Path) -> None:
    with pytest.raises(TmsNotFoundError, match="there is no process 7"):
        look_at(7, tmp_path)
