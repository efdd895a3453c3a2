from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from patchkit.operations.sources import fetch_release, load_workspace

from .campaign import BATCH, Report, compare
from .outcome import RULES, Outcome
from .texts import python_files

CASES = 2000
SEED = int(os.environ.get("PATCHKIT_DIFFERENTIAL_SEED", "8"))
"""Another one looks at other cases; the nightly run takes the time for it (docs/reliability.md)."""
ODD = {
    *("BOM", "CRLF", "NUL", "copy", "creation", "empty file", "form feed", "line of 10,000 bytes", "lone CR"),
    *("mode change", "no UTF-8", "no last newline", "removal", "rename", "tab"),
}
"""What each batch has to try (kinds)."""
RARE = {"copy", "rename", "mode change"}
"""Left out of some batch by some seeds: trees are few."""
TABS = frozenset({"tab"})
CONFORMANCE = Path(__file__).parents[2] / "docs/conformance.md"


@pytest.fixture(scope="session")
def real() -> list[bytes]:
    """The Python files of a release."""
    workspace = load_workspace()
    return python_files(fetch_release(workspace.versions, workspace.target("0.19.2")))


@pytest.mark.network
@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_git_and_patch_do_as_we_do_or_a_rule_says_why_not(first: int, real: list[bytes]) -> None:
    outcomes = compare(SEED, first, BATCH, real)

    assert [one for one in outcomes if one.disagreement] == []
    assert sorted(one.number for one in outcomes) == list(range(first, first + BATCH))
    assert {(one.family, one.rule) for one in outcomes} <= {
        (family, rule) for family in RULES for rule in RULES[family]
    }
    assert {kind for one in outcomes for kind in one.kinds} | RARE == ODD


def test_every_rule_is_explained() -> None:
    text = CONFORMANCE.read_text()
    rules = {rule for family in RULES for rule in RULES[family]}

    assert [rule for rule in sorted(rules) if f"| `{rule}` |" not in text] == []


def test_a_report_is_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "report.jsonl"
    Report(file, "x.whl").add(
        1, 0, 2, [Outcome("edit", 0, "same", "", TABS), Outcome("drift", 1, "", "ours: other bytes", TABS)]
    )

    again = Report(file, "x.whl")
    assert [again.has(1, 0, 2), again.has(1, 2, 2), again.has(2, 0, 2)] == [True, False, False]
    assert not Report(file, "y.whl").has(1, 0, 2)
    assert (again.rules(1), again.kinds(1), again.disagreements(1)) == (
        {"edit same": 1, "drift none": 1},
        {"tab": 2},
        [["drift", 1, "ours: other bytes"]],
    )
    assert json.loads(file.read_text())["texts"] == "x.whl"
