"""patchkit doctor."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from patchkit import __version__
from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.options import format_option, open_tree, patches_option
from patchkit.cli.output import echo_lines, print_json
from patchkit.cli.rendering.printable import one_line
from patchkit.cli.saver import records
from patchkit.core.doctor import DoctorReport, Examined, FleetReport, RankFacts, compare, report
from patchkit.errors import TmsError
from patchkit.importing.settings import is_inherited
from patchkit.operations.doctor import examine_megatron, examine_memory
from patchkit.operations.fleet import gather, this_rank
from patchkit.operations.sources import load_workspace
from patchkit.tms.examine import Fact, examine_preload, examine_saver, examine_torch, examine_variables
from patchkit.tms.process import Process, look_at

_COLOURS = {"ok": "green", "look": "yellow", "bad": "red", "absent": "bright_black"}


@click.command("doctor")
@click.option("--in", "folder", type=click.Path(path_type=Path), help="Another Megatron-LM than this Python's.")
@click.option("--fleet", is_flag=True, help="Compare all ranks of a job; start it with torchrun.")
@patches_option
@format_option
def command(*, folder: Path | None, fleet: bool, patches: Path | None, style: str) -> int:
    """Say on one page what this environment has: Megatron-LM, torch_memory_saver, torch, variables, memory.

    Exits 1 when something is bad, or when ranks differ. With --fleet rank 0 prints.
    """
    rank = this_rank() if fleet else 0
    found = report(_examined(folder, patches), __version__)
    if not fleet:
        return _answered(found, list(doctor_lines(found)), style)
    bad = tuple(each.subject for each in found.examined if each.verdict == "bad")
    everyone = gather(
        RankFacts(rank, platform.node(), bad, found.facts),
        lambda ranks: _print_fleet(compare(ranks, __version__), style),
    )
    return int(ExitCode.DONE if compare(everyone, __version__).ok else ExitCode.NO)


def _print_fleet(found: FleetReport, style: str) -> None:
    _answered(found, list(fleet_lines(found)), style)
    sys.stdout.flush()


def _answered(found: DoctorReport | FleetReport, lines: list[str], style: str) -> int:
    if style == "json":
        print_json(found)
    else:
        echo_lines(lines)
    return int(ExitCode.DONE if found.ok else ExitCode.NO)


def _examined(folder: Path | None, patches: Path | None) -> list[Examined]:
    workspace = load_workspace(patches)
    torch, runtime = examine_torch()
    saver, package = examine_saver(records())
    facts = [saver, examine_preload(package, runtime, _this_process()), torch, examine_variables(os.environ)]
    megatron = examine_megatron(
        workspace,
        lambda: open_tree(folder, workspace.versions.upstream, installed=folder is None),
        named=folder is not None,
        live=is_inherited(os.environ, workspace.versions.upstream.shipped),
    )
    return [megatron, *map(_line, facts), examine_memory()]


def _this_process() -> Process | None:
    try:
        return look_at(os.getpid())
    except TmsError:
        return None


def _line(fact: Fact) -> Examined:
    return Examined(
        subject=fact.subject, verdict=fact.verdict, text=fact.text, details=fact.details, facts=dict(fact.facts)
    )


def doctor_lines(found: DoctorReport) -> Iterator[str]:
    """Yield what `doctor` says."""
    for each in found.examined:
        verdict = click.style(f"{each.verdict:<6}", fg=_COLOURS[each.verdict], bold=True)
        yield f"{verdict} {each.subject}: {one_line(each.text)}"
        for detail in each.details:
            yield f"         {one_line(detail)}"
    bad = sum(each.verdict == "bad" for each in found.examined)
    yield f"{'nothing is bad' if not bad else f'{bad} bad'}; digest {found.digest}"


def fleet_lines(found: FleetReport) -> Iterator[str]:
    """Yield what `doctor --fleet` says."""
    alike = sum(not each.differences for each in found.ranks)
    yield f"{len(found.ranks)} ranks, {alike} with digest {found.usual}"
    everywhere = set(found.ranks[0].bad).intersection(*(each.bad for each in found.ranks))
    if everywhere:
        yield f"{click.style('bad', fg='red', bold=True)}: every rank: {', '.join(sorted(everywhere))}"
    for each in found.ranks:
        where = f"rank {each.rank} on {one_line(each.host)}"
        if own := [subject for subject in each.bad if subject not in everywhere]:
            yield f"{click.style('bad', fg='red', bold=True)}: {where}: {', '.join(own)}"
        for other in each.differences:
            here, usual = one_line(other.here or "nothing"), one_line(other.usual or "nothing")
            yield f"{click.style('differs', fg='red', bold=True)}: {where}: {other.fact}: {here}; most have {usual}"
    yield "all ranks are alike" if alike == len(found.ranks) else f"{len(found.ranks) - alike} differ"
