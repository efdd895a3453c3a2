"""`patchkit tms cycle`: what it prints, and its exit codes."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

import patchkit as package
from patchkit import __version__
from patchkit.cli.commands import tms_cycle
from patchkit.tms.cycle.interpreter import look_at_python

from .trainings import Command, Trainings, fetch_saver

MEGATRON = "0.19.2"


def header(saver: str, state: str = "applied", cuda: int = 13) -> str:
    python = look_at_python(sys.executable)
    return (
        f"megatron-core {MEGATRON} ({state}), torch_memory_saver {saver}, CUDA {cuda} simulated,"
        f" torch {python.torch}, Python {python.version}\n"
    )


@pytest.mark.behaviour
@pytest.mark.network
def test_a_release_is_patched_and_every_way_to_train_goes_through_pauses(trainings: Trainings, cycle: Command) -> None:
    code, out, _ = cycle("--megatron", f"v{MEGATRON}", "--tms", "0.0.10", "--two-ranks")

    assert out == header("0.0.10") + (
        "  flags  optimizer    ranks  bits   host predicted  measured  touched  verdict\n"
        "  on     distributed  1      equal  212992          212992    faults   good\n"
        "  off    distributed  1      equal  249856          249856    faults   good\n"
        "  on     plain        1      equal  282624          282624    faults   good\n"
        "  off    plain        1      equal  307200          307200    faults   good\n"
        "  on     distributed  2      equal  229376          229376    faults   good\n"
        "  off    distributed  2      equal  303104          303104    faults   good\n"
        "  on     plain        2      equal  565248          565248    faults   good\n"
        "  off    plain        2      equal  614400          614400    faults   good\n"
    )
    assert code == 0


@pytest.mark.behaviour
@pytest.mark.network
def test_old_builds_are_told_from_new_ones_with_what_they_die_of(trainings: Trainings, cycle: Command) -> None:
    where = ("--in", trainings.tree(MEGATRON), "--distributed-optimizer", "on")
    code, out, err = cycle(*where, "--tms", "0.0.9.post1", "--tms", "0.0.10", "--cuda-major", "12")

    assert out == (
        header("0.0.9.post1", cuda=12)
        + "  flags  optimizer    ranks  bits  host predicted  measured  touched  verdict\n"
        "  on     distributed  1      -     -               -         -        not good\n"
        "  off    distributed  1      -     -               -         faults   not good\n"
        "flags on, distributed: raises AssertionError in _with_region_config\n"
        "flags off, distributed: dies with code 1: [torch_memory_saver.cpp] CUresult error: 1 (invalid argument)"
        " file=csrc/core.cpp func=free line=65\n"
        + header("0.0.10", cuda=12)
        + "  flags  optimizer    ranks  bits   host predicted  measured  touched  verdict\n"
        "  on     distributed  1      equal  212992          212992    faults   good\n"
        "  off    distributed  1      equal  249856          249856    faults   good\n"
    )
    assert (code, err) == (1, "")


@pytest.mark.behaviour
@pytest.mark.network
def test_another_build_than_the_one_that_the_python_has_is_tried_out_with_its_own_python_files(
    trainings: Trainings, cycle: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Megatron imports the one of the Python, when there is one."""
    monkeypatch.setenv("PYTHONPATH", str(fetch_saver("0.0.10").root))
    where = ("--in", trainings.tree(MEGATRON), "--distributed-optimizer", "on", "--flags", "on")
    code, out, _ = cycle(*where, "--tms", "0.0.9.post1")

    assert (code, out.splitlines()[3:]) == (1, ["flags on, distributed: raises AssertionError in _with_region_config"])


