"""patchkit revert."""

from __future__ import annotations

from pathlib import Path

import click

from patchkit.cli.options import (
    asked_target,
    finish,
    format_option,
    megatron_option,
    patch_option,
    patches_option,
    tree_options,
    writable_tree,
)
from patchkit.cli.output import StderrReporter
from patchkit.operations.revert import revert_in
from patchkit.operations.sources import load_workspace


@click.command("revert")
@megatron_option
@tree_options
@patch_option
@patches_option
@click.option("--dry-run", is_flag=True, help="Do everything except the write.")
@format_option
def command(
    *,
    megatron: str | None,
    folder: Path | None,
    installed: bool,
    names: tuple[str, ...],
    patches: Path | None,
    dry_run: bool,
    style: str,
) -> int:
    """Take patches out again: every file gets its old bytes back. Default: all, in the current directory."""
    workspace = load_workspace(patches)
    asked = asked_target(workspace, megatron)
    tree = writable_tree(folder, workspace.versions.upstream, installed=installed, megatron=megatron)
    reporter = StderrReporter(verbose=style == "text")
    return finish(revert_in(workspace, tree, asked=asked, patches=names, dry_run=dry_run, reporter=reporter), style)
