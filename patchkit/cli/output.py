"""Data on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Final, Protocol

import click
import msgspec

from patchkit import __version__
from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.rendering.printable import inert_json, no_command, one_line, styled, unbroken
from patchkit.core.json_text import to_json
from patchkit.core.printing import printable
from patchkit.core.report import REPORT_SCHEMA, Problem
from patchkit.errors import PatchkitError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


def echo(text: str, *, err: bool = False) -> None:
    """Print lines made of words from elsewhere; nothing but our own colours is obeyed by a terminal."""
    click.echo(styled(text), err=err, color=False if is_without_colour() else None)


def echo_words(words: str, *, err: bool = False) -> None:
    """Print one line of words that may be anybody's: no colour, line break or tab in them is one."""
    echo(printable(words), err=err)


def is_without_colour() -> bool:
    """Tell whether the user wants no colours on a terminal either: NO_COLOR is set, and not empty (no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def echo_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print lines; a line break within one is an escape, so that no name that has one makes a line of its own.

    So is a tab, by which a name could look like two.
    """
    echo("\n".join(map(unbroken, lines)), err=err)


def print_json(value: object) -> None:
    """Print a value as indented JSON on stdout, without a character that a terminal could obey."""
    click.echo(inert_json(msgspec.json.format(to_json(value), indent=2).decode()))


def print_problem(problem: Problem) -> None:
    """Print a problem on stderr: where, what, and what to do."""
    where = [part for part in (problem.patch, problem.path) if part]
    if problem.hunk:
        where.append(f"hunk {problem.hunk}")
    if problem.line:
        where.append(f"line {problem.line}")
    prefix = click.style("error:", fg="red", bold=True)
    # The colours in a name are nobody's of ours.
    told = printable(": ".join([*where, problem.message]))
    echo(f"{prefix} {told}", err=True)
    if problem.hint:
        echo(f"  {click.style('hint:', fg='cyan')} {printable(problem.hint)}", err=True)


def echo_note(words: str) -> None:
    """Print a note on stderr."""
    echo(f"{click.style('note:', fg='yellow')} {printable(words)}", err=True)


def print_error(error: PatchkitError, command: str, *, as_json: bool) -> None:
    """Print the exception that ended a command: on stderr, and as JSON on stdout when JSON was asked for."""
    print_problem(Problem(error.message, hint=error.hint))
    if as_json:
        print_json_error(error.message, error.hint, command)


def print_usage_error(error: click.ClickException) -> None:
    """Print click's own complaint as it would, but for what the words of a command line could do to a terminal."""
    told = _Told()
    error.show(told)
    text = told.getvalue().removesuffix("\n")
    # A text of several lines is the help of a command that was given nothing (click 8.2), and none of its words are.
    if not isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        text = text.replace(error.message, unbroken(error.message))
    echo(printable(text, but="\n\t"), err=True)


class _Told(StringIO):
    """Takes what click prints, from which it takes out escape sequences where it finds no terminal."""

    def isatty(self) -> bool:
        return True


def print_json_error(message: str, hint: str | None, command: str) -> None:
    """Print on stdout, as JSON, that a command ended without a report."""
    print_json(
        {
            "schema": REPORT_SCHEMA,
            "tool": __version__,
            "command": command,
            "ok": False,
            "verdict": "error",
            "problems": [{"message": message, "hint": hint}],
        }
    )


MOST: Final = 20
"""Entries of one list that are printed."""


def bounded(lines: Sequence[str]) -> Iterator[str]:
    """Yield the first lines of a list, and how many more there are."""
    yield from lines[:MOST]
    if len(lines) > MOST:
        yield _rest(len(lines))


def _rest(count: int) -> str:
    return f"... and {count - MOST} more: --format json has all of them"


class Answer(Protocol):
    """What a command answers."""

    @property
    def ok(self) -> bool:
        """Whether it was done, or so already."""


def print_answer(answer: Answer, lines: Iterator[str], style: str, problems: Sequence[Problem] = ()) -> int:
    """Print an answer as JSON or as ``lines`` with ``problems`` (why it was not done), and return the exit code."""
    if style == "json":
        print_json(answer)
    else:
        echo_lines(lines)
        for problem in problems[:MOST]:
            print_problem(problem)
        if len(problems) > MOST:
            click.echo(_rest(len(problems)), err=True)
    return int(ExitCode.DONE if answer.ok else ExitCode.NO)


class StderrReporter:
    """Tells what is going on, on stderr."""

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._bar: tuple[Progress, TaskID] | None = None

    def step(self, message: str) -> None:
        """Print the step when there is somebody to read it."""
        if self._verbose:
            echo_words(message, err=True)

    def note(self, message: str) -> None:
        """Print the note."""
        echo_note(message)

    def count(self, done: int, total: int, message: str) -> None:
        """Draw a bar on a terminal; elsewhere it would fill the log."""
        if not sys.stderr.isatty():
            return
        from rich.console import Console  # noqa: PLC0415 - rich takes 60 ms
        from rich.markup import escape  # noqa: PLC0415 - as above
        from rich.progress import Progress  # noqa: PLC0415 - as above

        what = escape(no_command(one_line(message)))
        if self._bar is None:
            bar = Progress(console=Console(stderr=True), transient=True)
            self._bar = bar, bar.add_task(what, total=total)
            bar.start()
        drawn, task = self._bar
        drawn.update(task, completed=done, description=what)
        if done >= total:
            drawn.stop()
            self._bar = None