@pytest.mark.behaviour
@pytest.mark.network
def test_what_old_builds_survive_is_told_as_data(trainings: Trainings, cycle: Command) -> None:
    python = look_at_python(sys.executable)
    where = ("--in", trainings.tree(MEGATRON), "--distributed-optimizer", "on", "--flags", "off")
    code, out, err = cycle(*where, "--tms", "0.0.9.post1", "--no-free", "--format", "json")

    row = {
        "way": {"flags": False, "sharded": True, "ranks": 1},
        "equal": True,
        "predicted": 249856,
        "measured": [249856] * 3,
        "saved": 0,
        "touched": "faults",
        "problems": [],
        "ok": True,
    }
    expected = {
        "megatron": MEGATRON,
        "state": "applied",
        "saver": "0.0.9.post1",
        "cuda": 13,
        "python": python.version,
        "torch": python.torch,
        "rows": [row],
        "ok": True,
    }
    head = {"schema": 1, "tool": __version__, "command": "tms cycle", "ok": True}
    assert (code, json.loads(out), err) == (0, {**head, "cycles": [expected]}, "")
    schema = json.loads((Path(package.__file__).parent / "schemas" / "tms_cycle_report.schema.json").read_text())
    jsonschema.validate(json.loads(out), schema, jsonschema.Draft202012Validator)


@pytest.mark.behaviour
@pytest.mark.network
def test_each_release_trains_with_each_build(trainings: Trainings, cycle: Command) -> None:
    releases = ("--megatron", "v0.16.1", "--megatron", f"v{MEGATRON}", "--megatron", f"v{MEGATRON}")
    savers = ("--tms", "0.0.9.post1", "--tms", "0.0.10")
    ways = ("--flags", "on", "--distributed-optimizer", "on")
    code, out, _ = cycle(*releases, *savers, *ways, "--format", "json")

    tables = json.loads(out)["cycles"]
    assert [(each["megatron"], each["saver"], each["ok"]) for each in tables] == [
        ("0.16.1", "0.0.9.post1", False),
        ("0.16.1", "0.0.10", True),
        (MEGATRON, "0.0.9.post1", False),
        (MEGATRON, "0.0.10", True),
    ]
    assert code == 1


@pytest.mark.behaviour
@pytest.mark.network
def test_a_wrong_release_is_told_before_another_one_trains(
    trainings: Trainings, cycle: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tms_cycle, "cycle_rows", None)

    code, out, err = cycle("--megatron", f"v{MEGATRON}", "--megatron", "v9.9", "--tms", "0.0.10")

    assert (code, out, err.splitlines()[0]) == (2, "", "error: unknown release 'v9.9'")


