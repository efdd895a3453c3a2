"""patchkit explain."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from patchkit.cli.completion import complete_hunk, complete_target
from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.options import FOLDER, edited_patches_option, format_option
from patchkit.cli.output import StderrReporter, echo_lines, echo_note, print_json
from patchkit.cli.rendering.explained import explained_lines
from patchkit.operations.explain_hunks import explain_hunks
from patchkit.store.location import edited_patches


@click.command("explain")
@click.argument("what", metavar="PATCH[/HUNK]", shell_complete=complete_hunk)
@click.option(
    "--onto",
    required=True,
    metavar="TARGET",
    shell_complete=complete_target,
    help="A release, branch or commit; with --git any revision.",
)
@click.option(
    "--from",
    "base",
    metavar="BASE",
    shell_complete=complete_target,
    help="Target whose variant is carried. Default: the nearest before.",
)
@click.option("--git", "repository", type=FOLDER, help="A clone of Megatron-LM: for branches, and for who did what.")
@edited_patches_option
@format_option
def command(
    *, what: str, onto: str, base: str | None, repository: Path | None, patches: Path | None, style: str
) -> int:
    """Show both sides of a patch's hunks on a target: the base, the patch, and what upstream made of the lines.

    With the signatures of the scope before and after, upstream's commits that touched the lines (--git), and what would
    be written.
    """
    patch, _, hunk = what.partition("/")
    answer = explain_hunks(
        patches or edited_patches(),
        patch,
        hunk or None,
        onto,
        base=base,
        repository=repository,
        reporter=StderrReporter(verbose=False),
    )
    if style == "json":
        print_json(answer)
    else:
        echo_lines(explained_lines(answer, shutil.get_terminal_size((160, 24)).columns))
        for note in answer.notes:
            echo_note(note)
    return int(ExitCode.DONE)
