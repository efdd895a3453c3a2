from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
from msgspec.structs import replace

from patchkit.cli.rendering.places import Places, places_of
from patchkit.cli.rendering.sarif import SCHEMA as ADDRESS
from patchkit.cli.rendering.sarif import render_sarif
from patchkit.cli.rendering.sarif_rules import RULES
from patchkit.core.carried import Verdict
from patchkit.core.carry_report import AlarmReport
from patchkit.core.gating.drift import DriftKind
from patchkit.core.gating.gates import Rule
from patchkit.core.report import Problem
from patchkit.core.upstream_report import UpstreamReport

from .golden import golden
from .reports import all_fine, everything, fine_target, hunk, many_hunks, report

# Of OASIS; tests/cpu/schemas/README.md says where it comes from.
SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "sarif-schema-2.1.0.json").read_text())


def log(answer: UpstreamReport, places: Places | None = None) -> dict[str, Any]:
    """The log of a report, held against the schema."""
    value: dict[str, Any] = json.loads(render_sarif(answer, places or places_of(answer, answer.series)))
    checker = jsonschema.Draft4Validator.FORMAT_CHECKER
    jsonschema.Draft4Validator(SCHEMA, format_checker=checker).validate(value)
    return value


def results(answer: UpstreamReport, places: Places | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = log(answer, places)["runs"][0]["results"]
    return found


def kinds(answer: UpstreamReport) -> list[tuple[str, str, str]]:
    """Rule, level and what each result is about."""
    return [(each["ruleId"], each["level"], "/".join(each["properties"].values())) for each in results(answer)]


def test_everything_as_sarif() -> None:
    log(everything())

    assert render_sarif(everything(), places_of(everything(), "patches/megatron")) == golden("sarif")


def test_the_schema_is_the_one_that_the_log_names() -> None:
    assert (SCHEMA["id"], log(report())["$schema"]) == (ADDRESS, ADDRESS)


def test_the_schema_refuses_a_level_that_there_is_not() -> None:
    broken = json.loads(golden("sarif").replace('"level": "error"', '"level": "fatal"', 1))

    assert [error.json_path for error in jsonschema.Draft4Validator(SCHEMA).iter_errors(broken)] == [
        "$.runs[0].results[0].level"
    ]


def test_what_is_fine_has_no_result() -> None:
    assert results(all_fine(3)) == []


def test_each_thing_that_is_wrong_is_a_result_of_its_rule() -> None:
    grads, params = "no-backup-grad-buffers", "no-backup-param-buffers"

    assert kinds(everything()) == [
        ("upstream/problem", "error", ""),
        ("upstream/problem", "error", ""),
        ("upstream/found", "note", ""),
        ("upstream/found", "note", ""),
        ("drift/signature", "warning", f"0.20.0/{grads}/grad-data"),
        ("hunk/conflict", "error", f"0.20.0/{grads}/grad-data"),
        (f"check/{params}/data-in-region", "error", f"0.20.0/{params}"),
        ("hunk/upstreamed", "warning", f"main/{grads}/config-field"),
        ("gate/unbound", "warning", f"main/{grads}/grad-data"),
        ("hunk/restructured", "warning", f"main/{grads}/grad-data"),
        ("gate/duplicate", "warning", f"main/{grads}"),
        ("patch/review", "warning", f"main/{grads}"),
        ("target/unreachable", "note", "dev"),
        ("target/problem", "error", "0.17.1"),
        ("drift/body", "warning", f"0.21.0rc1/{params}/param-data"),
        ("hunk/exact", "warning", f"0.21.0rc1/{params}/param-data"),
    ]


def test_a_problem_of_a_fine_target_is_a_result() -> None:
    moved = replace(fine_target(), problems=(Problem("the tag moved"),))

    assert kinds(report(moved)) == [("target/problem", "warning", "0.19.2")]


def test_what_is_broken_has_a_result_that_is_an_error() -> None:
    whole = fine_target()
    lone = replace(whole, state="broken", reason="nobody knows", patches=())
    patches = (replace(whole.patches[0], state="broken", verdict="no-base", reason="none fits"),)

    reviewed = (replace(whole.patches[0], state="look", verdict="review", review=("read it",)),)

    assert kinds(report(lone)) == [("target/broken", "error", "0.19.2")]
    assert kinds(report(replace(whole, state="broken", patches=reviewed))) == [
        ("patch/review", "warning", "0.19.2/no-backup-grad-buffers"),
        ("target/broken", "error", "0.19.2"),
    ]
    assert kinds(report(replace(whole, state="look", reason="the text is another", patches=reviewed))) == [
        ("patch/review", "warning", "0.19.2/no-backup-grad-buffers"),
        ("target/look", "warning", "0.19.2"),
    ]
    assert kinds(report(replace(whole, state="broken", patches=patches))) == [
        ("patch/no-base", "error", "0.19.2/no-backup-grad-buffers")
    ]
    assert kinds(many_hunks(["broken"], 1, "why")) == [
        ("hunk/conflict", "error", "1.0.0/grads/hunk-0"),
    ]


@pytest.mark.parametrize("verdict", ["conflict", "upstreamed", "superseded", "obsolete"])
def test_a_verdict_that_asks_for_a_decision_is_told_beside_an_alarm(verdict: str) -> None:
    alarm = AlarmReport("syntax", 1, "x", "the result is no Python")
    whole = fine_target()
    (first, *others) = whole.patches
    bad = replace(hunk("grad-data", state="broken", verdict=verdict), alarms=(alarm,))
    answer = report(replace(whole, state="broken", patches=(replace(first, state="broken", hunks=(bad,)), *others)))

    assert [rule for rule, _, _ in kinds(answer)] == ["gate/syntax", f"hunk/{verdict}"]


def test_what_may_change_is_told_to_be_provisional() -> None:
    whole = many_hunks(["look"], 1, "why")
    (lone,) = whole.targets
    (first,) = lone.patches
    answer = report(replace(lone, patches=(replace(first, provisional=True, review=("read it",)),)))

    assert [each["message"]["text"].partition(":")[2].partition(":")[0] for each in results(answer)] == [
        " grads (provisional)/hunk-0",
        " grads (provisional)",
    ]
    assert fingerprints(answer)[0] == fingerprints(whole)[0]


def test_every_word_of_the_engine_and_the_gates_has_a_rule_with_help() -> None:
    words = [f"hunk/{each.value}" for each in Verdict] + [f"gate/{each.value}" for each in Rule]
    words += [f"drift/{each.value}" for each in DriftKind]

    assert [word for word in words if word not in RULES] == []
    assert [name for name, rule in RULES.items() if not (rule.short and rule.help.endswith("."))] == []


def test_the_rules_of_a_log_are_those_that_its_results_are_of_each_with_help() -> None:
    run = log(everything())["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]

    assert [rules[result["ruleIndex"]] for result in run["results"]] == [result["ruleId"] for result in run["results"]]
    assert sorted(set(rules)) == sorted({result["ruleId"] for result in run["results"]})
    assert [
        rule["help"]["text"] for rule in run["tool"]["driver"]["rules"] if rule["help"]["text"] == "See the message."
    ] == []


def test_a_rule_that_nobody_knows_yet_has_a_result_all_the_same() -> None:
    whole = many_hunks(["look"], 1, "why")
    new = msgspec.json.decode(msgspec.json.encode(whole).replace(b'"merged"', b'"dissolved"'), type=UpstreamReport)

    assert kinds(new) == [("hunk/dissolved", "warning", "1.0.0/grads/hunk-0")]


def fingerprints(answer: UpstreamReport) -> list[str]:
    return [each["partialFingerprints"]["patchkit/v1"] for each in results(answer)]


def test_fingerprints_tell_results_apart() -> None:
    counts = Counter(fingerprints(everything()))

    assert [digest for digest, count in counts.items() if count > 1] == []


def test_fingerprints_stay_when_lines_commits_and_wordings_change() -> None:
    text = msgspec.json.encode(everything()).decode()
    for old, new in {
        '"line":843': '"line":900',
        '"first":812': '"first":700',
        "both sides changed the allocation": "the two changes of the allocation meet",
        "1a2b3c4d5e": "ffffffffff",
        "0123456789abcdef": "fedcba9876543210",
        "is not bound in": "has no binding in",
    }.items():
        assert old in text
        text = text.replace(old, new)
    later = msgspec.json.decode(text, type=UpstreamReport)

    assert fingerprints(later) == fingerprints(everything())


def test_a_result_names_the_line_in_the_series_and_the_scope_in_megatron() -> None:
    answer = everything()
    lines = {
        "no-backup-grad-buffers/patch.yaml": {"hunks/grad-data": 30},
        "no-backup-param-buffers/patch.yaml": {"checks/data-in-region": 77},
        "no-backup-grad-buffers/variants/v0.19.0.patch": {"grad-data": 12},
    }
    told = {
        each["ruleId"]: (
            place["artifactLocation"],
            place["region"]["startLine"],
            each["locations"][0].get("logicalLocations"),
        )
        for each in results(answer, places_of(answer, "some patches/megatron", lines))
        for place in [each["locations"][0]["physicalLocation"]]
        if each["properties"].get("target") == "0.20.0"
    }
    root = {"uriBaseId": "%SRCROOT%"}
    folder = "some%20patches/megatron"
    scope = [
        {"fullyQualifiedName": "megatron/core/distributed/param_and_grad_buffer.py::_ParamAndGradBuffer._allocate"}
    ]

    assert told["hunk/conflict"] == (
        # The target has no variant: the line is that of its base's.
        {"uri": f"{folder}/no-backup-grad-buffers/variants/v0.19.0.patch", **root},
        12,
        scope,
    )
    assert told["check/no-backup-param-buffers/data-in-region"] == (
        {"uri": f"{folder}/no-backup-param-buffers/patch.yaml", **root},
        77,
        None,
    )


def test_a_series_outside_of_a_repository_has_absolute_addresses() -> None:
    answer = everything()
    found = results(answer, places_of(answer, "/some where/megatron"))

    assert found[0]["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "file:///some%20where/megatron/series.yaml"
    }


@pytest.mark.parametrize("text", ["see [here](https://example.org)", "a [b](1)"])
def test_a_message_holds_no_link(text: str) -> None:
    (found,) = results(many_hunks(["look"], 1, text))

    assert "](" not in found["message"]["text"]


def test_a_log_has_no_character_that_a_terminal_obeys() -> None:
    whole = fine_target()
    odd = replace(whole.patches[0], name="a\x9b", state="look", verdict="review\x1b")
    answer = report(replace(whole, name="\u202e", state="look", patches=(odd,)))
    text = render_sarif(answer, places_of(answer, "x\x9b\x1b"))

    assert [line for line in text.split("\n") if not line.isprintable()] == []
    assert results(answer)[0]["properties"] == {"target": "\u202e", "patch": "a\x9b"}
