"""Inputs that the fuzzer found (benchmarks/fuzzing), made small where that was possible, and the laws they broke."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.fuzzing.targets import TARGETS

CASES = Path(__file__).parents[1] / "cases" / "fuzzing"
FOUND = sorted(path for target in TARGETS for path in (CASES / target).glob("*"))


@pytest.mark.parametrize("case", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_once_holds_now(case: Path) -> None:
    TARGETS[case.parent.name](case.read_bytes())


def test_every_target_has_cases() -> None:
    assert {path.parent.name for path in FOUND} <= set(TARGETS)
    assert len(FOUND) >= 2
