"""The answer as JUnit XML: a suite for each target, a case for each patch, hunk and check.

The elements and attributes are those of the schema of Jenkins' xunit plugin (junit-10.xsd), which GitLab reads too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from patchkit.cli.rendering.printable import inert_markup, one_line
from patchkit.cli.rendering.telling import (
    Told,
    check_text,
    found_told,
    has_own_findings,
    hunk_told,
    patch_told,
    places_text,
    problem_told,
    target_told,
)
from patchkit.core.upstream_report import HunkAnswer, PatchAnswer, TargetAnswer, UpstreamReport

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_FAILURES: Final = ("broken", "look", "problem")
_MESSAGE: Final = 400
_SENTENCE: Final = 2_000


def render_junit(report: UpstreamReport) -> str:
    """Return the report as an XML document.

    broken and look are failures of that type, what is not needed or could not be looked at is skipped.
    """
    from xml.etree.ElementTree import Element, indent, tostring  # noqa: PLC0415 - a form that few ask for

    suites = [_target(target) for target in report.targets]
    if report.problems or report.notes or report.found:
        suites.append(_upstream(report))
    root = Element("testsuites", name="patchkit check-upstream")
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    root.extend(suites)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{inert_markup(tostring(root, encoding="unicode"))}\n'


def _target(target: TargetAnswer) -> Element:
    told = target_told(target)
    elsewhere = any(patch.state != "fine" for patch in target.patches)
    state: str = "fine" if elsewhere and not has_own_findings(told) else target.state
    if target.problems and state == "fine":
        state = "problem"
    cases = [_case("target", target.title, state, target.reason or target.state, told)]
    for patch in target.patches:
        cases += _patch(target, patch)
    properties = {"state": target.state, "as-of": target.as_of, "tag": target.tag, "commit": target.commit}
    return _suite(target.title, cases, {key: value for key, value in properties.items() if value})


def _patch(target: TargetAnswer, patch: PatchAnswer) -> Iterator[Element]:
    # Hunks and checks have cases of their own: the patch fails for the rest, or when nothing else of it does.
    told = [each for each in patch_told(patch) if each.label != "check"]
    elsewhere = any(hunk.state != "fine" for hunk in patch.hunks) or any(not check.ok for check in patch.checks)
    state: str = "fine" if elsewhere and not has_own_findings(told) else patch.state
    if patch.verdict == "not-needed" and state == "fine":
        state = "skipped"
    message = f"{patch.verdict}: {patch.reason}" if patch.reason else patch.verdict
    yield _case(patch.name, f"{patch.name} [{target.title}]", state, message, told)
    for hunk in patch.hunks:
        yield _hunk(target, patch, hunk)
    for check in patch.checks:
        name = f"check {check.id} [{target.title}]"
        yield _case(patch.name, name, "fine" if check.ok else "broken", check_text(check), [])


def _hunk(target: TargetAnswer, patch: PatchAnswer, hunk: HunkAnswer) -> Element:
    where = [Told("file", hunk.path), Told("place", places_text(hunk))]
    told = hunk_told(hunk) if hunk.state != "fine" else []
    message = f"{hunk.verdict}: {hunk.reason}" if hunk.reason else hunk.verdict
    return _case(patch.name, f"{hunk.id} [{target.title}]", hunk.state, message, [*where, *told] if told else [])


def _upstream(report: UpstreamReport) -> Element:
    cases = []
    for problem in report.problems:
        told = problem_told(problem)
        cases.append(_case("upstream", f"problem: {told[0].text}", "problem", told[0].text, told))
    cases += [_case("upstream", f"note: {note}", "skipped", note, []) for note in report.notes]
    found = found_told(report.found)
    if found:
        cases.append(_case("upstream", "new releases", "fine", "", found))
    return _suite("upstream", cases, {})


def _case(classname: str, name: str, state: str, message: str, told: Sequence[Told]) -> Element:
    """Return a test case; what is told of a case that passes is its output.

    The name has the target in it: GitLab takes cases of one class and name for the same case, whatever their suite.
    """
    from xml.etree.ElementTree import Element, SubElement  # noqa: PLC0415 - as above

    case = Element("testcase", classname=one_line(classname), name=one_line(name, 200))
    text = "\n".join(f"{label}: {one_line(text, _SENTENCE)}" for label, text in told)
    if state in _FAILURES:
        SubElement(case, "failure", type=state, message=one_line(message, _MESSAGE)).text = text or one_line(message)
    elif state in ("skipped", "unreachable"):
        SubElement(case, "skipped", message=one_line(message, _MESSAGE))
    if text and state not in _FAILURES:
        SubElement(case, "system-out").text = text
    return case


def _suite(name: str, cases: Sequence[Element], properties: dict[str, str]) -> Element:
    from xml.etree.ElementTree import Element, SubElement  # noqa: PLC0415 - as above

    failures = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    suite = Element("testsuite", name=one_line(name), tests=str(len(cases)), failures=str(failures), errors="0")
    suite.set("skipped", str(skipped))
    if properties:
        inner = SubElement(suite, "properties")
        for key, value in properties.items():
            SubElement(inner, "property", name=key, value=one_line(value))
    suite.extend(cases)
    return suite
