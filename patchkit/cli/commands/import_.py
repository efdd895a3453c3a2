"""patchkit import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import click

from patchkit.cli.completion import complete_target
from patchkit.cli.options import FOLDER, PATH, format_option, own_patches_option
from patchkit.cli.output import StderrReporter, bounded, print_answer
from patchkit.core.foreign.diffs import Repair
from patchkit.errors import UsageError
from patchkit.operations.import_patch import import_patches
from patchkit.operations.import_report import Imported, ProposedPatch
from patchkit.store.location import folder_here, series_option


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
@click.option(
    "--megatron",
    "--release",
    "megatron",
    metavar="RELEASE",
    shell_complete=complete_target,
    help="What the patch was made for. Default: what its index lines say.",
)
@click.option("--git", "repository", type=FOLDER, help="A clone of Megatron-LM, to find the base in and read it from.")
@click.option("--base", "revision", metavar="REV", help="With --git: the revision that the patch was made for.")
@own_patches_option
@click.option("--name", help="Name of the new patch. Default: from the mail's subject or the file's name.")
@click.option("--split", is_flag=True, help="Write the proposed feature patches instead of one.")
@click.option("--directory", default="", metavar="DIR", help="The files' paths are below DIR, as git apply has it.")
@click.option("--author", default="", metavar="NAME", help="Who wrote it, if the file does not say.")
@click.option("--forwarded", default="", metavar="TEXT", help="Was upstream asked to take it? no, or where.")
@click.option("--dry-run", is_flag=True, help="Do everything except the write.")
@format_option
def command(
    *,
    files: tuple[Path, ...],
    megatron: str | None,
    repository: Path | None,
    revision: str | None,
    patches: Path | None,
    name: str | None,
    split: bool,
    directory: str,
    author: str,
    forwarded: str,
    dry_run: bool,
    style: str,
) -> int:
    """Import a foreign patch: a bare diff, a mail, or a series of git format-patch in one file or several.

    A folder stands for its patches, in the order of the numbers in front of their names or of quilt's series file;
    nothing in it may lead out of it. A FILE may be a pipe, such as a shell's <(command).
    """
    folder = patches or folder_here()
    if folder is None:
        raise UsageError("into which series?", hint="name its folder with --patches DIR; it is made if there is none")
    result = import_patches(
        files,
        folder,
        today=datetime.now(tz=timezone.utc).strftime("%Y-%m-%d"),
        megatron=megatron,
        repository=repository,
        revision=revision,
        name=name,
        split=split,
        directory=directory,
        author=author,
        forwarded=forwarded,
        dry_run=dry_run,
        reporter=StderrReporter(verbose=style == "text"),
    )
    return print_answer(result, import_lines(result, files), style, result.problems)


def import_lines(result: Imported, files: Sequence[Path]) -> Iterator[str]:
    """Yield what `import` says."""
    named = ", ".join(str(file) for file in files)
    yield f"{named}: {_count(result.hunks, 'hunk')} in {_count(result.files, 'file')}"
    commit = f" (commit {result.base.commit[:9]})" if result.base.commit else ""
    matching = f"; index lines that name its text: {result.base.matching} of {result.base.of}" if result.base.of else ""
    yield f"base: {result.base.target}{commit}, {result.base.how}{matching}"
    if result.repairs:
        yield "repaired:"
        yield from (f"  {line}" for line in bounded(list(_repairs(result.repairs))))
    yield from bounded([f"note: {note}" for note in result.notes])
    if not result.ok:
        yield "nothing was written"
        return
    yield from _table("patches:" if len(result.patches) > 1 else "patch:", result.patches)
    if result.proposed:
        yield from _table(f"with --split it would be {len(result.proposed)} patches:", result.proposed)
    verb = "would be written" if result.verdict == "would-import" else "written"
    yield f"{result.series}: {_count(len(result.written), 'file')} {verb}"
    yield f"next: patchkit lint{series_option(Path(result.series))} names the texts that you have to write"


def _repairs(repairs: Sequence[Repair]) -> Iterator[str]:
    """One line for each hunk and kind of repair; the lines of the patch file are listed."""
    groups: dict[tuple[str, str | None, int | None, str], list[int]] = {}
    for repair in repairs:
        groups.setdefault((repair.patch, repair.path, repair.hunk, repair.message), []).append(repair.line)
    for (patch, path, hunk, message), lines in groups.items():
        where = f"{path}, hunk {hunk}: " if path else ""
        yield f"{patch}:{','.join(map(str, lines))}: {where}{message}"


def _table(title: str, patches: Sequence[ProposedPatch]) -> Iterator[str]:
    yield title
    width = max(len("name"), *(len(patch.name) for patch in patches))
    yield f"  {'name':<{width}}  hunks  files      lines  why"
    rows: list[str] = []
    for patch in patches:
        depends = f"; depends on {', '.join(patch.depends)}" if patch.depends else ""
        sizes = f"{len(patch.hunks):5}  {len(patch.files):5}  {f'+{patch.added}/-{patch.removed}':>9}"
        rows.append(f"  {patch.name:<{width}}  {sizes}  {patch.reason}{depends}")
    yield from bounded(rows)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
