from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from patchkit.cli.rendering.junit import render_junit
from patchkit.core.report import Problem
from patchkit.core.upstream_report import UpstreamReport

from .golden import golden
from .reports import all_fine, everything, fine_target, report

# Of Jenkins' xunit plugin; tests/cpu/schemas/README.md says where it comes from.
SCHEMA = xmlschema.XMLSchema(Path(__file__).parents[2] / "schemas" / "junit-10.xsd")


def parsed(answer: UpstreamReport) -> Element:
    return fromstring(render_junit(answer))  # noqa: S314 - our own document


def outcomes(answer: UpstreamReport) -> dict[str, str]:
    """Every case that does not simply pass, and what it is instead."""
    told = {}
    for case in parsed(answer).iter("testcase"):
        for child in case:
            told[f"{case.get('classname')}: {case.get('name')}"] = child.get("type", child.tag)
            break
    return told


def test_everything_as_junit() -> None:
    assert render_junit(everything()) == golden("junit")


@pytest.mark.parametrize("answer", [everything(), all_fine(2), report()], ids=["everything", "fine", "nothing"])
def test_the_document_meets_the_schema(answer: UpstreamReport) -> None:
    assert [str(error) for error in SCHEMA.iter_errors(render_junit(answer))] == []


def test_the_schema_refuses_a_case_without_a_name() -> None:
    broken = render_junit(all_fine(1)).replace('name="grad-data', 'nome="grad-data')

    assert [error.reason for error in SCHEMA.iter_errors(broken)] != []


@settings(max_examples=40, deadline=None)
@given(st.text())
def test_any_text_gives_a_document(text: str) -> None:
    assert SCHEMA.is_valid(render_junit(everything(text)))


def test_broken_and_look_fail_and_what_was_not_looked_at_is_skipped() -> None:
    by_state = {"no-backup-grad-buffers: grad-data [v0.20.0]": "broken"}
    by_state |= {"no-backup-param-buffers: check data-in-region [v0.20.0]": "broken"}
    by_state |= {
        "no-backup-grad-buffers: grad-data [main]": "look",
        "no-backup-grad-buffers: config-field [main]": "look",
    }
    by_state |= {"target: dev": "skipped", "target: v0.17.1": "broken"}
    by_state |= {"tms-hook-mode: tms-hook-mode [v0.19.2]": "skipped"}
    by_state |= {"upstream: problem: release 0.12.3 is gone from the index": "problem"}
    by_state |= {"upstream: note: pull requests were not looked up: no history at hand": "skipped"}
    told = outcomes(everything())

    assert {name: told.get(name) for name in by_state} == by_state


def test_each_target_that_is_not_fine_has_a_case_that_does_not_pass() -> None:
    suites = parsed(everything()).findall("testsuite")
    failing = {suite.get("name") for suite in suites if suite.get("failures") != "0"}

    assert failing == {"v0.20.0", "main", "v0.17.1", "v0.21.0rc1", "upstream"}


def test_a_problem_of_a_fine_target_fails() -> None:
    moved = replace(fine_target(), problems=(Problem("the tag moved"),))

    assert outcomes(report(moved))["target: v0.19.2"] == "problem"


def test_a_broken_patch_without_a_broken_part_fails_itself() -> None:
    whole = fine_target()
    patches = (replace(whole.patches[0], state="broken", verdict="no-base"), *whole.patches[1:])
    told = outcomes(report(replace(whole, state="broken", patches=patches)))

    assert told == {
        "no-backup-grad-buffers: no-backup-grad-buffers [v0.19.2]": "broken",
        "tms-hook-mode: tms-hook-mode [v0.19.2]": "skipped",
    }


def test_the_numbers_are_those_of_the_cases() -> None:
    root = parsed(everything())
    told, counted = [], []
    for suite in root.findall("testsuite"):
        told.append(tuple(suite.get(key) for key in ("tests", "failures", "errors", "skipped")))
        found = Counter(child.tag for case in suite.findall("testcase") for child in case)
        numbers = (len(suite.findall("testcase")), found["failure"], found["error"], found["skipped"])
        counted.append(tuple(str(number) for number in numbers))

    assert told == counted
    assert root.get("tests") == str(sum(int(row[0]) for row in counted))
    assert root.get("failures") == str(sum(int(row[1]) for row in counted))


def test_no_two_cases_have_the_same_class_and_name() -> None:
    cases = parsed(everything()).iter("testcase")
    names = Counter((case.get("classname"), case.get("name")) for case in cases)

    assert [name for name, count in names.items() if count > 1] == []
