"""Options that several commands share, and how they name a tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from patchkit.cli.completion import complete_patch, complete_target
from patchkit.cli.exit_codes import ExitCode
from patchkit.cli.output import echo_lines, echo_words, print_json, print_problem
from patchkit.cli.text import report_lines
from patchkit.core.report import Report
from patchkit.core.upstream import Upstream
from patchkit.errors import NotATreeError, UsageError
from patchkit.operations.sources import Workspace
from patchkit.store.location import series_here
from patchkit.trees.interface import SourceTree, WritableTree

F = TypeVar("F", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)


def megatron_option(function: F) -> F:
    """Add ``--megatron``."""
    return click.option(
        "--megatron",
        "--release",
        "megatron",
        metavar="RELEASE",
        shell_complete=complete_target,
        help="v0.19.2, 0.19.2, core_v0.19.2, latest, installed, a branch or a commit. Default: what the files say.",
    )(function)


def series_folder(_context: click.Context, _option: click.Parameter, value: Path | None) -> Path | None:
    """Return the folder that ``--patches`` names, else the one of the project's settings, which is said on stderr.

    None leaves it to the command. Raises StoreError when the settings cannot be read.
    """
    if value is not None or _context.resilient_parsing:
        return value
    from patchkit.store.settings import find_settings  # noqa: PLC0415 - not for every command

    found = find_settings(Path())
    if found is None:
        return None
    echo_words(f"series: {found.patches} (from {found.file})", err=True)
    return found.patches


def _series_here(context: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
    """Return what ``series_folder`` does, else the series of the current folder, which is said on stderr.

    Raises StoreError where what has its name is no series.
    """
    found = series_folder(context, option, value)
    if found is not None or context.resilient_parsing:
        return found
    here = series_here()
    if here is not None:
        echo_words(f"series: {here} (in this folder)", err=True)
    return here


def patches_option(function: F) -> F:
    """Add ``--patches`` to a command that takes the series of the current folder, or the built-in one."""
    return _patches_option(function, _series_here, "patches/megatron, or the built-in one")


def own_patches_option(function: F) -> F:
    """Add ``--patches`` to a command that writes the series."""
    return _patches_option(function, series_folder, "patches/megatron")


def edited_patches_option(function: F) -> F:
    """Add ``--patches`` to a command for people who edit the series."""
    return _patches_option(function, series_folder, "patches/megatron, or the built-in one")


def _patches_option(function: F, find: Callable[..., Path | None], default: str) -> F:
    said = f"Folder of the series. Default: what patchkit.toml or pyproject.toml says, here or above; else {default}."
    return click.option("--patches", type=FOLDER, callback=find, help=said)(function)


def patch_option(function: F) -> F:
    """Add ``--patch``."""
    return click.option(
        "--patch",
        "names",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_patch,
        help="Only this patch (repeatable). Default: all.",
    )(function)


def format_option(function: F) -> F:
    """Add ``--format``."""
    return click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)(
        function
    )


def tree_options(function: F) -> F:
    """Add ``--in`` and ``--installed``."""
    function = click.option("--installed", is_flag=True, help="The megatron-core of this Python environment.")(function)
    return click.option("--in", "folder", type=PATH, help="A checkout, a plain folder, site-packages, or a wheel.")(
        function
    )


def finish(report: Report, style: str) -> int:
    """Print a report and return the exit code."""
    if style == "json":
        print_json(report)
    else:
        echo_lines(report_lines(report))
        for problem in report.problems:
            print_problem(problem)
    return int(ExitCode.DONE if report.ok else ExitCode.NO)


def asked_target(workspace: Workspace, megatron: str | None) -> str | None:
    """Return the name of the target that ``--megatron`` asks for; None when it does not say. Raises UsageError."""
    return None if megatron in (None, "installed") else workspace.target(str(megatron)).name


def writable_tree(
    folder: Path | None, upstream: Upstream, *, installed: bool, megatron: str | None = None
) -> WritableTree:
    """Open the tree to write to: ``--in``, ``--installed``, or the current directory. Raises TreeError, UsageError."""
    tree = open_tree(folder, upstream, installed=installed, megatron=megatron)
    if not isinstance(tree, WritableTree):
        raise UsageError(f"{tree.label} is a wheel, which is never changed in place", hint="use apply with --wheel DIR")
    return tree


def open_tree(folder: Path | None, upstream: Upstream, *, installed: bool, megatron: str | None = None) -> SourceTree:
    """Open the tree to read: ``--in`` (a wheel too), ``--installed``, or the current directory."""
    from patchkit.trees.layout import open_folder, open_installed, seen  # noqa: PLC0415 - trees where one is opened

    installed = installed or megatron == "installed"
    if installed and folder is not None:
        raise UsageError("--in and --installed exclude each other")
    if installed:
        return open_installed(upstream)
    if folder is not None and folder.suffix == ".whl" and folder.is_file():
        from patchkit.trees.archive import WheelTree  # noqa: PLC0415 - zipfile only where a wheel is read

        return seen(WheelTree(folder), upstream)
    if folder is not None and not folder.exists():
        raise NotATreeError(
            f"{folder} does not exist", hint="name a checkout, a plain folder, site-packages or a wheel with --in"
        )
    if folder is None and not is_here(upstream):
        raise NotATreeError(
            f"the current directory holds no {upstream.packages[0]}",
            hint="name the tree with --in DIR or --installed",
        )
    return open_folder(folder or Path(), upstream)


def is_here(upstream: Upstream) -> bool:
    """Tell whether the current directory is the root of a tree of ``upstream``."""
    from patchkit.trees.layout import holds  # noqa: PLC0415 - as above

    return holds(Path(), upstream)
