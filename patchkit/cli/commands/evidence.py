"""patchkit evidence."""

from __future__ import annotations

from pathlib import Path

import click

from patchkit.cli.evidence import Shown, as_data, as_markdown, as_text, known_libraries
from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.options import patches_option
from patchkit.cli.output import echo_lines, print_json
from patchkit.core.evidence import judge_evidence, parse_evidence
from patchkit.errors import TreeError
from patchkit.operations.sources import load_workspace
from patchkit.reading import read_given


@click.command("evidence")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@patches_option
@click.option("--format", "style", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True)
def command(*, files: tuple[Path, ...], patches: Path | None, style: str) -> int:
    """Say what reports of the GPU tests show of the series (docs/evidence.md).

    A case counts when the texts of Megatron that ran are those of the lock, and the library of torch_memory_saver in
    its process is of the release that it is about. Exits 1 when a case failed, or something else ran.
    """
    lock, libraries = load_workspace(patches).sources.lock, known_libraries()
    shown = []
    for file in files:
        try:
            content = read_given(file)
        except OSError as error:
            raise TreeError(f"cannot read {file}: {error.strerror or error}") from error
        report = parse_evidence(content, str(file))
        shown.append(Shown(str(file), report, judge_evidence(report, lock, libraries)))
    if style == "json":
        print_json(as_data(shown))
    else:
        echo_lines(as_markdown(shown) if style == "markdown" else as_text(shown))
    return int(ExitCode.DONE if all(each.ok for each in shown) else ExitCode.NO)
