"""patchkit lint."""

from __future__ import annotations

from pathlib import Path

import click

from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.options import FOLDER, edited_patches_option, format_option
from patchkit.cli.output import StderrReporter, bounded, echo_words, print_json
from patchkit.operations.lint import lint
from patchkit.store.location import edited_patches


@click.command("lint")
@edited_patches_option
@click.option("--git", "repository", type=FOLDER, help="A clone of Megatron-LM, for branches and commits.")
@click.option("--offline", is_flag=True, help="Place hunks only on releases that are in the cache.")
@format_option
def command(*, patches: Path | None, repository: Path | None, offline: bool, style: str) -> int:
    """Check the sources of a series: schema, headers, ids, ranges, and that every hunk has its place."""
    folder = patches or edited_patches()
    reporter = StderrReporter(verbose=style == "text")
    result = lint(folder, repository=repository, offline=offline, reporter=reporter)
    if style == "json":
        print_json(result)
    else:
        for line in bounded([f"{finding.message} [{finding.rule}]" for finding in result.findings]):
            echo_words(line)
        placed = f"hunks placed on {len(result.placed)} targets"
        skipped = f", not on {', '.join(result.not_placed)} (no source at hand)" if result.not_placed else ""
        if not result.findings:
            echo_words(f"{folder}: nothing wrong; {placed}{skipped}")
    return int(ExitCode.NO if result.findings else ExitCode.DONE)
