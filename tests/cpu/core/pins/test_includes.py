"""Requirements and constraints files that install files read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from patchkit.core.pins.findings import PinsReport
from patchkit.operations.pins import check_pins
from patchkit.store.location import default_patches, versions_file
from patchkit.store.versions import load_versions
from patchkit.tms.verdict import MINIMUM


def checked(folder: Path, files: Mapping[str, str], *names: str) -> PinsReport:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    versions = load_versions(versions_file(default_patches()))
    return check_pins([Path(name) for name in names], versions, minimum=MINIMUM)


def found(report: PinsReport) -> list[str]:
    return [f"{each.path}:{each.line} {each.level} {each.rule}" for each in report.findings]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


REQUIREMENTS = {
    "deps/all.txt": "-r more/base.txt\n--constraint limits.txt\nnumpy\n",
    "deps/more/base.txt": "-r ../all.txt\ntorch_memory_saver==0.0.9\n",
    "deps/limits.txt": "megatron-core==0.19.1\n",
}


def test_files_are_found_beside_the_one_that_names_them_each_once(here: Path) -> None:
    report = checked(here, REQUIREMENTS, "deps/all.txt")

    assert report.files == ("deps/all.txt", "deps/more/base.txt", "deps/limits.txt")
    assert found(report) == ["deps/more/base.txt:2 wrong pin-with-defects", "deps/limits.txt:1 wrong yanked"]


def test_files_that_read_each_other_are_read_once(here: Path) -> None:
    files = {"r.txt": "-r a.txt\n-r b.txt\n", "a.txt": "-r b.txt\n", "b.txt": "-r a.txt\n-r b.txt\nnumpy\n"}

    assert checked(here, files, "r.txt", "r.txt").files == ("r.txt", "a.txt", "b.txt")


def test_a_file_that_is_given_as_well_is_read_once(here: Path) -> None:
    report = checked(here, REQUIREMENTS, "deps/all.txt", "deps/more/base.txt")

    assert report.files == ("deps/all.txt", "deps/limits.txt", "deps/more/base.txt")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("install.sh", "set -e\ncd app\npip install -r deps.txt\n"),
        ("install.sh", "set -e\npip install --no-deps --requirement=app/deps.txt\n"),
        ("install.sh", "set -e\nuv pip install -rapp/deps.txt\n"),
        ("Dockerfile", "FROM x\nWORKDIR /w\nCOPY app/deps.txt ./\nRUN pip install -r deps.txt\n"),
        ("Dockerfile", "FROM x\nCOPY app /srv\nRUN pip install -r /srv/deps.txt\n"),
        ("Dockerfile", "FROM x\nRUN --mount=type=bind,source=app,target=/m pip install -r /m/deps.txt\n"),
        ("environment.yml", "dependencies:\n  - pip:\n    - -r app/deps.txt\n"),
    ],
)
def test_files_of_commands_are_found_where_the_build_or_the_script_finds_them(here: Path, name: str, text: str) -> None:
    report = checked(here, {name: text, "app/deps.txt": "torch_memory_saver==0.0.9\n"}, name)

    assert report.files == (name, "app/deps.txt")
    assert found(report) == ["app/deps.txt:1 wrong pin-with-defects"]


def test_what_a_constraints_file_pins_is_pinned(here: Path) -> None:
    files = {"r.txt": "-c c.txt\ntorch_memory_saver\nmegatron-core>=0.16\n", "c.txt": "torch_memory_saver==0.0.10\n"}

    assert found(checked(here, files, "r.txt")) == ["r.txt:3 look range"]


def test_a_constraint_to_a_range_pins_nothing(here: Path) -> None:
    files = {"r.txt": "-c c.txt\ntorch_memory_saver\n", "c.txt": "torch_memory_saver>=0.0.10\n"}

    assert found(checked(here, files, "r.txt")) == ["r.txt:2 wrong unpinned", "c.txt:1 look range"]


def test_what_a_constraints_file_of_a_command_pins_is_pinned(here: Path) -> None:
    files = {
        "install.sh": "set -e\npip install -c c.txt torch_memory_saver\n",
        "c.txt": "torch_memory_saver==0.0.10\n",
    }
    assert found(checked(here, files, "install.sh")) == []

    files["install.sh"] = files["install.sh"].replace("-c", "-r")
    assert found(checked(here, files, "install.sh")) == [
        "install.sh:2 wrong unpinned",
        "c.txt:1 wrong files-disagree",
    ]


def test_a_constraint_in_the_range_is_no_disagreement_and_another_pin_is_one(here: Path) -> None:
    files = {"r.txt": "-c c.txt\ntorch_memory_saver>=0.0.10\n", "c.txt": "torch_memory_saver==0.0.10\n"}
    assert found(checked(here, files, "r.txt")) == []

    files["r.txt"] = "-c c.txt\ntorch_memory_saver==0.0.9\n"
    assert found(checked(here, files, "r.txt")) == ["r.txt:2 wrong pin-with-defects", "c.txt:1 wrong files-disagree"]


@pytest.mark.parametrize("name", ["gone.txt", "https://example.org/r.txt"])
def test_what_is_not_found_is_told(here: Path, name: str) -> None:
    (finding,) = checked(here, {"r.txt": f"-r {name}\n"}, "r.txt").findings

    assert (finding.rule, finding.message) == (
        "not-read",
        f"it reads {name}, which was not found: give it as well",
    )
