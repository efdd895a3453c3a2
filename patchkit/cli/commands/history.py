"""patchkit history."""

from __future__ import annotations

from pathlib import Path

import click

from patchkit.cli.completion import complete_patch, complete_range, complete_target
from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.options import FOLDER, PATH, patches_option
from patchkit.cli.output import StderrReporter, echo_lines, print_json
from patchkit.core.history_report import HistoryReport
from patchkit.errors import UsageError
from patchkit.operations.history import HistoryRequest, history, history_of_refs
from patchkit.store.files import write_reports


@click.command("history")
@click.argument("names", nargs=-1, metavar="[PATCH]...", shell_complete=complete_patch)
@click.option("--git", "repository", type=FOLDER, help="A clone of Megatron-LM; a bare or shallow one will do.")
@click.option("--index", is_flag=True, help="Builds on the package index instead, as few of them as tell it.")
@click.option(
    "--range",
    "span",
    metavar="A..B",
    shell_complete=complete_range,
    help="Commits after A up to B, or builds. Default: from the newest release on.",
)
@click.option(
    "--from",
    "base",
    metavar="BASE",
    shell_complete=complete_target,
    help="Target whose texts are carried. Default: the best one for A.",
)
@click.option("--all", "everything", is_flag=True, help="Every text on any branch or tag, counted, instead of a line.")
@patches_option
@click.option("--svg", type=PATH, metavar="FILE", help="Write the timeline to FILE as well.")
@click.option("--format", "style", type=click.Choice(["text", "json", "svg"]), default="text", show_default=True)
def command(
    *,
    names: tuple[str, ...],
    repository: Path | None,
    index: bool,
    span: str | None,
    base: str | None,
    everything: bool,
    patches: Path | None,
    svg: Path | None,
    style: str,
) -> int:
    """Tell what became of every hunk, commit by commit, and which change broke it.

    The series is carried to the text of every commit that touches one of its files, or one of a PATCH's when some are
    named. A hunk is bad where it is in
    conflict or obsolete, or where a gate fires; inside of a merge the change that did it is named. Nothing is written
    to the clone. Exit code 0 when the history could be read, whatever it says.
    """
    if (repository is None) is not index:
        what = "--git and --index exclude each other" if index else "a history of what?"
        raise UsageError(what, hint="--git REPO names a clone of Megatron-LM; --index looks at builds")
    if everything and index:
        raise UsageError("--all needs --git REPO")
    if everything and (svg or style == "svg"):
        raise UsageError("--all has no line of commits, so there is no timeline")
    reporter = StderrReporter(verbose=style == "text")
    if repository is not None:
        request = HistoryRequest(repository=repository, span=span, base=base, patches=patches, names=names)
        report = (history_of_refs if everything else history)(request, reporter=reporter)
    else:
        report = _of_builds(names, span, base, patches, reporter)
    if svg is not None:
        _write(svg, report)
    _print(report, style)
    return int(ExitCode.DONE)


def _of_builds(
    names: tuple[str, ...], span: str | None, base: str | None, patches: Path | None, reporter: StderrReporter
) -> HistoryReport:
    from patchkit.operations.history_index import BuildsRequest, history_of_builds  # noqa: PLC0415 - zip, pip
    from patchkit.operations.sources import Workspace  # noqa: PLC0415 - as above
    from patchkit.store.cache import ContentCache, default_cache  # noqa: PLC0415 - as above
    from patchkit.trees.index_listing import ListedRelease, list_releases  # noqa: PLC0415 - as above
    from patchkit.trees.package_indexes import PackageIndexes  # noqa: PLC0415 - as above

    def builds(workspace: Workspace) -> tuple[ListedRelease, ...]:
        return list_releases(workspace.versions.upstream.distribution, indexes=indexes, reporter=reporter).releases

    request = BuildsRequest(span=span, base=base, patches=patches, names=names)
    with PackageIndexes(ContentCache(default_cache())) as indexes:
        return history_of_builds(request, builds, indexes=indexes, reporter=reporter)


def _print(report: HistoryReport, style: str) -> None:
    if style == "json":
        print_json(report)
    elif style == "svg":
        from patchkit.cli.rendering.timeline import timeline  # noqa: PLC0415 - only who wants the picture

        click.echo(timeline(report), nl=False)
    else:
        from patchkit.cli.rendering.history_text import history_lines  # noqa: PLC0415 - as above

        echo_lines(history_lines(report))


def _write(file: Path, report: HistoryReport) -> None:
    from patchkit.cli.rendering.timeline import timeline  # noqa: PLC0415 - as above

    write_reports({file: timeline(report).encode()})
