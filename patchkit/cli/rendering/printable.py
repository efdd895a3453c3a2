"""Text from elsewhere, made harmless to print: no escape sequence, no invisible character, no workflow command."""

from __future__ import annotations

import re
from typing import Final

from patchkit.core.printing import printable

# What a runner of GitHub Actions takes for a command: `::name` at the start of a line, which wrapping can bring about
# anywhere, and `##[name]` anywhere. `std::move` and the like are no commands.
_COMMAND: Final = re.compile(r"(?<!\w)::(?=[\w-])|##\[")

# Reset, bold, dim, the sixteen colours.
_CODE: Final = r"\x1b\[(?:[0-2]|[39][0-7])m"
_COLOUR: Final = re.compile(f"({_CODE})")

# The same commands in lines that nobody wraps, where `x[::2]` is code: colours go away before a runner reads them.
_FIRST: Final = re.compile(rf"^((?:[ \t]|{_CODE})*:(?:{_CODE})*)(?=:(?:{_CODE})*[\w-])", re.MULTILINE)
_FIRST_IN_MARKUP: Final = re.compile(r"^([ \t]*):(?=:[\w-])", re.MULTILINE)
_ANYWHERE: Final = re.compile(rf"(#(?:{_CODE})*#)(?=(?:{_CODE})*\[)")

_BEYOND_ASCII: Final = re.compile(r"[^\x20-\x7e\n]")


def styled(text: str) -> str:
    """Return lines that may have colours of ``click.style`` with everything else that does not print as an escape.

    Line breaks and tabs stay. What hides text, moves the cursor or names the window is no colour. No line is one that a
    runner of GitHub Actions takes for a command.
    """
    if not text.isprintable():
        text = "".join(part if at % 2 else printable(part, but="\n\t") for at, part in enumerate(_COLOUR.split(text)))
    return _ANYWHERE.sub(r"\1 ", _FIRST.sub(r"\1 ", text))


def unbroken(line: str) -> str:
    """Return a line with the line breaks and tabs in it as escapes; colours stay."""
    return line.replace("\n", "\\n").replace("\t", "\\t")


def one_line(text: str, limit: int | None = None) -> str:
    """Return text as one printable line, runs of white space as one blank.

    Of more than ``limit`` characters the first are returned, and how many there are more.
    """
    line = printable(" ".join(text.split()))
    if limit is None or len(line) <= limit:
        return line
    return f"{line[:limit]}... ({len(line) - limit} more characters)"


def no_command(line: str) -> str:
    """Return a line that a runner of GitHub Actions does not take for a command, whatever it holds."""
    return _COMMAND.sub(lambda match: ": :" if match[0] == "::" else "## [", line)


def inert_json(text: str) -> str:
    """Return JSON of the same value without a character that a terminal, or a command that a runner, could obey.

    JSON itself escapes only the controls below U+0020; a terminal also obeys those from U+007F to U+009F, and an editor
    the marks of direction. No line of JSON begins with a colon; ``##[`` stands in its strings alone.
    """
    text = text.replace("##[", "#\\u0023[")
    return _BEYOND_ASCII.sub(lambda match: match[0] if match[0].isprintable() else _json_escape(match[0]), text)


def inert_markup(text: str) -> str:
    """Return XML or HTML that says the same, without a command that a runner of GitHub Actions obeys.

    Scripts and styles in it, where no such escape is one, have nothing that looks like a command.
    """
    return _FIRST_IN_MARKUP.sub(r"\1&#58;", text).replace("##[", "#&#35;[")


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
