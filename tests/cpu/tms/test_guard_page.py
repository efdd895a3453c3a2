"""The table in docs/guard.md: every defect is in it, every test exists, and programs end as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .test_guarded import BACKUPS, CASES, TORCH_MODE, Case

HERE = Path(__file__).parent
PAGE = (HERE.parents[2] / "docs" / "guard.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.split("## What it prevents")[1].splitlines()
    if line.startswith("| ") and not line.startswith(("| id", "| ---"))
]
PROGRAMS = {match[1]: row for row in ROWS if (match := re.match(r"`(\w+)`(?! `)", row[1]))}


def test_every_defect_of_order_and_arguments_is_there_or_is_said_not_to_be_one() -> None:
    named = {name for row in ROWS for name in row[0].split(", ")}
    left_out = set(re.findall(r"\bC\d\d\b", PAGE.split("Of the rest, ")[1]))

    assert {f"R{number}" for number in range(1, 15)} <= named
    assert {f"C{number:02}" for number in range(1, 23)} - named == {"C14", "C18", "C19"}
    assert left_out == {"C14", "C18", "C19", "C20"}


@pytest.mark.parametrize(("file", "name"), sorted(set(re.findall(r"`(\S+\.py)`\s`(test_\w+)`", PAGE))))
def test_every_test_that_is_named_exists(file: str, name: str) -> None:
    assert f"\ndef {name}(" in (HERE / file).read_text(encoding="utf-8")


def test_the_programs_are_those_that_run() -> None:
    assert set(PROGRAMS) == {case.program for case in (*CASES, *BACKUPS)}
    assert {name for name, row in PROGRAMS.items() if "` *" in row[1]} == {case.program for case in TORCH_MODE}


@pytest.mark.parametrize("case", [*CASES, *BACKUPS], ids=lambda case: f"{case.program}-{case.version}")
def test_a_program_ends_as_the_table_says(case: Case) -> None:
    _, test, before, after = PROGRAMS[case.program]
    version, left, right = case.version, case.before, case.after

    assert version == "0.0.10" or version in test
    if isinstance(right, str):
        assert right in after
    if isinstance(left, str) and left.startswith("Cannot"):
        assert f"dies: {' '.join(left.split()[:2])} ..." == before
    # An error of Python names itself.
    if left in ("AssertionError", "AttributeError"):
        assert left in before
