"""patchkit pins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from patchkit.cli.options import format_option, patches_option
from patchkit.cli.output import print_answer
from patchkit.cli.rendering.printable import one_line
from patchkit.core.pins.findings import BumpsReport, Finding, PinsReport
from patchkit.core.pins.reading import Kind
from patchkit.operations.known import judged_by
from patchkit.operations.pins import bump_pins, check_pins
from patchkit.store.location import default_patches
from patchkit.tms.verdict import MINIMUM

_COLOURS = {"wrong": "red", "look": "yellow", "bump": "green", "has-it": "cyan", "refused": "red"}

_kinds = click.Choice([each.value for each in Kind])
_as_option = click.option("--as", "kind", type=_kinds, help="What the file is. Default: by its name.")
_git_option = click.option(
    "--git",
    "clones",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="REPO",
    help="A clone of Megatron-LM or torch_memory_saver (repeatable), for commits that are not recorded.",
)


@click.group("pins")
def command() -> None:
    """Pins of Megatron-LM and torch_memory_saver in Dockerfiles, requirements and install scripts."""


@command.command("check")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@_as_option
@_git_option
@click.option(
    "--context",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder that the build runs in, for patches. Default: the file's own, and those above it in the repository.",
)
@patches_option
@format_option
def check_command(
    *,
    files: tuple[Path, ...],
    kind: str | None,
    clones: tuple[Path, ...],
    context: Path | None,
    patches: Path | None,
    style: str,
) -> int:
    """Say what is wrong with pins and with how patches are applied; files given together are compared.

    Exits 1 when something is wrong, 4 when a file cannot be read.
    """
    report = check_pins(
        files,
        judged_by(patches or default_patches()),
        minimum=MINIMUM,
        clones=clones,
        context=context,
        kind=Kind(kind) if kind else None,
    )
    return print_answer(report, check_lines(report), style)


@command.command("bump")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--fix", "fixes", multiple=True, required=True, metavar="DEFECT", help="Id of a defect (repeatable).")
@click.option("--write", is_flag=True, help="Edit the file: the pins' characters and nothing else, all or none.")
@_as_option
@_git_option
@patches_option
@format_option
def bump_command(
    *,
    file: Path,
    fixes: tuple[str, ...],
    write: bool,
    kind: str | None,
    clones: tuple[Path, ...],
    patches: Path | None,
    style: str,
) -> int:
    """Name the smallest release or commit of torch_memory_saver that has a fix, for each pin of a file.

    Exits 1 when a pin cannot be moved; nothing is written then.
    """
    report = bump_pins(
        file,
        judged_by(patches or default_patches()),
        fixes=fixes,
        clones=clones,
        write=write,
        kind=Kind(kind) if kind else None,
    )
    return print_answer(report, bump_lines(report, file), style)


def check_lines(report: PinsReport) -> Iterator[str]:
    """Yield what `pins check` says."""
    for found in report.findings:
        yield from _finding_lines(found)
    wrong = sum(found.level == "wrong" for found in report.findings)
    look = len(report.findings) - wrong
    files = f"{len(report.files)} file{'s' if len(report.files) > 1 else ''}"
    pins = f"{len(report.pins)} pin{'s' if len(report.pins) != 1 else ''}"
    yield f"{files}, {pins}: {wrong} wrong, {look} to look at"


def _finding_lines(found: Finding) -> Iterator[str]:
    level = click.style(found.level, fg=_COLOURS[found.level], bold=True)
    yield f"{one_line(found.path)}:{found.line}: {level}: {one_line(found.message)} [{found.rule}]"
    yield f"    why: {one_line(found.why)}"
    yield f"    do:  {one_line(found.advice)}"


def bump_lines(report: BumpsReport, file: Path) -> Iterator[str]:
    """Yield what `pins bump` says."""
    for pin in report.pins:
        verdict = click.style(pin.verdict.replace("-", " "), fg=_COLOURS[pin.verdict], bold=True)
        change = f"{pin.before} -> {pin.after}" if pin.after else pin.before
        yield f"{one_line(pin.path)}:{pin.line}: {verdict}: {one_line(change)}: {one_line(pin.reason)}"
        if pin.left:
            yield f"    still there, fixed later: {', '.join(pin.left)}"
    if not report.pins:
        yield f"{one_line(str(file))}: there is no pin of torch_memory_saver"
    elif report.written:
        yield f"written: {', '.join(map(one_line, report.written))}"
    elif not report.ok:
        yield "nothing is written"
