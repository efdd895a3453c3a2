"""Trees of an upstream, known by its packages: a checkout, an unpacked wheel, site-packages, a wheel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.core.printing import shell_word
from patchkit.core.upstream import Upstream
from patchkit.trees.beneath import Beneath, WritableBeneath
from patchkit.trees.directory import open_directory
from patchkit.trees.interface import Edits, SourceTree, WritableTree

if TYPE_CHECKING:
    from patchkit.trees.archive import WheelTree


def open_folder(path: Path, upstream: Upstream) -> WritableTree:
    """Return the tree in the folder ``path``: laid out as the repository is, or as its wheel. Raises NotATreeError."""
    if upstream.source and not _has(path, upstream.packages) and _has(path, upstream.shipped):
        return WritableBeneath(open_directory(path, upstream.distribution, upstream.shipped), upstream.source)
    # Metadata beside the packages says that they were installed; a repository has its packages elsewhere then.
    return open_directory(path, "" if upstream.source else upstream.distribution, upstream.packages)


def open_installed(upstream: Upstream) -> WritableTree:
    """Return what is installed in this Python. Raises NotATreeError."""
    from patchkit.trees.installed import find_installed  # noqa: PLC0415 - importlib.metadata takes 50 ms

    return find_installed(upstream)


def open_importable(upstream: Upstream) -> WritableTree:
    """Return the first tree on ``sys.path``, which an import takes, or else what is installed. Raises NotATreeError."""
    from patchkit.trees.installed import find_installed, imported_from  # noqa: PLC0415 - see above

    imported = imported_from(upstream)
    return find_installed(upstream) if imported is None else open_folder(imported, upstream)


def holds(path: Path, upstream: Upstream) -> bool:
    """Tell whether a folder is the top of a tree of ``upstream``."""
    return _has(path, upstream.packages) or _has(path, upstream.shipped)


def seen(wheel: WheelTree, upstream: Upstream) -> SourceTree:
    """Return a wheel by the paths of the repository."""
    return Beneath(wheel, upstream.source) if upstream.source else wheel


def tree_option(tree: SourceTree) -> str:
    """Return the option that names a folder or wheel in a command for a shell, a space before it.

    Empty for the current folder, and for what no option names.
    """
    if isinstance(tree, Beneath):
        return tree_option(tree.outer)
    place = getattr(tree, "root", None) or getattr(tree, "path", None)
    return f" --in {shell_word(str(place))}" if isinstance(place, Path) and place != Path() else ""


def of_wheel(tree: SourceTree, edits: Edits) -> Edits:
    """Return edits of what ``seen`` gave by the paths of the wheel. Raises TreeError for a file that it cannot have."""
    return tree.inner_edits(edits) if isinstance(tree, Beneath) else edits


def _has(path: Path, packages: tuple[str, ...]) -> bool:
    return all((path / package).is_dir() for package in packages)
