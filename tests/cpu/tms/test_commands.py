"""The commands: what they print, and their exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from patchkit.cli.commands.tms import command as group

from .conftest import MakeLibrary, Wheel

Command = Callable[..., tuple[int, str, str]]
QUIET = {"NCCL_CUMEM_ENABLE": "0", "NCCL_GRAPH_REGISTER": "0"}
CRASH = "[torch_memory_saver.cpp] CUresult error: 1 (invalid argument)  file=csrc/core.cpp func=free line=81\n"


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LD_PRELOAD", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        monkeypatch.delenv(name, raising=False)
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def driver(simulated: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A driver and runtimes that the loader finds."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(simulated))
    return simulated


@pytest.mark.parametrize("name", sorted(group.commands))
def test_each_command_explains_itself_and_each_of_its_options(command: Command, name: str) -> None:
    code, out, err = command("tms", name, "--help")
    options = [param for param in group.commands[name].params if isinstance(param, click.Option)]

    assert (code, err) == (0, "")
    assert [flag for option in options for flag in option.opts if flag not in out] == []
    assert [option.name for option in options if not option.help and option.name != "style"] == []


def test_path_prints_the_library_and_nothing_else(command: Command, driver: Path, wheel: Wheel) -> None:
    library = wheel("0.0.10").root / "torch_memory_saver_hook_mode_preload_cu13.abi3.so"

    assert command("tms", "path", "--in", "0.0.10", "--cuda-major", "13") == (0, f"{library}\n", "")


def test_path_without_a_driver_says_what_is_missing(
    command: Command, wheel: Wheel, monkeypatch: pytest.MonkeyPatch, make_library: MakeLibrary, tmp_path: Path
) -> None:
    needs = ["libcuda.so.1", "libcudart.so.12", "libnowhere.so.7"]
    site = tmp_path / "site"
    library = make_library(site / "torch_memory_saver_hook_mode_preload_cu12.abi3.so", needs, ["tms_pause"])
    asked = ["tms", "path", "--in", site, "--cuda-major", "12"]
    code, out, err = command(*asked)

    assert (code, out) == (4, "")
    assert f"error: {library} cannot be preloaded here: the loader does not find" in err
    assert "libnowhere.so.7" in err
    assert command(*asked, "--no-check") == (0, f"{library}\n", "")


def test_path_for_a_cuda_that_there_is_no_library_for(command: Command) -> None:
    code, out, err = command("tms", "path", "--in", "0.0.9", "--cuda-major", "13")

    assert (code, out) == (4, "")
    assert "found torch_memory_saver_hook_mode_preload.abi3.so (for CUDA 12)" in err


def test_path_with_options_that_exclude_each_other(command: Command) -> None:
    assert command("tms", "path", "--rocm", "--cuda-major", "13")[0] == 2


def test_env_gives_what_a_shell_can_take_over(command: Command, driver: Path, wheel: Wheel) -> None:
    library = wheel("0.0.10").root / "torch_memory_saver_hook_mode_preload_cu12.abi3.so"

    assert command("tms", "env", "--in", "0.0.10", "--cuda-major", "12", "--no-cpu-backup") == (
        0,
        f"export LD_PRELOAD={library}\nexport TMS_INIT_ENABLE=1\nexport TMS_INIT_ENABLE_CPU_BACKUP=0\n",
        "",
    )


def test_env_keeps_its_notes_out_of_the_output(command: Command, driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["tms", "env", "--in", "0.0.9.post1", "--cuda-major", "12", "--format"]
    code, out, err = command(*asked, "ray")

    assert (code, set(json.loads(out)["env_vars"])) == (
        0,
        {"LD_PRELOAD", "TMS_INIT_ENABLE", "TMS_INIT_ENABLE_CPU_BACKUP"},
    )
    assert err.startswith("note: with TMS_INIT_ENABLE=1 every region() of this build fails")
    assert err.endswith("[nested-region-assert]\n")
    assert json.loads(command(*asked, "json")[1])["notes"][0]["defect"] == "nested-region-assert"
    assert command(*asked, "dotenv")[1].startswith("LD_PRELOAD='")


def test_env_refuses_expandable_segments(command: Command, driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    code, out, err = command("tms", "env", "--in", "0.0.10", "--cuda-major", "12")

    assert (code, out) == (2, "")
    assert err.startswith("error: PYTORCH_ALLOC_CONF: with expandable segments")


def test_run_starts_a_command_with_the_library_in_its_memory(driver: Path, wheel: Wheel) -> None:
    library = wheel("0.0.10").root / "torch_memory_saver_hook_mode_preload_cu12.abi3.so"
    code = "import os; print(os.environ['TMS_INIT_ENABLE'], 'hook_mode_preload_cu12' in open('/proc/self/maps').read())"
    words = [sys.executable, "-m", "patchkit", "run", "--in", "0.0.10", "--cuda-major", "12", "--"]
    folder = Path(__file__).parents[3]
    done = subprocess.run(
        [*words, sys.executable, "-c", code], cwd=folder, env=os.environ, check=False, capture_output=True, text=True
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "1 True\n", "")
    assert library.exists()


def test_run_gives_the_code_of_the_command_and_says_when_there_is_none(command: Command, driver: Path) -> None:
    words = ["--in", "0.0.10", "--cuda-major", "12", "--"]
    folder = Path(__file__).parents[3]
    start = [sys.executable, "-m", "patchkit", "run", *words]

    assert subprocess.run([*start, "/bin/sh", "-c", "exit 7"], cwd=folder, check=False).returncode == 7
    assert subprocess.run([*start[:-1], "/bin/sh", "-c", "exit 8"], cwd=folder, check=False).returncode == 8
    code, out, err = command("run", *words, "/nowhere/command")
    assert (code, out, err) == (2, "", "error: cannot run /nowhere/command: No such file or directory\n")


def test_run_takes_its_own_options_only_and_leaves_those_of_the_command_alone(
    command: Command, wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, ...]] = []

    def start(name: str, words: tuple[str, ...], variables: dict[str, str]) -> None:
        started.append(words)
        raise FileNotFoundError(2, "stop here")

    monkeypatch.setattr(os, "execvpe", start)
    place = ("--in", str(wheel("0.0.10").root), "--cuda-major", "13")

    code, out, err = command("run", *place, "--nonsense", "--", "true")
    assert (code, out, err.splitlines()[-1]) == (2, "", "Error: No such option '--nonsense'.")
    # There is no driver here, and without the check none is needed.
    command("run", *place, "--no-check", "--", "python", "--rocm", "-c", "x")
    command("run", *place, "--no-check", "python", "--rocm")

    assert started == [("python", "--rocm", "-c", "x"), ("python", "--rocm")]


def test_what_is_no_torch_memory_saver_is_refused_by_name(
    command: Command, make_library: MakeLibrary, tmp_path: Path
) -> None:
    library = make_library(tmp_path / "libother.so", ["libcuda.so.1"], ["other"])

    assert command("tms", "identify", library) == (
        4,
        "",
        f"error: {library} exports no function of torch_memory_saver\n",
    )
    assert command("tms", "path", "--in", "0.0.7", "--cuda-major", "12") == (
        4,
        "",
        (
            "error: 0.0.7 is no recorded release of torch_memory_saver\n"
            "  hint: recorded: 0.0.8, 0.0.9, 0.0.9.post1, 0.0.10\n"
        ),
    )
    assert command("tms", "identify", "/dev/null") == (4, "", "error: /dev/null is neither a file nor a folder\n")
    assert command("tms", "identify", "--pid", "-3")[0] == 2


def test_of_python_files_alone_no_defect_is_told(command: Command, wheel: Wheel, tmp_path: Path) -> None:
    shutil.copytree(wheel("0.0.10").root / "torch_memory_saver", tmp_path / "torch_memory_saver")

    code, out, _ = command("tms", "identify", tmp_path)
    assert (code, out.splitlines()[2:]) == (
        1,
        [
            "it can be: 0.0.10, 9efce7400, 9bc9a442e, 4a43c9777",
            "  there is no library: only the Python files could be compared",
            "  nothing is tracked, and preloading fails: there is no library",
            "not good enough for the series: it needs 0.0.10, or b5588e83d or later",
        ],
    )


@pytest.mark.parametrize(("version", "code"), [("0.0.8", 1), ("0.0.9", 1), ("0.0.9.post1", 1), ("0.0.10", 0)])
def test_identify_says_whether_it_is_good_enough(command: Command, version: str, code: int) -> None:
    told = command("tms", "identify", version)

    assert (told[0], told[2]) == (code, "")
    assert f"it can be: {version}\n" in told[1]
    assert ("  double-release: a paused allocation is released a second time" in told[1]) is bool(code)
    assert told[1].endswith(
        "not good enough for the series: it needs 0.0.10, or b5588e83d or later\n"
        if code
        else "\ngood enough for the series\n"
    )


def test_identify_as_json(command: Command) -> None:
    code, out, _ = command("tms", "identify", "0.0.10", "--format", "json")
    told = json.loads(out)

    assert (code, told["meets-minimum"], told["verdict"]["candidates"]) == (0, True, ["0.0.10"])
    assert {item["standing"] for item in told["defects"]} == {"present", "absent"}


def test_identify_tries_out_what_symbols_do_not_tell(command: Command, wheel: Wheel, tmp_path: Path) -> None:
    # A library that no record knows: the one of the index, with a symbol renamed, and other Python files.
    site = tmp_path / "site"
    site.mkdir()
    name = "torch_memory_saver_hook_mode_preload_cu12.abi3.so"
    content = (wheel("0.0.9.post1").root / name).read_bytes()
    assert content.count(b"tms_get_enable_cpu_backup\0") > 0
    (site / name).write_bytes(content.replace(b"tms_get_enable_cpu_backup\0", b"tms_gxt_enable_cpu_backup\0"))

    code, out, _ = command("tms", "identify", site, "--no-probe")
    assert (code, "is not known: let patchkit tms probe try it out" in out) == (1, True)
    code, out, _ = command("tms", "identify", site)
    assert (code, out.splitlines()[-1][:15]) == (1, "not good enough")


def test_identify_without_a_compiler_says_so(
    command: Command, make_library: MakeLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    library = site / "torch_memory_saver_hook_mode_preload_cu12.abi3.so"
    make_library(library, ["libcuda.so.1", "libcudart.so.12"], ["tms_pause", "tms_new"])
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", "/nowhere/cc")

    code, out, _ = command("tms", "identify", site)
    assert (code, "  not tried out: there is no compiler /nowhere/cc, which CC names" in out.splitlines()) == (1, True)


def test_identify_a_build_for_rocm_that_no_record_knows(
    command: Command, make_library: MakeLibrary, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    library = site / "torch_memory_saver_hook_mode_preload.abi3.so"
    make_library(library, ["libamdhip64.so.7"], ["tms_pause", "tms_new"])

    code, out, _ = command("tms", "identify", site)
    assert (code, "  torch_memory_saver_hook_mode_preload.abi3.so  ROCm  sha256" in out) == (1, True)
    assert "  not tried out: " in out
    assert out.splitlines()[-1].startswith("whether it is good enough for the series is not known")


def test_identify_a_process(command: Command) -> None:
    code, out, err = command("tms", "identify", "--pid", str(os.getpid()))

    assert (code, out) == (4, "")
    assert "has loaded no library of torch_memory_saver" in err
    assert command("tms", "identify", "--pid", "1", "0.0.10")[0] == 2


@pytest.mark.parametrize(("version", "code"), [("0.0.9.post1", 1), ("0.0.10", 0)])
def test_probe_prints_a_table(command: Command, version: str, code: int) -> None:
    told = command("tms", "probe", version)
    lines = told[1].splitlines()

    assert (told[0], told[2]) == (code, "")
    assert lines[0].endswith(f"torch_memory_saver {version}, CUDA 13, simulated")
    assert lines[1].split() == ["preload", "torch"]
    assert len({len(line) - len(line.lstrip()) for line in lines[2:20]}) == 1
    row = next(line.split() for line in lines if line.startswith("  free while paused"))
    assert row == ["free", "while", "paused", *(["dies"] if code else ["works"]) * 2]
    assert lines[-1] == ("not good enough for the series" if code else "good enough for the series")


def test_probe_as_json(command: Command) -> None:
    code, out, _ = command("tms", "probe", "0.0.9", "--format", "json")
    told = {(trial["name"], trial["mode"]): trial for trial in json.loads(out)["trials"]}

    assert code == 1
    assert told["free_while_paused", "preload"]["outcome"] == "dies"
    assert told["free_while_paused", "preload"]["text"].endswith("func=free line=65")


def test_probe_of_what_is_none(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(b"text")

    assert command("tms", "probe", tmp_path / "a.so")[0] == 4
    assert command("tms", "probe", tmp_path / "nowhere")[0] == 4
    assert command("tms", "probe", "9.9.9")[0] == 4


def test_triage_prints_cause_evidence_and_what_to_do(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"hello\n[rank2]: {CRASH}")
    code, out, err = command("tms", "triage", log)

    assert (code, err) == (1, "")
    assert out.splitlines() == [
        f"{log}: 2 lines, {log.stat().st_size} bytes",
        "fatal: a paused allocation was released a second time, once [double-release]",
        f"  line 2: [rank2]: {CRASH.strip()}".replace("  file", " file"),
        "  by rank 2: 1",
        (
            "  cause: the allocator freed memory while it was paused: empty_cache() while asleep, sleeping twice, or"
            " the end of the process while paused"
        ),
        (
            "  build: it can only come from a build before 0.0.10 and b5588e83d (1bc80bb0d, d64a6394d, cb4fa6b98,"
            " a193d9dd1, 6d5bce48c): a pin with the fix is not what the image had"
        ),
        (
            "  to do: install torch_memory_saver 0.0.10 or later, or a pin at b5588e83d or later; until then do not"
            " call empty_cache() and do not sleep twice while paused"
        ),
    ]


def test_triage_of_innocent_and_of_junk_logs_and_of_none(command: Command, tmp_path: Path) -> None:
    good, junk = tmp_path / "good.log", tmp_path / "junk.log"
    good.write_text("hello\n")
    junk.write_bytes(bytes(range(256)) * 9)

    code, out, _ = command("tms", "triage", good, junk)
    assert (code, out.count("nothing known of torch_memory_saver")) == (0, 2)
    assert command("tms", "triage", tmp_path / "nowhere")[0] == 2


def test_triage_shows_escapes_of_a_log_as_text(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(f"\x1b]0;title\x07\x1b]0;open \x08\u202e {CRASH}")

    out = command("tms", "triage", log)[1]
    assert r"  line 1: \x1b]0;open \x08\u202e [torch" in out
    assert out.replace("\n", "").isprintable()


def test_triage_reads_standard_input_and_gives_json() -> None:
    command = [sys.executable, "-m", "patchkit", "tms", "triage", "-", "--format", "json"]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[3], input=CRASH, check=False, capture_output=True, text=True
    )
    (told,) = json.loads(done.stdout)["logs"]

    assert (done.returncode, told["fatal"], told["triage"]["lines"]) == (1, True, 1)
    assert told["triage"]["findings"][0]["signature"]["id"] == "double-release"


def test_a_fetched_wheel_is_unpacked_once_and_shared(command: Command, tmp_path: Path, wheel: Wheel) -> None:
    copy = tmp_path / "torch_memory_saver-0.0.10-cp39-abi3-manylinux2014_x86_64.whl"
    from .wheels import fetch_saver

    shutil.copy(fetch_saver("0.0.10")[-1], copy)

    assert str(wheel("0.0.10").root) in command("tms", "path", "--in", copy, "--cuda-major", "12", "--no-check")[1]
