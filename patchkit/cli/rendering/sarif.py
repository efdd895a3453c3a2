"""The answer as SARIF 2.1.0 (OASIS, errata 01), for code scanning."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import msgspec

from patchkit.cli.rendering.places import FilePlace, Places
from patchkit.cli.rendering.printable import inert_json, one_line
from patchkit.cli.rendering.sarif_rules import RULES, Rule
from patchkit.cli.rendering.telling import (
    alarm_text,
    check_text,
    drift_text,
    found_text,
    patch_title,
    places_text,
    problem_told,
    review_of_its_own,
    worth_telling,
)
from patchkit.core.carry_report import AlarmReport
from patchkit.core.json_text import to_json
from patchkit.core.upstream_report import HunkAnswer, PatchAnswer, TargetAnswer, UpstreamReport

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {"broken": "error", "look": "warning", "unreachable": "note"}
_MESSAGE: Final = 2_000
_DECISIONS: Final = frozenset({"conflict", "upstreamed", "superseded", "obsolete"})
"""Verdicts of a hunk that are told whatever else there is to say of it."""


@dataclass(frozen=True, slots=True)
class _Result:
    """One finding; what identifies it is ``rule``, ``about`` and ``properties``, never a line or a wording."""

    rule: str
    level: str
    message: str
    place: FilePlace
    about: str = ""
    scope: str = ""
    properties: dict[str, str] = field(default_factory=dict)


def render_sarif(report: UpstreamReport, places: Places) -> str:
    """Return the report as a SARIF log with one run; what is fine has no result."""
    results = [*_upstream(report, places)]
    for target in report.targets:
        results += _target(target, places)
    rules = list(dict.fromkeys(result.rule for result in results))
    helps = RULES | _check_rules(report)
    seen: Counter[str] = Counter()
    run = {
        "tool": {
            "driver": {
                "name": "patchkit",
                "version": report.tool,
                "rules": [_descriptor(rule, helps.get(rule)) for rule in rules],
            }
        },
        "automationDetails": {"id": f"{report.command}/"},
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The repository that holds the series."}}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": _message(note)}} for note in report.notes
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_printed(result, rules, seen) for result in results],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return inert_json(msgspec.json.format(to_json(log), indent=2).decode()) + "\n"


def _upstream(report: UpstreamReport, places: Places) -> Iterator[_Result]:
    for problem in report.problems:
        text = _sentences(*(told.text for told in problem_told(problem)))
        yield _Result("upstream/problem", "error", text, places.of_series(), problem.told)
    for release in worth_telling(report.found)[0]:
        yield _Result("upstream/found", "note", found_text(release), places.of_series(), release.version)


def _target(target: TargetAnswer, places: Places) -> Iterator[_Result]:
    about = {"target": target.name}
    here = places.of_series()
    level = _LEVELS.get(target.state, "warning")
    found: list[_Result] = []
    for problem in target.problems:
        text = _sentences(*(told.text for told in problem_told(problem)))
        found.append(_Result("target/problem", level, f"{target.title}: {text}", here, problem.told, "", about))
    found += [result for patch in target.patches for result in _patch(target, patch, places)]
    yield from found
    # A target that is worse than everything in it says so itself.
    if target.state != "fine" and (target.reason or level not in {result.level for result in found}):
        text = _sentences(f"{target.title}: {target.reason or target.state}", target.next)
        yield _Result(f"target/{target.state}", level, text, here, properties=about)


def _patch(target: TargetAnswer, patch: PatchAnswer, places: Places) -> Iterator[_Result]:
    if patch.state == "fine":
        return
    level = _LEVELS[patch.state]
    about = {"target": target.name, "patch": patch.name}
    head = f"{target.title}: {patch_title(patch)}"
    here = places.of_patch(patch)
    inner = [result for hunk in patch.hunks for result in _hunk(target, patch, hunk, places)]
    inner += [_Result(*_gate(alarm, level, head), here, alarm.name, properties=about) for alarm in patch.alarms]
    for check in patch.checks:
        if not check.ok:
            rule, text = f"check/{patch.name}/{check.id}", f"{head}: {check_text(check)}"
            inner.append(_Result(rule, "error", text, places.of_check(patch, check.id), properties=about))
    yield from inner
    known = {f"{alarm.rule}: {alarm.message}" for alarm in patch.alarms}
    own = [line for line in patch.review if line not in known]
    # A patch that is worse than everything in it says so itself.
    if own or level not in {result.level for result in inner}:
        told = _sentences(patch.verdict, patch.reason, *own, patch.next)
        yield _Result(f"patch/{patch.verdict}", level, f"{head}: {told}", here, properties=about)


def _hunk(target: TargetAnswer, patch: PatchAnswer, hunk: HunkAnswer, places: Places) -> Iterator[_Result]:
    if hunk.state == "fine":
        return
    level = _LEVELS[hunk.state]
    about = {"target": target.name, "patch": patch.name, "hunk": hunk.id}
    head = f"{target.title}: {patch_title(patch)}/{hunk.id}"
    here = places.of_hunk(patch, hunk.id)
    stands = hunk.new or hunk.old
    scope = f"{hunk.path}::{stands.scope}" if stands else hunk.path
    found = [_Result(*_gate(alarm, level, head), here, alarm.name, scope, about) for alarm in hunk.alarms]
    for drift in hunk.drift:
        text = f"{head}: {drift_text(drift)}"
        found.append(_Result(f"drift/{drift.kinds[0]}", "warning", text, here, drift.scope, scope, about))
    yield from found
    own = review_of_its_own(hunk)
    if own or hunk.verdict in _DECISIONS or level not in {result.level for result in found}:
        told = _sentences(f"{hunk.verdict} at {places_text(hunk)}", hunk.reason, *own, hunk.next)
        yield _Result(f"hunk/{hunk.verdict}", level, f"{head}: {told}", here, "", scope, about)


def _gate(alarm: AlarmReport, level: str, head: str) -> tuple[str, str, str]:
    return f"gate/{alarm.rule}", level, f"{head}: {alarm_text(alarm)}"


def _check_rules(report: UpstreamReport) -> dict[str, Rule]:
    return {
        f"check/{patch.name}/{check.id}": Rule(
            f"Check {check.id} of {patch.name} does not hold", check.intent or "patch.yaml has the rule."
        )
        for target in report.targets
        for patch in target.patches
        for check in patch.checks
    }


def _descriptor(rule: str, known: Rule | None) -> dict[str, Any]:
    short, told = known or Rule(rule, "See the message.")
    return {
        "id": rule,
        "shortDescription": {"text": one_line(short)},
        "fullDescription": {"text": one_line(short)},
        "help": {"text": one_line(told)},
        "properties": {"tags": [rule.split("/", maxsplit=1)[0]]},
    }


def _printed(result: _Result, rules: list[str], seen: Counter[str]) -> dict[str, Any]:
    identity = "\0".join([result.rule, *result.properties.values(), result.about])
    digest = hashlib.sha256(identity.encode("utf-8", "backslashreplace")).hexdigest()[:32]
    seen[digest] += 1
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(result.place.path),
            "region": {"startLine": result.place.line},
        }
    }
    if result.scope:
        location["logicalLocations"] = [{"fullyQualifiedName": one_line(result.scope)}]
    return {
        "ruleId": result.rule,
        "ruleIndex": rules.index(result.rule),
        "level": result.level,
        "message": {"text": _message(result.message)},
        "locations": [location],
        "partialFingerprints": {"patchkit/v1": f"{digest}:{seen[digest]}"},
        "properties": result.properties,
    }


def _message(text: str) -> str:
    """Return text of a message without links, which SARIF knows as ``[text](target)`` (3.11.6)."""
    return one_line(text, _MESSAGE).replace("](", "] (")


def _artifact(path: str) -> dict[str, str]:
    if path.startswith("/"):
        return {"uri": f"file://{quote(path)}"}
    return {"uri": quote(path), "uriBaseId": "%SRCROOT%"}


def _sentences(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