@pytest.mark.behaviour
@pytest.mark.network
def test_the_megatron_of_this_python_trains_as_it_is_installed(
    trainings: Trainings, cycle: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    shutil.copytree(trainings.tree(MEGATRON), site)  # As the wheel has it, with its metadata.
    monkeypatch.syspath_prepend(site)
    ways = ("--flags", "on", "--distributed-optimizer", "on", "--tms", "0.0.10")
    expected = header("0.0.10") + (
        "  flags  optimizer    ranks  bits   host predicted  measured  touched  verdict\n"
        "  on     distributed  1      equal  212992          212992    faults   good\n"
    )

    assert cycle("--installed", *ways) == (0, expected, "")
    assert cycle("--megatron", "installed", *ways) == (0, expected, "")


@pytest.mark.behaviour
@pytest.mark.network
def test_a_tree_that_was_broken_after_it_was_patched_is_found_out(
    trainings: Trainings, cycle: Command, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(trainings.tree(MEGATRON), tree)
    file = tree / "megatron/core/distributed/param_and_grad_buffer.py"
    text = file.read_text()
    assert text.count("enable_cpu_backup=False") == 1
    file.write_text(text.replace("enable_cpu_backup=False", "enable_cpu_backup=True"))

    code, out, err = cycle("--in", tree, "--tms", "0.0.10", "--distributed-optimizer", "on", "--flags", "on")

    assert out == header("0.0.10", "modified") + (
        "  flags  optimizer    ranks  bits   host predicted  measured  touched  verdict\n"
        "  on     distributed  1      equal  212992          249856    faults   not good\n"
        "flags on, distributed: pauses took 249856, 249856, 249856 bytes of host memory, not 212992\n"
    )
    assert (code, err) == (1, f"note: {tree} is not what patchkit made: modified; it trains as it is\n")


@pytest.mark.behaviour
@pytest.mark.network
def test_of_folders_full_of_packages_only_the_named_one_is_taken(
    trainings: Trainings, cycle: Command, tmp_path: Path
) -> None:
    tree, site = tmp_path / "tree", tmp_path / "site"
    shutil.copytree(trainings.tree(MEGATRON), tree)
    shutil.copytree(fetch_saver("0.0.10").root, site)
    for folder, names in (
        (tree, ["torch", "numpy", "torch_memory_saver"]),
        (site, ["torch", "numpy", "megatron/core"]),
    ):
        for name in names:
            (folder / name).mkdir(parents=True)
            (folder / name / "__init__.py").write_text("raise SystemExit('this was imported')\n")

    code, out, _ = cycle("--in", tree, "--tms", site, "--distributed-optimizer", "on", "--flags", "on")

    assert (code, out.splitlines()[2:]) == (
        0,
        ["  on     distributed  1      equal  212992          212992    faults   good"],
    )


@pytest.mark.behaviour
@pytest.mark.network
def test_a_megatron_that_cannot_be_imported_is_out_of_reach(
    trainings: Trainings, cycle: Command, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    (tree / "megatron" / "core" / "distributed").mkdir(parents=True)
    (tree / "megatron" / "core" / "__init__.py").write_text("import einops_of_nobody\n")

    code, out, err = cycle("--in", tree, "--tms", "0.0.10")

    assert (code, out) == (4, "")
    assert err.splitlines()[1:] == [
        (
            f"error: {sys.executable} cannot import the Megatron of {tree}: ModuleNotFoundError in <module>:"
            " No module named 'einops_of_nobody'"
        ),
        "  hint: it needs einops_of_nobody",
    ]


@pytest.mark.behaviour
@pytest.mark.network
def test_without_a_compiler_there_is_no_simulator(
    trainings: Trainings, cycle: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver = fetch_saver("0.0.10").root
    monkeypatch.setenv("PATCHKIT_CACHE", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")

    assert cycle("--in", trainings.tree(MEGATRON), "--tms", saver) == (
        4,
        "",
        "error: there is no compiler no-such-compiler, which CC names\n",
    )


@pytest.mark.behaviour
@pytest.mark.network
def test_a_tree_without_the_series_is_refused(trainings: Trainings, cycle: Command, tmp_path: Path) -> None:
    tree = trainings.unpatched(MEGATRON, tmp_path / "tree")

    code, out, err = cycle("--in", tree, "--tms", "0.0.10")

    assert (code, out) == (2, "")
    assert err == f"error: {tree} is {MEGATRON} without the series\n  hint: run `patchkit apply --in {tree}`\n"


@pytest.mark.behaviour
@pytest.mark.network
def test_a_library_alone_is_refused(trainings: Trainings, cycle: Command) -> None:
    library = fetch_saver("0.0.10").preload_libraries[0]

    code, out, err = cycle("--megatron", MEGATRON, "--tms", library)

    assert (code, out) == (2, "")
    assert err == (
        f"error: {library.resolve()} is a library alone, and training needs the Python files of torch_memory_saver"
        " too\n  hint: name the wheel, or the folder that it is installed in\n"
    )


def test_without_torch_the_version_to_install_is_named(cycle: Command, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)

    code, out, err = cycle("--megatron", MEGATRON, "--interpreter", bare)

    assert (code, out) == (4, "")
    assert err.endswith(
        "  hint: install there: torch==2.13.0 numpy packaging (of torch the CPU build), or name another Python with"
        " --interpreter\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "which Megatron?"),
        (("--git", "."), "which Megatron?"),
        (("--in", "x", "--installed"), "--in and --installed exclude each other"),
        (("--megatron", "installed", "--in", "x"), "--in and --installed exclude each other"),
        (("--in", "x", "--git", "."), "--in and --git exclude each other"),
        (("--in", "x", "--megatron", "0.19.2", "--megatron", "0.16.1"), "--in is one Megatron, and --megatron names 2"),
        (
            ("--installed", "--interpreter", "python3"),
            "--installed is the Megatron of this Python, --interpreter another one",
        ),
    ],
)
def test_options_that_exclude_each_other_are_refused(cycle: Command, words: tuple[str, ...], message: str) -> None:
    code, out, err = cycle(*words)

    assert (code, out, err.splitlines()[0]) == (2, "", f"error: {message}")
