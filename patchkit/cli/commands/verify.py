"""patchkit verify."""

from __future__ import annotations

from pathlib import Path

import click

from patchkit.cli.options import (
    asked_target,
    finish,
    format_option,
    megatron_option,
    open_tree,
    patch_option,
    patches_option,
    tree_options,
)
from patchkit.operations.sources import load_workspace
from patchkit.operations.status import verify


@click.command("verify")
@megatron_option
@tree_options
@patch_option
@patches_option
@format_option
def command(
    *,
    megatron: str | None,
    folder: Path | None,
    installed: bool,
    names: tuple[str, ...],
    patches: Path | None,
    style: str,
) -> int:
    """Exit 0 only if every patch of the series is applied and every check holds; for a Dockerfile or an entry point."""
    workspace = load_workspace(patches)
    asked = asked_target(workspace, megatron)
    tree = open_tree(folder, workspace.versions.upstream, installed=installed, megatron=megatron)
    return finish(verify(workspace, tree, asked=asked, patches=names), style)
