"""patchkit capture."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import click

from patchkit.cli.completion import complete_patch, complete_target
from patchkit.cli.options import FOLDER, format_option, open_tree, own_patches_option
from patchkit.cli.output import StderrReporter, print_answer
from patchkit.operations.capture import capture
from patchkit.operations.capture_report import Captured
from patchkit.operations.known import load_known
from patchkit.store.location import own_patches


@click.command("capture")
@click.option(
    "--from", "folder", type=FOLDER, required=True, help="The tree: a release with the series and your edits."
)
@click.option(
    "--megatron",
    "--release",
    "megatron",
    required=True,
    metavar="RELEASE",
    shell_complete=complete_target,
    help="What the tree was before the series was applied.",
)
@click.option(
    "--patch",
    "name",
    metavar="NAME",
    shell_complete=complete_patch,
    help="The patch that takes edits which are near none, or near several.",
)
@click.option("--new", metavar="NAME", help="Make this patch of such edits.")
@click.option("--drop-hunks", is_flag=True, help="Hunks that the edits took out leave the series.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Files to leave out, such as examples/ (repeatable).")
@click.option(
    "--include",
    multiple=True,
    metavar="GLOB",
    help="New files to take, in folders that upstream has not (repeatable).",
)
@own_patches_option
@click.option("--git", "repository", type=FOLDER, help="A clone of Megatron-LM, for branches and commits.")
@click.option("--dry-run", is_flag=True, help="Do everything except the write.")
@format_option
def command(
    *,
    folder: Path,
    megatron: str,
    name: str | None,
    new: str | None,
    drop_hunks: bool,
    exclude: tuple[str, ...],
    include: tuple[str, ...],
    patches: Path | None,
    repository: Path | None,
    dry_run: bool,
    style: str,
) -> int:
    """Refresh the series from a tree that was edited by hand after `patchkit apply`.

    In a checkout of Megatron-LM (with --git, or a checkout of git itself) every file counts, elsewhere those below
    megatron/. Only what the wheel of a release ships can be taken for a release.
    """
    series = patches or own_patches()
    result = capture(
        open_tree(folder, load_known(series).upstream, installed=False),
        series,
        megatron,
        today=datetime.now(tz=timezone.utc).strftime("%Y-%m-%d"),
        patch=name,
        new=new,
        drop_hunks=drop_hunks,
        include=include,
        exclude=exclude,
        repository=repository,
        place=folder,
        dry_run=dry_run,
        reporter=StderrReporter(verbose=style == "text"),
    )
    return print_answer(result, _lines(result), style, result.problems)


def _lines(result: Captured) -> Iterator[str]:
    yield from (f"note: {note}" for note in result.notes)
    for hunk in result.hunks:
        yield f"{hunk.patch}: {hunk.path}, hunk {hunk.id}: {hunk.action}"
    for variant in result.variants:
        why = f"; not for {variant.reason}" if variant.reason else ""
        yield f"{variant.patch}: variants/{variant.file} for {', '.join(variant.targets)}{why}"
    match result.verdict:
        case "unchanged":
            how = "what was compared is" if result.notes else "exactly"
            yield f"{result.tree}: {how} {result.target} with the series; nothing to capture"
        case "refused":
            yield "nothing was written"
        case "would-capture":
            yield f"{result.series}: {len(result.written)} files would be written"
        case _:
            yield f"{result.series}: {len(result.written)} files written"
