"""What to do about a write that was cut short."""

from __future__ import annotations

from patchkit.core.report import Problem
from patchkit.errors import InterruptedWriteError
from patchkit.progress import Reporter
from patchkit.trees.interface import Interrupted, WritableTree


def undo_interrupted(tree: WritableTree, *, dry_run: bool, reporter: Reporter) -> tuple[str, ...]:
    """Put back what an interrupted write left half done, and say so; a dry run only says that it would have to.

    A write that was cut short before it changed anything leaves files of its own; they go away without a word.

    Raises InterruptedWriteError when a file was changed by somebody else since, and in a dry run.
    """
    found = tree.interrupted()
    if found is None:
        if not dry_run:
            tree.undo_interrupted()
        return ()
    if dry_run:
        raise InterruptedWriteError(f"{tree.label}: {describe(found)}", hint="run the command without --dry-run")
    tree.undo_interrupted()
    message = f"an interrupted {found.operation} was undone: {len(found.written)} files were put back"
    reporter.note(message)
    return (message,)


def interrupted_problem(tree: WritableTree) -> Problem | None:
    """Return a problem for commands that only read, or None."""
    found = tree.interrupted()
    if found is None:
        return None
    first = (*found.damaged, *found.written, *found.pending)
    return Problem(
        describe(found),
        path=first[0] if first else None,
        hint="run `patchkit apply` or `patchkit revert`: it undoes the interrupted write first",
    )


def describe(found: Interrupted) -> str:
    """Say in one line what an interrupted write left behind."""
    text = (
        f"an earlier {found.operation} was interrupted: {len(found.written)} files have their new content, "
        f"{len(found.pending)} their old one"
    )
    return text + (f", {len(found.damaged)} were changed since" if found.damaged else "")
