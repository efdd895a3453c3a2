"""Reports as text."""

from __future__ import annotations

from collections.abc import Iterator

import click

from patchkit.core.report import FileReport, PatchReport, Report

_COLOURS = {
    "applied": "green",
    "clean": "cyan",
    "not-needed": "bright_black",
    "not-carried": "yellow",
    "partly": "red",
    "modified": "red",
    "missing": "red",
}


def report_lines(report: Report) -> list[str]:
    """Return a report as lines for a person; problems are not among them."""
    lines = [_title(report)]
    width = max((len(patch.name) for patch in report.patches), default=0)
    for patch in report.patches:
        lines.append(_patch_line(patch, width, report.verdict))
        lines.extend(f"      upstream has {group}: {text}" for group, text in patch.upstream.items())
        for file in patch.files:
            lines.extend(_file_lines(file, patch))
    if report.checks:
        held = sum(check.ok for check in report.checks)
        run = len(report.checks)
        lines.append(f"  checks: {run} run, {'all' if held == run else held} hold")
    lines.extend(f"  note: {note}" for note in report.notes)
    lines.append(_verdict(report))
    return lines


def _title(report: Report) -> str:
    target = report.target or "unknown release"
    if report.verdict == "unknown-release":
        target = "unknown release"
    elif report.target and not report.recognised:
        target = f"{report.target} with changed files"
    same = f" (same files: {', '.join(report.same_as)})" if report.same_as else ""
    return f"{report.tree}: {target}{same}"


def _patch_line(patch: PatchReport, width: int, verdict: str) -> str:
    state = patch.state
    if patch.action != "none" and not verdict.startswith("refused"):
        state = f"{patch.state} -> {'applied' if patch.action == 'apply' else 'clean'}"
    styled = click.style(state, fg=_COLOURS.get(state.split(" ")[-1]))
    variant = f"  {patch.variant}" if patch.variant else ""
    reason = f"  {patch.reason}" if patch.reason else ""
    return f"  {patch.name.ljust(width)}  {styled}{variant}{reason}"


def _file_lines(file: FileReport, patch: PatchReport) -> Iterator[str]:
    if patch.action != "none":
        moved = [f"{hunk.id} {hunk.offset:+d}" for hunk in file.hunks if hunk.state == "moved"]
        detail = _counted(len(file.hunks), "hunk") + (f" (moved: {', '.join(moved)})" if moved else "")
        yield f"      {file.path}  {detail}"
        return
    yield f"      {file.path}  {click.style(file.state, fg=_COLOURS.get(file.state))}"
    yield from (f"        {hunk.id}: {hunk.state}" for hunk in file.hunks)


def _verdict(report: Report) -> str:
    text = report.verdict.replace("-", " ")
    colour = "green" if report.ok else "red"
    made = f": {report.made}" if report.made else ""
    count = f" ({_written(report)})" if report.written else ""
    return click.style(text, fg=colour, bold=True) + count + made


def _written(report: Report) -> str:
    patched = {file.path for patch in report.patches if patch.action != "none" for file in patch.files}
    files = _counted(len(patched.intersection(report.written)), "file")
    return files if patched.issuperset(report.written) else f"{files} and the record"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
