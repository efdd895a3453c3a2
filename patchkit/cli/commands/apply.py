"""patchkit apply."""

from __future__ import annotations

from pathlib import Path

import click

from patchkit.cli.options import (
    FOLDER,
    PATH,
    asked_target,
    finish,
    format_option,
    is_here,
    megatron_option,
    patch_option,
    patches_option,
    tree_options,
    writable_tree,
)
from patchkit.cli.output import StderrReporter
from patchkit.core.report import Report
from patchkit.errors import UsageError
from patchkit.operations import make
from patchkit.operations.apply import apply_in
from patchkit.operations.sources import Workspace, fetch_release, find_revision, load_workspace


@click.command("apply")
@megatron_option
@click.option("--to", "destination", type=PATH, help="Make this new folder, patched.")
@tree_options
@click.option("--wheel", "wheel_folder", type=FOLDER, help="Write a patched wheel into this folder.")
@click.option("--git", "repository", type=FOLDER, help="Take the release from this clone instead of the package index.")
@click.option("--branch", help="With --git: make this branch, one commit per patch.")
@click.option("--python", metavar="X.Y", help="With --wheel or --to: Python version of the wheel. Default: this one.")
@patch_option
@patches_option
@click.option("--dry-run", is_flag=True, help="Do everything except the write.")
@format_option
def command(
    *,
    megatron: str | None,
    destination: Path | None,
    folder: Path | None,
    installed: bool,
    wheel_folder: Path | None,
    repository: Path | None,
    branch: str | None,
    python: str | None,
    names: tuple[str, ...],
    patches: Path | None,
    dry_run: bool,
    style: str,
) -> int:
    """Apply the series to a Megatron release.

    Without a place (--to, --in, --installed, --wheel, --branch) the current directory is patched if it holds
    megatron/core; otherwise a new folder is made of the release that --megatron names, from the package index or from
    the clone given with --git.
    """
    source_wheel = folder if folder is not None and folder.suffix == ".whl" else None
    places = {
        "--to": destination is not None,
        "--in": folder is not None and source_wheel is None,
        "--installed": installed or megatron == "installed",
        "--wheel": wheel_folder is not None,
        "--branch": branch is not None,
    }
    chosen = [name for name, given in places.items() if given]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} exclude each other")
    if branch is not None and repository is None:
        raise UsageError("--branch needs --git REPO")
    if repository is not None and chosen and chosen[0] not in ("--to", "--branch"):
        raise UsageError(f"--git and {chosen[0]} exclude each other")
    if source_wheel is not None and (repository is not None or chosen not in (["--to"], ["--wheel"])):
        raise UsageError(
            f"{source_wheel} is a wheel, which is never changed in place", hint="add --wheel DIR or --to DIR"
        )
    workspace = load_workspace(patches)
    reporter = StderrReporter(verbose=style == "text")
    if repository is not None:
        report = _from_git(
            workspace, repository, megatron, branch=branch, destination=destination, names=names, dry_run=dry_run
        )
        return finish(report, style)
    upstream = workspace.versions.upstream
    asked = asked_target(workspace, megatron)
    in_place = bool(chosen) and chosen[0] in ("--in", "--installed")
    if in_place or (not chosen and is_here(upstream)):
        tree = writable_tree(folder, upstream, installed=installed, megatron=megatron)
        report = apply_in(workspace, tree, asked=asked, patches=names, dry_run=dry_run, reporter=reporter)
        return finish(report, style)
    if asked is None and source_wheel is None:
        raise UsageError(
            f"which release? The current directory holds no {upstream.packages[0]}",
            hint="name a release with --megatron v0.19.2 (or latest), or a tree with --in DIR or --installed",
        )
    target = workspace.named(asked) if asked else None
    wheel = source_wheel
    if wheel is None:
        assert target is not None  # noqa: S101 - asked was tested above
        wheel = fetch_release(
            workspace.versions,
            target,
            python=python,
            exact_platform=wheel_folder is not None,
            reporter=reporter,
        )
    if wheel_folder is not None:
        report = make.apply_wheel(workspace, wheel, wheel_folder, asked=asked, patches=names, dry_run=dry_run)
    else:
        place = destination or Path(f"{upstream.short.replace('-', '_')}-{asked}-patched")
        report = make.apply_to(workspace, wheel, place, asked=asked, patches=names, dry_run=dry_run)
    return finish(report, style)


def _from_git(
    workspace: Workspace,
    repository: Path,
    megatron: str | None,
    *,
    branch: str | None,
    destination: Path | None,
    names: tuple[str, ...],
    dry_run: bool,
) -> Report:
    if megatron is None:
        raise UsageError("which revision?", hint="name it with --megatron, such as v0.19.0, main or a commit")
    revision, asked = find_revision(workspace, repository, megatron)
    if branch is not None:
        return make.apply_branch(workspace, repository, revision, branch, asked=asked, patches=names, dry_run=dry_run)
    place = destination or Path(f"{workspace.versions.upstream.package}-{megatron.replace('/', '-')}-patched")
    return make.apply_export(workspace, repository, revision, place, asked=asked, patches=names, dry_run=dry_run)
