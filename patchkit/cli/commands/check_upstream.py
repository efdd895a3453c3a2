"""patchkit check-upstream."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from patchkit.cli.completion import complete_target
from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.options import FOLDER, PATH, edited_patches_option
from patchkit.cli.output import StderrReporter, is_without_colour
from patchkit.cli.rendering.printable import one_line
from patchkit.cli.rendering.renderers import RENDERERS, render
from patchkit.core.upstream_report import UpstreamReport
from patchkit.errors import UsageError
from patchkit.operations.upstream_check import check_upstream
from patchkit.operations.upstream_discovery import look_around
from patchkit.operations.upstream_news import News, marked, news
from patchkit.operations.upstream_targets import Asked
from patchkit.store.cache import ContentCache, default_cache
from patchkit.store.files import write_reports
from patchkit.store.location import edited_patches
from patchkit.store.reported import STATE, load_reported, reporting_alone, write_reported
from patchkit.trees.git_program import GitProgram
from patchkit.trees.package_indexes import PackageIndexes

if TYPE_CHECKING:
    from patchkit.cli.rendering.places import Places


@click.command("check-upstream")
@click.option("--git", "repository", type=FOLDER, help="A clone of Megatron-LM: for branches, commits, tags.")
@click.option(
    "--onto",
    "onto",
    multiple=True,
    metavar="TARGET",
    shell_complete=complete_target,
    help="Only this target (repeatable). Default: all.",
)
@click.option(
    "--from",
    "base",
    metavar="BASE",
    shell_complete=complete_target,
    help="Target whose variants are carried. Default: the nearest before.",
)
@click.option("--pre", is_flag=True, help="Look for pre-releases and dev builds too.")
@click.option("--offline", is_flag=True, help="Ask no package index: what is in the cache, and git.")
@click.option("--update", is_flag=True, help="Add the releases that were found to upstream_versions.yaml.")
@click.option("--new-only", is_flag=True, help="Print only what the state file does not have, and add it there.")
@click.option("--state", type=PATH, help=f"The state file. Default: {STATE} in the folder of the series.")
@click.option("--detailed-exit-code", is_flag=True, help="Exit with 5 when upstream is new since then and all is fine.")
@click.option("--format", "style", type=click.Choice(list(RENDERERS)), default="text", show_default=True)
@click.option("--report", "reports", multiple=True, metavar="FORMAT=FILE", help="Write the answer to a file too.")
@edited_patches_option
def command(
    *,
    repository: Path | None,
    onto: tuple[str, ...],
    base: str | None,
    pre: bool,
    offline: bool,
    update: bool,
    new_only: bool,
    state: Path | None,
    detailed_exit_code: bool,
    style: str,
    reports: tuple[str, ...],
    patches: Path | None,
) -> int:
    """Say what upstream did to each patch: on every release, tracked branch and pinned commit.

    Exits with 0 when all is fine, 1 when something is broken or has to be looked at, 4 when nothing could be looked at.
    With --new-only only what is new counts, and nothing new prints nothing.
    """
    folder = patches or edited_patches()
    state_file = state or folder / STATE
    files = _report_files(reports, state_file if new_only or detailed_exit_code else None)
    reporter = StderrReporter(verbose=style == "text" and not new_only)
    # Read before the long part too: what is no state file is refused at once.
    known = load_reported(state_file) if new_only or detailed_exit_code else {}
    clone = GitProgram(repository, download=False) if repository is not None else None
    asked = Asked(onto=onto, base=base, repository=clone, offline=offline)
    with PackageIndexes(ContentCache(default_cache())) as indexes:
        discovery = look_around(
            folder, repository=clone, pre=pre, offline=offline, update=update, indexes=indexes, reporter=reporter
        )
        whole = check_upstream(folder, asked, discovery, indexes=indexes, reporter=reporter)
    # Only the forms that name lines need them, and reading them means reading the series again.
    places = _places(whole, folder) if {style, *files.values()} & {"github", "sarif"} else None
    columns = _columns()
    # A job may have closed it.
    colour = sys.stdout is not None and sys.stdout.isatty() and not is_without_colour()
    # Two at once would both tell what is new: it is told before it is noted, so that a kill in between loses none.
    with reporting_alone(state_file, reporter) if new_only else nullcontext():
        if new_only:
            # Another run may have reported since.
            known = load_reported(state_file)
        found = news(whole, known, discovery.faults)
        report = found.report if new_only else marked(whole, known) if detailed_exit_code else whole
        silent = new_only and style == "text" and not found.anything
        if not silent:
            click.echo(render(report, style, colour=colour, width=columns, places=places), nl=False, color=colour)
        # Files are looked at one by one and later: each has everything, what is new is marked.
        texts = {
            path: render(marked(whole, known), other, width=_WIDTH, places=places) for path, other in files.items()
        }
        write_reports({path: text.encode() for path, text in texts.items()})
        if new_only and found.known != known:
            write_reported(state_file, found.known)
    # A target that was named and is out of reach is no news, and no answer either.
    unanswered = [target for target in whole.targets if onto and target.state == "unreachable"]
    if new_only:
        # No news, but a night in which nothing was looked at is not one in which nothing happened.
        for note in (
            *_lost(found, known, {target.name for target in unanswered}, repository),
            *(discovery.notes if silent and not discovery.answered else ()),
        ):
            reporter.note(one_line(note))
    if whole.verdict == "unreachable":
        return int(ExitCode.TREE)
    if not report.ok or unanswered:
        return int(ExitCode.NO)
    return int(ExitCode.NEW if detailed_exit_code and found.anything else ExitCode.DONE)


_WIDTH = 120
"""Columns of a text that goes to no terminal."""


def _places(report: UpstreamReport, folder: Path) -> Places:
    from patchkit.cli.rendering.places import read_places  # noqa: PLC0415 - for two of the forms

    return read_places(report, folder)


def _columns() -> int:
    # As shutil has it, which imports five compressions.
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size().columns or _WIDTH
    except OSError:
        return _WIDTH


def _lost(found: News, known: Mapping[str, Iterable[str]], named: Set[str], repository: Path | None) -> Iterator[str]:
    """Yield a note for each target out of reach: ``known`` are those reported before, ``named`` those of ``--onto``.

    Branches and commits that nobody asked for are none of it where there is no clone to look at them in.
    """
    for target in found.lost:
        if target.name in known:
            yield f"{target.title} could not be looked at, and stays as it was reported: {target.reason}"
        elif target.name in named or target.kind == "release" or repository is not None:
            yield f"{target.title} could not be looked at: {target.reason}"


def _report_files(reports: tuple[str, ...], state: Path | None) -> dict[Path, str]:
    """Return the form of each file; one that would take the place of another, or of ``state``, is a UsageError."""
    files: dict[Path, str] = {}
    # What a link leads to is written, so that two names may be one file.
    taken = {} if state is None else {os.path.realpath(state): f"{state} is the state file"}
    for text in reports:
        path, style = _report_file(text)
        place = os.path.realpath(path)
        if place in taken:
            raise UsageError(f"--report {text}: {taken[place]}")
        taken[place] = f"another report goes to {path} too"
        files[path] = style
    return files


def _report_file(text: str) -> tuple[Path, str]:
    style, sign, path = text.partition("=")
    if not sign or not path or style not in RENDERERS:
        raise UsageError(f"--report {text}: not FORMAT=FILE", hint=f"formats: {', '.join(RENDERERS)}")
    if path == "-":
        raise UsageError(f"--report {text}: `-` is no file", hint=f"--format {style} prints it")
    return Path(path), style
