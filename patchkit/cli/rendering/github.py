"""The answer as workflow commands of GitHub Actions, which the runner shows as annotations.

The form and its escapes are those of the runner (ActionCommand) and of @actions/core: in a message %, CR and LF are
written as %25, %0D and %0A, in a property : and , as well. What looks like a command in them is none, also for whoever
reads the log again: `##[error]` counts anywhere in a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from patchkit.cli.rendering.findings import Finding, counts, findings
from patchkit.cli.rendering.places import Places
from patchkit.cli.rendering.printable import no_command, one_line
from patchkit.core.printing import printable
from patchkit.core.upstream_report import UpstreamReport

_SHOWN: Final = 10
"""Annotations of one level that GitHub shows for a step; it drops the others without a word."""
_TITLE: Final = 200
_SENTENCE: Final = 1_000


def render_github(report: UpstreamReport, places: Places) -> str:
    """Return the report as annotations, the gravest first.

    What GitHub would not show is printed as plain lines, and the last notice says how much that is.
    """
    shown: list[Finding] = []
    rest: list[Finding] = []
    room = {"error": _SHOWN, "warning": _SHOWN, "notice": _SHOWN}
    found = findings(report, places)
    if any(sum(each.level == level for each in found) > _SHOWN for level in room):
        room["notice"] -= 1  # for the last one
    for each in found:
        (shown if room[each.level] > 0 else rest).append(each)
        room[each.level] -= 1
    return "".join(f"{line}\n" for line in _lines(shown, rest))


def _lines(shown: list[Finding], rest: list[Finding]) -> Iterator[str]:
    yield from (_command(each) for each in shown)
    yield from (no_command(f"{each.level}: {one_line(each.title)}: {_first(each)}") for each in rest)
    if rest:
        yield f"::notice title=not all shown::{counts(rest)} more: see the lines above this one"


def _command(finding: Finding) -> str:
    properties = {"title": no_command(one_line(finding.title, _TITLE))}
    # The runner shows a file of the repository only. Of a path nothing can be changed, and no escape is for brackets.
    if not finding.place.path.startswith("/") and "##[" not in finding.place.path:
        properties = {"file": printable(finding.place.path), "line": str(finding.place.line), **properties}
    message = "\n".join(
        no_command(f"{label}: {one_line(text, _SENTENCE)}".removeprefix(": ")) for label, text in finding.told
    )
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{finding.level} {given}::{_data(message or properties['title'])}"


def _first(finding: Finding) -> str:
    return next((one_line(told.text, _SENTENCE) for told in finding.told if told.label not in ("place", "intent")), "")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
