"""What the real libraries do under the simulator; the table is that of the reports and of upstream_versions.yaml."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from patchkit.errors import SimulatorError, TmsNotFoundError
from patchkit.tms.package import Package, package_at
from patchkit.tms.probe import SCENARIOS, Outcome, Probed, Trial, _came_of, can_free_while_paused, probe
from patchkit.tms.verdict import has_defect

from .conftest import CACHE, MakeLibrary, Wheel
from .wheels import VERSIONS, fetch_saver, memory_saver

# Outcome in hook mode preload, then in hook mode torch, for 0.0.8 (which has no hook mode torch), 0.0.9, 0.0.9.post1
# and 0.0.10.
TABLE = """
pause_frees                 works    works works    works works    works works
address_kept                works    works works    works works    works works
tags_apart                  works    works works    works works    works works
free_while_paused           dies     dies dies      dies dies      works works
free_outside_region         wrong    wrong dies     wrong dies     works dies
nested_regions              wrong    raises raises  raises raises  works works
unaligned_size              dies     dies dies      dies dies      works works
backup_restored             missing  works works    works works    works works
no_backup_no_host_memory    works    works works    works works    works works
backup_released_on_resume   missing  wrong wrong    wrong wrong    works works
backup_retained_on_request  missing  missing missing missing missing works works
zero_copy_pointer           missing  missing missing missing missing works works
pause_twice                 dies     dies dies      dies dies      dies dies
resume_of_active            dies     dies dies      dies dies      dies dies
touch_while_paused          faults   faults faults  faults faults  faults faults
device_memory_runs_out      dies     dies -         dies -         works -
host_memory_runs_out        missing  dies dies      dies dies      dies dies
several_preload_entries     wrong    raises -       raises -       works -
"""


def expected(version: str) -> dict[str, list[str]]:
    at = {"0.0.8": [1], "0.0.9": [2, 3], "0.0.9.post1": [4, 5], "0.0.10": [6, 7]}[version]
    rows = [line.split() for line in TABLE.strip().splitlines()]
    return {row[0]: [row[column] for column in at if row[column] != "-"] for row in rows}


@cache
def probed(version: str) -> Probed:
    return probe(package_at(fetch_saver(version)[-1], cache=CACHE), cache=CACHE)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_each_release_can_do(version: str) -> None:
    found: dict[str, list[str]] = {}
    for trial in probed(version).trials:
        found.setdefault(trial.name, []).append(trial.outcome.value)

    assert found == expected(version)
    assert probed(version).good_enough is (version == "0.0.10")


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_tried_out_agrees_with_the_recorded_defects(version: str) -> None:
    defects = {defect.id: defect for defect in memory_saver().defects}
    shown = {
        scenario.defect: probed(version).outcome(scenario.name) != scenario.good
        for scenario in SCENARIOS
        if scenario.defect and probed(version).outcome(scenario.name) is not Outcome.MISSING
    }
    if version == "0.0.8":
        # It has no states: the driver refuses the call instead, which the records tell apart.
        del shown["wrong-state-exits"]

    assert shown == {name: has_defect(version, defects[name]) for name in shown}


def text(version: str, name: str) -> str:
    trial = next(item for item in probed(version).trials if (item.name, item.mode) == (name, "preload"))
    return trial.text


def test_the_message_of_the_field_is_reproduced() -> None:
    assert text("0.0.9.post1", "free_while_paused") == (
        "[torch_memory_saver.cpp] CUresult error: 1 (invalid argument)  file=csrc/core.cpp func=free line=65"
    )
    trial = next(item for item in probed("0.0.9.post1").trials if item.name == "free_while_paused")
    assert trial.report[0].startswith("misuse cuMemUnmap: nothing is mapped at 0x")


def test_exhausted_host_memory_dies_in_the_call_that_pins() -> None:
    assert text("0.0.9", "host_memory_runs_out").endswith("file=csrc/core.cpp func=pause line=112")
    assert text("0.0.10", "host_memory_runs_out").endswith("file=csrc/cpu_backup.h func=allocate line=66")


def test_nothing_that_works_calls_the_driver_wrongly() -> None:
    misused = [
        (trial.name, line)
        for version in VERSIONS
        for trial in probed(version).trials
        for line in trial.report
        if trial.outcome is Outcome.WORKS and not line.startswith("leak")
    ]

    assert misused == []


def test_the_newest_cuda_that_there_is_a_library_for_is_taken_and_another_can_be_asked_for(wheel: Wheel) -> None:
    assert [probed(version).major for version in VERSIONS] == [12, 12, 13, 13]

    asked = probe(wheel("0.0.10"), cache=CACHE, major=12, names=("free_while_paused",))
    assert (asked.major, asked.outcome("free_while_paused")) == (12, Outcome.WORKS)
    assert asked.libraries["preload"].endswith("_cu12.abi3.so")
    with pytest.raises(TmsNotFoundError, match="for CUDA 13"):
        probe(wheel("0.0.9"), cache=CACHE, major=13)
    with pytest.raises(TmsNotFoundError, match="for CUDA 11"):
        probe(wheel("0.0.10"), cache=CACHE, major=11)


@pytest.mark.parametrize(("version", "free"), [("0.0.9", False), ("0.0.10", True)])
def test_whether_a_paused_allocation_can_be_freed_is_told_alone(wheel: Wheel, version: str, free: bool) -> None:
    assert can_free_while_paused(wheel(version), cache=CACHE) is free


@pytest.mark.parametrize("mode", ["preload", "torch"])
def test_one_library_alone_is_tried_out_without_the_python_files(wheel: Wheel, tmp_path: Path, mode: str) -> None:
    # LD_PRELOAD could not name this one.
    alone = tmp_path / "any name.so"
    shutil.copy(wheel("0.0.9").root / f"torch_memory_saver_hook_mode_{mode}.abi3.so", alone)

    found = probe(package_at(alone, cache=CACHE), cache=CACHE)

    assert list(found.libraries) == [mode]
    assert {trial.mode for trial in found.trials} == {mode}
    assert {"nested_regions", "several_preload_entries"}.isdisjoint(trial.name for trial in found.trials)
    assert next(trial for trial in found.trials if trial.name == "free_while_paused").outcome is Outcome.DIES


def test_a_library_of_something_else_is_refused(make_library: MakeLibrary, tmp_path: Path) -> None:
    other = make_library(tmp_path / "other.so", ["libc.so.6"], ["other"])

    with pytest.raises(TmsNotFoundError, match="exports no function of torch_memory_saver"):
        probe(package_at(other, cache=CACHE), cache=CACHE)


def test_a_library_that_needs_what_is_not_there_is_told(make_library: MakeLibrary, tmp_path: Path) -> None:
    site = tmp_path / "site"
    needs = ["libcuda.so.1", "libcudart.so.12", "libnowhere.so.7"]
    make_library(site / "torch_memory_saver_hook_mode_preload_cu12.abi3.so", needs, ["tms_pause"])

    with pytest.raises(SimulatorError, match=r"cannot be loaded: .*libnowhere\.so\.7"):
        probe(Package("made", site), cache=CACHE)


def test_what_was_not_tried_with_the_library_preloaded_is_not_good_enough() -> None:
    works = Trial("free_while_paused", "free while paused", "torch", Outcome.WORKS, ok=True, text="", report=())

    assert not Probed("x", None, 12, {}, ()).good_enough
    assert not Probed("x", None, 12, {}, (works,)).good_enough
    assert Probed("x", None, 12, {}, (replace(works, mode="preload"),)).good_enough


def test_what_is_good_depends_on_the_scenario(wheel: Wheel) -> None:
    names = ("touch_while_paused", "host_memory_runs_out", "pause_twice", "pause_frees")
    trials = probe(wheel("0.0.10"), cache=CACHE, names=names).trials

    assert [(each.name, each.outcome, each.ok) for each in trials if each.mode == "preload"] == [
        ("pause_frees", Outcome.WORKS, True),
        ("pause_twice", Outcome.DIES, False),
        ("touch_while_paused", Outcome.FAULTS, True),
        ("host_memory_runs_out", Outcome.DIES, True),
    ]


def test_a_fault_that_the_process_survived_is_not_what_ended_it(tmp_path: Path) -> None:
    scenario = SCENARIOS[0]
    said = "[torch_memory_saver.cpp] Cannot pause"
    (tmp_path / f"{scenario.name}.said").write_text(f"noise\n{said}\n")

    assert _came_of(scenario, "preload", 1, tmp_path, ["fault access: 0x1"]) == (Outcome.DIES, said)
    assert _came_of(scenario, "preload", -11, tmp_path, ["fault access: 0x1"]) == (Outcome.FAULTS, "fault access: 0x1")
    assert _came_of(scenario, "preload", -11, tmp_path, []) == (Outcome.DIES, said)
