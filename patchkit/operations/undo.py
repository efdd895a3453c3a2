"""What to do about a write that was cut short."""

from __future__ import annotations

from pathlib import Path

from patchkit.core.report import Problem
from patchkit.errors import InterruptedWriteError
from patchkit.operations.commands import on_tree
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
    message = undone(found)
    reporter.note(message)
    return (message,)


def interrupted_problem(tree: WritableTree, series: Path) -> Problem | None:
    """Return a problem for commands that only read, or None; ``series`` is the folder of theirs."""
    found = tree.interrupted()
    if found is None:
        return None
    first = (*found.damaged, *found.written, *found.pending)
    return Problem(
        describe(found),
        path=first[0] if first else None,
        hint=f"run `{on_tree('apply', tree, series)}`, or `revert`: it undoes the interrupted write first",
    )


def undone(found: Interrupted) -> str:
    """Say in one line what became of the files of an interrupted write that was undone."""
    removed = len(found.made)
    back = len(found.written) - removed
    told = [f"{_files(back)} {_were(back)} put back"] if back or not removed else []
    told += [f"{_files(removed)} that it had made {_were(removed)} removed"] if removed else []
    return f"an interrupted {found.operation} was undone: {', '.join(told)}"


def describe(found: Interrupted) -> str:
    """Say in one line what an interrupted write left behind."""
    written, damaged = len(found.written), len(found.damaged)
    has = "has its" if written == 1 else "have their"
    text = f"an earlier {found.operation} was interrupted: {_files(written)} {has} new content, {len(found.pending)} "
    text += "its old one" if len(found.pending) == 1 else "their old one"
    return text + (f", {damaged} {_were(damaged)} changed since" if damaged else "")


def _files(count: int) -> str:
    return f"{count} file" if count == 1 else f"{count} files"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
