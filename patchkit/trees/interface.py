"""What patchkit needs of a tree of source files, wherever it lives.

Paths are strings relative to the root of the tree, with forward slashes, such as
``megatron/core/distributed/param_and_grad_buffer.py``. An implementation refuses a path that is absolute, contains
``..`` or leads out of the root through a link (:class:`patchkit.errors.UnsafePathError`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

Edits = Mapping[str, "bytes | None"]
"""New content by path; ``None`` removes the file. A path that does not exist yet is created."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """An earlier write to this tree that was cut short."""

    operation: str
    """What was being done, such as ``apply``."""
    written: tuple[str, ...]
    """Paths that already hold their new content."""
    pending: tuple[str, ...]
    """Paths that still hold their old content."""
    damaged: tuple[str, ...]
    """Paths that hold neither: somebody changed them since."""
    made: tuple[str, ...] = ()
    """Those of ``written`` that were not there before: an undo removes them."""


class SourceTree(Protocol):
    """Read side."""

    @property
    def label(self) -> str:
        """What to call this tree in messages, such as a folder or ``megatron_core-0.19.2.whl``."""

    @property
    def manifest_path(self) -> str:
        """Path, inside the tree, of patchkit's record of what it applied."""

    def read(self, path: str) -> bytes | None:
        """Return the bytes of ``path``, or None when the tree has no such file."""

    def paths(self, under: str = "") -> Iterator[str]:
        """Yield the paths of regular files below the folder ``under``, sorted."""


@runtime_checkable
class _Restorable(Protocol):
    """A tree that knows where the old text of its files is."""

    def how_to_restore(self, path: str) -> str: ...


def restoring(tree: SourceTree, path: str) -> str:
    """Return, for a hint, how a file of ``tree`` gets back the text that it had before somebody changed it."""
    return (
        tree.how_to_restore(path) if isinstance(tree, _Restorable) else "use a tree in which it has the release's text"
    )


@runtime_checkable
class WritableTree(SourceTree, Protocol):
    """Adds one write that is all or nothing."""

    def write(self, edits: Edits, *, operation: str) -> None:
        """Write all of ``edits`` or none of them.

        Raises TreeBusyError, WriteFailedError, InterruptedWriteError, UnsafePathError. A process killed during the call
        leaves every file old or new; ``interrupted`` of a tree opened later tells.
        """

    def interrupted(self) -> Interrupted | None:
        """Return what an earlier, cut-short write left behind, or None.

        Raises TreeBusyError while another process writes.
        """

    def undo_interrupted(self) -> Interrupted | None:
        """Put back the old content of an interrupted write and return what it was, or None when there is none.

        Raises InterruptedWriteError when a file is neither old nor new; nothing is changed then. Raises TreeBusyError
        while another process writes, and WriteFailedError when the old content cannot be put back.
        """
