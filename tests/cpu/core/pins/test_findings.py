"""Install files as data: what is pinned in each, and what is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from patchkit.core.pins.model import NAMES
from patchkit.operations.pin_files import read_install_file
from patchkit.operations.pins import check_pins
from patchkit.store.location import default_patches, versions_file
from patchkit.store.versions import load_versions
from patchkit.tms.verdict import MINIMUM

CASES = Path(__file__).parents[2] / "cases" / "pins"
SMALL: list[dict[str, Any]] = yaml.safe_load((CASES / "small.yaml").read_text())


@pytest.fixture
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The case's file, in a folder of its own."""
    case: dict[str, Any] = request.getfixturevalue("case")
    path = tmp_path / str(case["file"])
    path.write_text(case["text"])
    return path


@pytest.mark.parametrize("case", SMALL, ids=[case["name"] for case in SMALL])
def test_every_pin_of_a_file_is_found_and_nothing_else(case: dict[str, Any], file: Path) -> None:
    reading = read_install_file(file)
    found = [f"{reading.line(pin.at)} {NAMES[pin.package]} {pin.kind.value} {pin.value}" for pin in reading.pins]

    assert found == case["pins"]


@pytest.mark.parametrize("case", SMALL, ids=[case["name"] for case in SMALL])
def test_what_is_wrong_with_a_file_is_found_and_nothing_else(case: dict[str, Any], file: Path) -> None:
    report = check_pins([file], load_versions(versions_file(default_patches())), minimum=MINIMUM)

    assert [f"{each.line} {each.level} {each.rule}" for each in report.findings] == case["findings"]
    assert report.ok == (not any(" wrong " in each for each in case["findings"]))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("A=$A$A$A\n" * 60 + "pip install torch_memory_saver==$A\n", "pin-not-known"),
        (
            "set -e; " + "for a in 1 2 3 4 5 6 7 8 9; do " * 9 + "pip install torch_memory_saver==$a" + "; done" * 9,
            "pin-not-known",
        ),
        ("(" * 3000 + "true" + ")" * 3000, "not-read"),
    ],
    ids=["a variable made of itself", "loops in loops", "deep nesting"],
)
def test_a_script_that_would_take_for_ever_is_not_read_for_ever(tmp_path: Path, text: str, rule: str) -> None:
    (tmp_path / "install.sh").write_text(text)
    report = check_pins([tmp_path / "install.sh"], load_versions(versions_file(default_patches())), minimum=MINIMUM)

    assert [each.rule for each in report.findings] == [rule]


def test_a_project_file_that_is_nested_too_deep_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[project]\ndependencies = {'[' * 20_000}")
    report = check_pins([tmp_path / "pyproject.toml"], load_versions(versions_file(default_patches())), minimum=MINIMUM)

    assert [(each.level, each.rule) for each in report.findings] == [("wrong", "does-not-parse")]


@pytest.mark.parametrize("case", SMALL, ids=[case["name"] for case in SMALL])
def test_the_place_of_a_pin_is_where_its_characters_stand(case: dict[str, Any], file: Path) -> None:
    reading = read_install_file(file)

    assert [pin.value for pin in reading.pins if pin.span] == [
        reading.text[pin.span[0] : pin.span[1]].strip() for pin in reading.pins if pin.span
    ]
