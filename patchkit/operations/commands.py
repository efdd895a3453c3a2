"""Commands that hints offer, with the options by which tree, series and clone were named: they can be pasted."""

from __future__ import annotations

from pathlib import Path

from patchkit.core.printing import shell_word
from patchkit.core.upstream import Target
from patchkit.store.location import series_option
from patchkit.trees.interface import SourceTree, WritableTree
from patchkit.trees.layout import tree_option


def on_tree(verb: str, tree: SourceTree, series: Path) -> str:
    """Return the command ``verb`` on the same tree with the same series; of a wheel, `apply` makes another one."""
    made = "" if isinstance(tree, WritableTree) or verb != "apply" else " --wheel DIR"
    return f"patchkit {verb}{tree_option(tree)}{made}{series_option(series)}"


def carry_to(target: Target, series: Path, repository: Path | None = None) -> str:
    """Return the command that carries a series to ``target``; what is no release is read from a clone."""
    clone = "REPO" if repository is None else shell_word(str(repository))
    git = "" if target.release is not None and repository is None else f" --git {clone}"
    return f"patchkit rebase --onto {shell_word(target.title)}{git}{series_option(series)}"


def regenerate(series: Path) -> str:
    """Return the command that makes the lock of a series anew."""
    return f"patchkit regenerate{series_option(series)}"
