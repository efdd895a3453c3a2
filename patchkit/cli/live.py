"""python -m patchkit.live."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import NoReturn

import click

from patchkit.cli.main import run
from patchkit.cli.options import finish, format_option, megatron_option, patch_option, patches_option
from patchkit.core.report import Report
from patchkit.errors import UsageError
from patchkit.importing.interpreter import interpreter_options, refuse_deaf_interpreter
from patchkit.importing.overlay import Overlay, folder_of, plan_overlay
from patchkit.importing.settings import INSTALLED, Settings, environment
from patchkit.operations.sources import load_workspace
from patchkit.trees.layout import open_importable, open_installed


@click.command("live", context_settings={"allow_interspersed_args": False, "help_option_names": ["-h", "--help"]})
@megatron_option
@patch_option
@patches_option
@click.option("--dry-run", is_flag=True, help="Say what would be patched in what Python imports here.")
@click.option("--print-environment", is_flag=True, help="Print the variables for other processes, for eval in a shell.")
@format_option
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- SCRIPT|-m MODULE [ARGUMENT]...")
def command(
    *,
    megatron: str | None,
    names: tuple[str, ...],
    patches: Path | None,
    dry_run: bool,
    print_environment: bool,
    style: str,
    words: tuple[str, ...],
) -> int:
    """Run a Python program with Megatron-LM, or what else the series is for, patched as it is imported.

    No file of it is written.

    The answer of --dry-run is that of `patchkit apply --dry-run`. With --megatron installed it is asked for before the
    program starts; otherwise when it is first imported.
    """
    workspace = load_workspace(patches)
    upstream = workspace.versions.upstream
    settings = Settings(megatron, None if patches is None else str(patches.absolute()), names, upstream.shipped)
    workspace.sources.series.with_dependencies(names)
    if megatron not in (None, INSTALLED):
        workspace.target(str(megatron))
    if dry_run or print_environment:
        if words or (dry_run and print_environment):
            raise UsageError("--dry-run and --print-environment run no program, and exclude each other")
        if print_environment:
            for name, value in environment(settings, os.environ).items():
                click.echo(f"export {name}={shlex.quote(value)}")
            return 0
        tree = open_installed(upstream) if megatron == INSTALLED else open_importable(upstream)
        return finish(_report(plan_overlay(folder_of(tree, upstream), settings)), style)
    if not words:
        raise UsageError("what is to be run?", hint="python -m patchkit.live [OPTION]... -- SCRIPT [ARGUMENT]...")
    refuse_deaf_interpreter()
    if words[0] != "-m" and not Path(words[0]).exists():
        raise UsageError(f"{words[0]} is no script", hint="a module is named behind `-- -m`")
    if megatron == INSTALLED:
        if words[0] != "-m":
            # Python puts the script's folder where it put the current one for this module.
            sys.path[0] = str(Path(words[0]).resolve().parent)
        report = _report(plan_overlay(folder_of(open_installed(upstream), upstream), settings))
        if not report.ok:
            return finish(report, style)
    return _replace_process(settings, words)


def _report(found: Overlay | Report) -> Report:
    return found.report if isinstance(found, Overlay) else found


def _replace_process(settings: Settings, words: tuple[str, ...]) -> NoReturn:
    """Become the Python that runs ``words``, which has the hook from its start on, and so have those that it starts."""
    options = interpreter_options(sys.orig_argv, len(sys.argv) - 1)
    sys.stdout.flush()
    sys.stderr.flush()
    variables = {**os.environ, **environment(settings, os.environ)}
    os.execve(sys.executable, [sys.executable, *options, *words], variables)  # noqa: S606 - it takes this process' place


def main() -> int:
    """Run the command line of this process and return its exit code."""
    return run(sys.argv[1:], command, "python -m patchkit.live")
