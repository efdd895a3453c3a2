from __future__ import annotations

import msgspec

from patchkit.core.report import CheckReport, FileReport, HunkReport, PatchReport, Problem, Report

REPORT = Report(
    tool="0.1.0",
    command="apply",
    ok=False,
    verdict="refused",
    tree="/a/tree",
    same_as=("1.0",),
    series="sha256:c",
    patches=(
        PatchReport(
            "one",
            "clean",
            "apply",
            "v1.patch",
            files=(FileReport("a.py", "clean", "1", "2", "1", (HunkReport("h", "moved", 9, 3),)),),
        ),
    ),
    checks=(CheckReport("one", "once", ok=True, expected=1, found=1, at=("a.py:3",), intent="why"),),
    problems=(Problem("it does not fit", path="a.py", hunk="h"),),
)


def test_a_report_is_json_with_hyphens_and_the_number_of_its_format() -> None:
    hunk = {"id": "h", "state": "moved", "line": 9, "offset": 3, "reason": ""}
    file = {"path": "a.py", "state": "clean", "before": "1", "after": "2", "found": "1", "hunks": [hunk]}
    patch = {
        "name": "one",
        "state": "clean",
        "action": "apply",
        "variant": "v1.patch",
        "reason": "",
        "files": [file],
        "upstream": {},
    }
    check = {"patch": "one", "id": "once", "ok": True, "expected": 1, "found": 1, "at": ["a.py:3"], "intent": "why"}
    problem = {"message": "it does not fit", "path": "a.py", "hunk": "h", "line": None, "patch": None, "hint": None}

    assert {
        "schema": 1,
        "tool": "0.1.0",
        "command": "apply",
        "ok": False,
        "verdict": "refused",
        "tree": "/a/tree",
        "target": None,
        "recognised": False,
        "same-as": ["1.0"],
        "series": "sha256:c",
        "patches": [patch],
        "checks": [check],
        "problems": [problem],
        "written": [],
        "made": None,
        "notes": [],
    } == msgspec.json.decode(msgspec.json.encode(REPORT))


def test_a_report_that_was_printed_is_read_back() -> None:
    assert msgspec.json.decode(msgspec.json.encode(REPORT), type=Report) == REPORT
