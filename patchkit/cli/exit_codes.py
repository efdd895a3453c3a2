"""The exit codes, and the one function that chooses among them for an exception."""

from __future__ import annotations

from enum import IntEnum

from patchkit.errors import PatchkitError, SourceError, TmsError, TreeError, UsageError


class ExitCode(IntEnum):
    """What the shell gets. README.md documents them."""

    DONE = 0
    """Done, or done already."""
    NO = 1
    """patchkit worked, and the answer is no."""
    USAGE = 2
    """The request makes no sense."""
    OUR_FILES = 3
    """A file of the series, or upstream_versions.yaml, is malformed."""
    TREE = 4
    """Upstream cannot be read, or the target cannot be read or written; torch_memory_saver is not there or damaged."""
    NEW = 5
    """check-upstream --detailed-exit-code: upstream is new, and all is fine."""
    INTERRUPTED = 130
    BUG = 255


def exit_code(error: PatchkitError) -> ExitCode:
    """Return the exit code for an exception that ended a command."""
    match error:
        case UsageError():
            return ExitCode.USAGE
        case SourceError():
            return ExitCode.OUR_FILES
        case TreeError() | TmsError():
            return ExitCode.TREE
        case _:
            return ExitCode.BUG
