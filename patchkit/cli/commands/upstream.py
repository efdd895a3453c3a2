"""patchkit upstream."""

from __future__ import annotations

from pathlib import Path

import click

from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.options import format_option, patches_option
from patchkit.cli.output import print_json
from patchkit.cli.rendering.printable import no_command, one_line
from patchkit.operations.sources import load_workspace
from patchkit.operations.supported import Supported, supported


@click.command("upstream")
@patches_option
@format_option
def command(*, patches: Path | None, style: str) -> int:
    """List the releases, branches and commits that the series supports, and the variants used for each.

    Python is what the wheels of a release require (Requires-Python).
    """
    rows = supported(load_workspace(patches))
    if style == "json":
        print_json(rows)
    else:
        _print_table(rows)
    return int(ExitCode.DONE)


def _print_table(rows: tuple[Supported, ...]) -> None:
    from rich.console import Console  # noqa: PLC0415 - rich takes 60 ms
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    def cell(text: str) -> Text:
        # A string would be read for brackets that mean colours and links.
        return Text(no_command(one_line(text)))

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("target", "date", "python", "ships", "tag or commit"):
        table.add_column(title)
    names = list(rows[0].variants) if rows else []
    for name in names:
        table.add_column(cell(name))
    for row in rows:
        title = f"{row.target} (yanked)" if row.yanked else row.target
        source = row.tag or (row.commit[:10] if row.commit else "no public tag")
        variants = [row.variants[name] or ("not carried" if name in row.uncarried else "not needed") for name in names]
        table.add_row(*map(cell, (title, row.date, row.python, ", ".join(row.ships), source, *variants)))
    Console(highlight=False, width=None if Console().is_terminal else 200).print(table)
