"""patchkit regenerate."""

from __future__ import annotations

from pathlib import Path

import click

from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.options import FOLDER, edited_patches_option, format_option
from patchkit.cli.output import StderrReporter, echo_words, print_json, print_problem
from patchkit.core.report import Problem
from patchkit.operations.regenerate import regenerate
from patchkit.store.location import edited_patches


@click.command("regenerate")
@edited_patches_option
@click.option("--git", "repository", type=FOLDER, help="A clone of Megatron-LM, for branches and commits.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if something would change.")
@format_option
def command(*, patches: Path | None, repository: Path | None, check: bool, style: str) -> int:
    """Make lock.yaml and generated/*.patch from the sources of a series."""
    reporter = StderrReporter(verbose=style == "text")
    folder = patches or edited_patches()
    result = regenerate(folder, repository=repository, check=check, reporter=reporter)
    if style == "json":
        print_json(result)
    else:
        verb = "is out of date" if check else "written"
        for path in (*result.written, *result.removed):
            echo_words(f"{path}: {verb}")
        if result.kept:
            echo_words(f"kept as they are (need --git REPO): {', '.join(result.kept)}")
        for problem in result.problems:
            print_problem(Problem(problem))
        if result.ok and not result.written and not result.removed:
            echo_words(f"{folder}: everything is up to date")
    return int(ExitCode.DONE if result.ok else ExitCode.NO)
