"""patchkit status."""

from __future__ import annotations

from pathlib import Path

import click

from patchkit.cli.options import (
    asked_target,
    finish,
    format_option,
    megatron_option,
    open_tree,
    patches_option,
    tree_options,
)
from patchkit.operations.sources import load_workspace
from patchkit.operations.status import status


@click.command("status")
@megatron_option
@tree_options
@patches_option
@format_option
def command(*, megatron: str | None, folder: Path | None, installed: bool, patches: Path | None, style: str) -> int:
    """Say per patch and file: clean, applied, partly, modified, or an unknown release.

    Exits 0 when every patch is wholly in or wholly out, 1 otherwise.
    """
    workspace = load_workspace(patches)
    asked = asked_target(workspace, megatron)
    tree = open_tree(folder, workspace.versions.upstream, installed=installed, megatron=megatron)
    return finish(status(workspace, tree, asked=asked), style)
