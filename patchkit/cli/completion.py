"""What a shell offers behind an option: names of targets, patches and hunks. Click itself offers commands and options.

A shell that completes must not print an error: where the series cannot be read, nothing is offered.
"""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from patchkit.core.upstream import targets
from patchkit.errors import PatchkitError
from patchkit.store.location import edited_patches, versions_file
from patchkit.store.series import Series, load_series
from patchkit.store.versions import load_versions


def complete_target(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer every target that upstream_versions.yaml knows."""
    return _beginning(_titles(context), incomplete)


def complete_range(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the targets at either end of a range ``A..B``."""
    begin, dots, end = incomplete.rpartition("..")
    return _beginning((f"{begin}{dots}{title}" for title in _titles(context)), f"{begin}{dots}{end}")


def complete_patch(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the patches of the series."""
    series = _series(context)
    return _beginning((patch.name for patch in series.patches), incomplete) if series is not None else []


def complete_hunk(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the patches of the series, and behind ``PATCH/`` its hunks."""
    series = _series(context)
    if series is None:
        return []
    patch_name, slash, _ = incomplete.partition("/")
    if not slash:
        return _beginning((patch.name for patch in series.patches), incomplete)
    hunks = [hunk.id for patch in series.patches if patch.name == patch_name for hunk in patch.document.hunks]
    return _beginning((f"{patch_name}/{hunk}" for hunk in hunks), incomplete)


def _titles(context: click.Context) -> list[str]:
    try:
        versions = load_versions(versions_file(context.params.get("patches") or edited_patches()))
    except PatchkitError:
        return []
    return [target.title for target in targets(versions.upstream)]


def _series(context: click.Context) -> Series | None:
    try:
        return load_series(context.params.get("patches") or edited_patches())
    except PatchkitError:
        return None


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    # A shell prints them as they are, and a line break would make two of one.
    return [CompletionItem(name) for name in names if name.startswith(incomplete) and name.isprintable()]
