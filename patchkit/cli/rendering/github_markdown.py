"""Pieces of GitHub flavoured Markdown that no text from elsewhere can break out of."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from patchkit.cli.rendering.printable import no_command, one_line

# `$` begins mathematics on GitHub.
_PUNCTUATION: Final = re.compile(r"([\\`*_{}\[\]()|~$!])")
# What GitHub makes links and notifications of: @somebody, #123, GH-123. A zero-width space within keeps it text.
_REFERENCE: Final = re.compile(r"(@|#|GH-)(?=\w)")


def escaped(text: str, limit: int | None = None) -> str:
    """Return text as one line that shows as it is, in a table too: no markup, no HTML, no link to a person or issue."""
    line = html.escape(no_command(one_line(text, limit)), quote=False)
    # `&#8203;` after the escapes, which would take it apart; a `#` of an HTML escape is none of the text's.
    parts = re.split(r"(&\w+;)", line)
    return "".join(part if part.startswith("&") else _plain(part) for part in parts)


def _plain(text: str) -> str:
    return _REFERENCE.sub(r"\1&#8203;", _PUNCTUATION.sub(r"\\\1", text))


def code(text: str) -> str:
    """Return text as a code span for a cell of a table; empty for no text.

    A bar is escaped, which cells ask for in code too, and only they undo.
    """
    line = no_command(one_line(text))
    if not line:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    blank = " " if "`" in line else ""
    return f"{fence}{blank}{line}{blank}{fence}".replace("|", "\\|")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; titles and cells are Markdown already."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def details(summary: str, body: str) -> str:
    """Return a part that is folded up; the summary is text, the body Markdown."""
    title = html.escape(no_command(one_line(summary)), quote=False)
    return f"<details><summary>{title}</summary>\n\n{body}\n</details>\n"
