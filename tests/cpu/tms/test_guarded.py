"""Programs in a wrong order against the real torch_memory_saver, with the guard and without (docs/guard.md).

The driver is simulated; each program runs in a process of its own, because without the guard many of them die.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from patchkit.tms.library import Cuda, preload_library
from patchkit.tms.package import Package

from .conftest import Wheel
from .test_estimate import Command

WORKER = Path(__file__).with_name("guarded_worker.py")
NEW, OLD = "0.0.10", "0.0.9.post1"

FAULT = "fault access"
NO_BACKUP = "found paused allocation but cpu_backup does not exist"
NOT_FOUND = "get_cpu_backup_pointer fail to find backup"
NOT_ACTIVE = "Cannot pause allocation that is not active."
NOT_PAUSED = "Cannot resume allocation that is not paused."
OUTSIDE = "only support interesting region"
NO_ROOM = "cudaError error: 2 (out of memory)"
FREED_TWICE = "CUresult error: 1 (invalid argument)  file=csrc/core.cpp func=free"


def started(
    script: Path,
    job: Mapping[str, Any],
    package: Package,
    simulated: Path,
    *,
    settings: Mapping[str, str],
    timeout: int = 60,
) -> subprocess.CompletedProcess[str]:
    """Run a script in a process that has the library as the hook mode of the job wants it."""
    preloaded = {
        "LD_PRELOAD": str(preload_library(Cuda(12), package)),
        "TMS_INIT_ENABLE": "1",
        "TMS_INIT_ENABLE_CPU_BACKUP": "1",
    }
    return subprocess.run(
        # With torch, from site-packages.
        [sys.executable, "-I", *([] if job["torch"] else ["-S"]), "-B", str(script), json.dumps(job)],
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "LD_LIBRARY_PATH": f"{simulated}:{os.environ.get('LD_LIBRARY_PATH', '')}".strip(":"),
            **(preloaded if job["hook"] == "preload" else {}),
            "PATCHKIT_SIMULATOR_GRANULARITY": "4096",
            **settings,
        },
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
    )


class Run:
    """Runs programs."""

    def __init__(self, wheel: Wheel, simulated: Path, folder: Path) -> None:
        self._wheel, self._simulated, self._folder = wheel, simulated, folder

    def __call__(
        self,
        case: str,
        version: str,
        *,
        guarded: bool,
        settings: Mapping[str, str] | None = None,
        torch: bool = False,
        hook: str = "preload",
    ) -> Any:
        """What the program returned, the name of what it raised, or the line that was said when it died."""
        package = self._wheel(version)
        out = self._folder / "out.json"
        out.unlink(missing_ok=True)
        job = {
            "case": case,
            "guarded": guarded,
            "saver": str(package.root),
            "out": str(out),
            "torch": torch,
            "hook": hook,
        }
        done = started(WORKER, job, package, self._simulated, settings=settings or {})
        if done.returncode == 0 and out.exists():
            self.text = json.loads(out.read_text()).get("text", "")
            answer = json.loads(out.read_text())
            return answer.get("returned", answer.get("raised"))
        assert done.returncode in (1, -11), done.stderr
        self.text = done.stderr
        known = (FAULT, NOT_ACTIVE, NOT_PAUSED, FREED_TWICE, NO_BACKUP, NOT_FOUND, NO_ROOM, OUTSIDE)
        return next((line for line in known if line in done.stderr), str(done.returncode))


@pytest.fixture
def run(wheel: Wheel, simulated: Path, tmp_path: Path) -> Run:
    return Run(wheel, simulated, tmp_path)


@dataclass(frozen=True)
class Case:
    """A program, and what comes of it."""

    defects: str
    """By the names in docs/guard.md."""
    program: str
    version: str
    before: Any
    """Without the guard."""
    after: Any
    """With it."""
    settings: Mapping[str, str] = field(default_factory=dict)


DISK = {"TMS_INIT_ENABLE_CPU_BACKUP": "0", "TMS_INIT_ENABLE_DISK_BACKUP": "1"}
DEVICE = "PATCHKIT_SIMULATOR_DEVICE_BYTES"
HOST = "PATCHKIT_SIMULATOR_HOST_BYTES"
REGIONS_ONLY = {"TMS_INIT_ENABLE": "0"}

CASES = [
    Case("T02, T04", "second_sleep", NEW, NOT_ACTIVE, 5),
    Case("T02, T04", "second_sleep", OLD, NOT_ACTIVE, 5),
    Case("T05", "second_wake", NEW, NOT_PAUSED, 5),
    Case("T05", "second_wake", OLD, NOT_PAUSED, 5),
    Case("C01", "save_while_asleep", NEW, FAULT, "PausedError"),
    Case("R1, C06", "save_unrestored", NEW, 0, "UnrestoredError"),
    Case("R1, C06", "wake_and_save", NEW, 0, 7),
    Case("R1, C06", "wake_and_save", OLD, 0, 7, REGIONS_ONLY),
    Case("R1, C06", "wake_and_save", "0.0.8", "TypeError", 7, REGIONS_ONLY),
    Case("R2, C05, C09", "nobody_restores", NEW, 0, "MissingRestorerError"),
    Case("R3, C13", "parameters_stay_active", NEW, NOT_PAUSED, [7, 5]),
    Case("T06", "pause_by_name_resume_all", NEW, NOT_PAUSED, [6, 5]),
    Case("R4, C22, T05", "allocate_while_asleep", NEW, NOT_PAUSED, "TrackedGrowthError"),
    Case("R4, C22", "allocate_untracked_while_asleep", NEW, [5, 1], [5, 1]),
    Case("T01, T02, R7", "free_while_asleep", OLD, FREED_TWICE, "PausedError"),
    Case("T01, T02, R7", "free_while_asleep", NEW, 0, 0),
    Case("T02", "sleep_again_after_emptying_the_cache", OLD, 5, 5),
    Case("R9", "communication_buffer_before_the_first_use", NEW, FAULT, 3),
    Case("R8, C21", "communication_buffer_that_fails", NEW, 1 << 20, 0),
    Case("R8", "communication_buffer_where_nothing_is_tracked", NEW, 1 << 20, 2 << 20, REGIONS_ONLY),
    Case("T08", "region_inside_a_tracked_process", OLD, "AssertionError", "CapabilityError"),
    Case("C12", "disk_backup", OLD, 0, "CapabilityError", DISK),
    Case("C08", "one_tag_of_two_resumed", NEW, FAULT, "PausedError"),
    Case("N01", "sleep_in_an_open_step", NEW, 0, "DirtyGradientsError"),
    Case("C07", "shortcut_by_name", NEW, 0, 7),
    Case("C17", "groups_alive_at_the_pause", NEW, FAULT, "HeldError"),
    Case("T03", "empty_the_cache_after_a_cycle", NEW, 0, 7),
    Case("C02", "sleep_without_room_on_the_host", NEW, NO_ROOM, "HostMemoryError", {HOST: "1048576"}),
    Case("C02", "sleep_again_with_what_was_retained", NEW, 5, 5, {HOST: "1048576"}),
    Case("C02", "sleep_again_with_more_than_was_retained", NEW, NO_ROOM, "HostMemoryError", {HOST: "1048576"}),
    Case("T20", "wake_while_the_engine_has_the_device", NEW, NO_ROOM, "DeviceMemoryError", {DEVICE: "3145728"}),
    Case("C04", "train_after_the_reference", NEW, 3, "ContentsError"),
    Case("C04, C07", "switch_back_before_training", NEW, 7, 7),
    Case("C11", "generate_before_the_update", NEW, 0, "UnrestoredError"),
    Case("C11", "generate_after_the_update", NEW, 8, 8),
    Case("C20", "optimizer_state_of_a_checkpoint_elsewhere", NEW, 1 << 20, "PlacementError"),
    Case("N06", "buffers_that_nobody_named", NEW, 0, "MissingRestorerError"),
    Case("T05", "resumed_by_somebody_else", NEW, NOT_PAUSED, [7, 5]),
    Case("T04", "paused_by_somebody_else", NEW, NOT_ACTIVE, [7, 5]),
    Case("T04", "second_guard", NEW, NOT_ACTIVE, "GuardUseError"),
    Case("T06", "tag_without_a_name", NEW, FAULT, "OrderError"),
    Case("R4", "pause_while_another_thread_allocates", NEW, FAULT, "HeldError"),
    Case("N05", "gather_in_the_gradient_buffer", NEW, 0, "HeldError"),
]


@pytest.mark.network
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.program}-{case.version}")
def test_a_wrong_order_is_no_death_and_no_silence(run: Run, case: Case) -> None:
    assert run(case.program, case.version, guarded=False, settings=case.settings) == case.before, run.text
    assert run(case.program, case.version, guarded=True, settings=case.settings) == case.after, run.text


# In hook mode torch only regions are tracked; 0.0.8 does not have it.
TORCH_MODE = [
    Case(case.defects, case.program, version, before, case.after)
    for case in CASES
    if case.version == NEW
    for version in (NEW, OLD)
    for before in [OUTSIDE if case.program == "empty_the_cache_after_a_cycle" else case.before]
    if case.program
    in (
        "second_sleep",
        "second_wake",
        "save_while_asleep",
        "save_unrestored",
        "nobody_restores",
        "parameters_stay_active",
        "pause_by_name_resume_all",
        "one_tag_of_two_resumed",
        "sleep_in_an_open_step",
        "shortcut_by_name",
        "groups_alive_at_the_pause",
        "gather_in_the_gradient_buffer",
        "empty_the_cache_after_a_cycle",
        "train_after_the_reference",
        "generate_before_the_update",
        "resumed_by_somebody_else",
        "second_guard",
    )
]


@pytest.mark.network
@pytest.mark.parametrize("case", TORCH_MODE, ids=lambda case: f"{case.program}-{case.version}")
def test_the_same_holds_in_hook_mode_torch(run: Run, case: Case) -> None:
    assert run(case.program, case.version, guarded=False, hook="torch") == case.before, run.text
    assert run(case.program, case.version, guarded=True, hook="torch") == case.after, run.text


WITH_TORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed; its CPU build is enough"
)

# Of cpu_backup: what torch_memory_saver's own function does without the guard.
BACKUPS = [
    Case("T07", "backup_of_gradients", NEW, NO_BACKUP, None),
    Case("T07", "backup_of_untracked_memory", NEW, NOT_FOUND, 3 << 20),
    Case("R13", "backup_in_place", NEW, "AssertionError", [[2, 1024], True, 10240, True, 12288]),
    Case("R13", "free_under_a_view", NEW, "-11", [True, 5]),
    Case("R13", "backup_kept_from_an_earlier_pause", NEW, 5, 6),
    Case("T07", "backup_in_an_old_build", OLD, "AttributeError", "CapabilityError"),
]


@pytest.mark.network
@pytest.mark.behaviour
@WITH_TORCH
@pytest.mark.parametrize("case", BACKUPS, ids=lambda case: f"{case.program}-{case.version}")
def test_a_backup_is_a_view_or_a_copy_or_none_and_never_the_end(run: Run, case: Case) -> None:
    assert run(case.program, case.version, guarded=False, torch=True) == case.before, run.text
    assert run(case.program, case.version, guarded=True, torch=True) == case.after, run.text


@pytest.mark.network
@pytest.mark.behaviour
@WITH_TORCH
def test_a_backup_of_a_conjugate_or_a_negation_is_one(run: Run) -> None:
    found = run("backups_of_conjugates_and_negations", NEW, guarded=True, torch=True)
    assert found == [[True, False, True], [False, True, True]], run.text


@pytest.mark.network
@pytest.mark.behaviour
@WITH_TORCH
def test_a_backup_of_a_storage_that_is_no_multiple_of_its_numbers_is_one(run: Run) -> None:
    found = run("backup_of_a_storage_with_a_rest", NEW, guarded=True, torch=True)
    assert found == [[2], [5] * 8], run.text


@pytest.mark.network
@pytest.mark.behaviour
@WITH_TORCH
def test_a_backup_that_is_read_in_place_keeps_its_tag_from_being_resumed(run: Run) -> None:
    # Without the guard it reads memory that was given back.
    assert run("backup_read_after_the_resume", NEW, guarded=True, torch=True) == "HeldError"
    assert "its backup is read in place, and a resume gives it back to the system" in run.text


@pytest.mark.network
@pytest.mark.parametrize(
    ("program", "version", "words"),
    [
        ("host_bytes_of_a_cycle", NEW, ["--tms", NEW]),
        ("host_bytes_of_a_cycle_that_retains", NEW, ["--tms", NEW, "--retain-backups"]),
        ("host_bytes_of_a_cycle", OLD, ["--tms", OLD]),
        ("host_bytes_of_a_cycle", "0.0.9", ["--tms", "0.0.9"]),
    ],
)
def test_the_estimate_has_the_host_bytes_of_a_cycle(
    run: Run, command: Command, program: str, version: str, words: list[str]
) -> None:
    """Two MiB of optimizer with a backup, as 2^21 bytes of fp32 state for parameters that have none."""
    megatron: dict[str, Any] = {
        "num_layers": 1,
        "hidden_size": 1,
        "num_attention_heads": 1,
        "vocab_size": 1,
        "add_bias_linear": False,
    }
    megatron |= {"make_vocab_size_divisible_by": 1, "ffn_hidden_size": 1, "normalization": "RMSNorm", "bf16": True}
    options = [word for name, value in megatron.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    _, out, _ = command(
        "tms",
        "estimate",
        *options,
        "--no-grad-backup",
        "--no-param-backup",
        "--weight-copies=0",
        "--format=json",
        *words,
    )
    phases = {each["name"]: sum(each["host"].values()) for each in json.loads(out)["phases"]}
    settings = REGIONS_ONLY if version != NEW else {}
    asleep, awake = run(program, version, guarded=True, settings=settings)

    assert asleep == 2 << 20
    assert awake / asleep == phases["train"] / phases["sleep"]


@pytest.mark.network
@pytest.mark.parametrize("hook", ["preload", "torch"])
@pytest.mark.parametrize("version", [NEW, OLD, "0.0.9"])
def test_copies_that_shall_be_retained_are_and_builds_that_always_do_are_no_error(
    run: Run, version: str, hook: str
) -> None:
    settings = REGIONS_ONLY if version != NEW else {}
    found = run("host_bytes_of_a_cycle_by_the_option", version, guarded=True, settings=settings, hook=hook)

    assert found == [2 << 20, 2 << 20], run.text


@pytest.mark.network
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.0.8", []),
        ("0.0.9", ["backup", "disable"]),
        (OLD, ["backup", "disable"]),
        (
            NEW,
            [
                "backup",
                "backup_pointer",
                "disable",
                "disk_backup",
                "free_while_paused",
                "nested_regions",
                "pools_by_tag",
            ],
        ),
    ],
)
def test_what_the_releases_can_do(run: Run, version: str, expected: list[str]) -> None:
    assert run("capabilities", version, guarded=True) == expected, run.text


@pytest.mark.network
def test_the_oldest_release_without_its_library_frees_nothing_and_is_refused(run: Run) -> None:
    # Hook mode torch preloads nothing, and 0.0.8 has no other way.
    assert run("wake_and_save", "0.0.8", guarded=True, hook="torch") == "CapabilityError"
    assert "torch_memory_saver is disabled in this process" in run.text


@pytest.mark.network
def test_the_lines_of_the_page_for_frameworks_run_as_they_stand(run: Run) -> None:
    assert run("lines_of_the_page", NEW, guarded=False) == [[7, 0], [7, 0]], run.text


@pytest.mark.network
def test_an_exception_names_the_tag_the_rule_and_both_calls(run: Run) -> None:
    assert run("save_while_asleep", NEW, guarded=True) == "PausedError"
    assert run.text.startswith("save() at worker:")
    assert " (earlier: worker:" in run.text
    assert run.text.endswith("): tag default: it is paused; touching it is an illegal access")


@pytest.mark.network
def test_buffers_that_are_elsewhere_are_named(run: Run) -> None:
    assert run("verify_placement", NEW, guarded=True) == "PlacementError"
    assert run.text == (
        "extra_main_grads[0] (1048576 bytes) should be tag grad_buffer, backup none, is tag default, backup host; "
        "exported (1048576 bytes) should be tag default, backup host, is untracked"
    )


@pytest.mark.network
def test_a_build_with_one_pool_cannot_say_where_buffers_lie(run: Run) -> None:
    settings = {"TMS_INIT_ENABLE": "0"}

    assert run("verify_placement", OLD, guarded=True, settings=settings) == "PlacementError"
    assert run.text.startswith("this torch_memory_saver cannot tell where buffers lie")
