"""The ``patchkit`` command: dispatch, and the last resort for exceptions."""

from __future__ import annotations

import errno
import importlib
import os

import click

from patchkit import __version__
from patchkit.cli.exit_codes import ExitCode, exit_code
from patchkit.cli.output import echo, print_error, print_json_error, print_usage_error
from patchkit.errors import PatchkitError, WriteFailedError

_COMMANDS = (
    "apply",
    "capture",
    "check-upstream",
    "doctor",
    "evidence",
    "explain",
    "history",
    "import",
    "init",
    "lint",
    "pins",
    "rebase",
    "regenerate",
    "revert",
    "run",
    "status",
    "tms",
    "upstream",
    "verify",
)


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Why what stdout leads to takes no more."""


_MACHINE = (
    *_FULL,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ESTALE,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENAMETOOLONG,
)
"""What the machine says when a file cannot be reached that is there: no bug, wherever it is said."""


_GROUPS = ("pins", "tms")


class _LazyGroup(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Import and return a command; None for an unknown name."""
        if cmd_name not in _COMMANDS:
            return None
        # A module called import could not be named in an import statement.
        name = cmd_name.replace("-", "_")
        module = importlib.import_module(f"patchkit.cli.commands.{name}{'_' if name == 'import' else ''}")
        command: click.Command = module.command
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="patchkit", message="%(prog)s %(version)s")
def patchkit() -> None:
    """Carry, apply and prove patches against NVIDIA Megatron-LM.

    Exit codes: 0 done, or done already; 1 the answer is no; 2 usage; 3 our files are malformed; 4 upstream or the
    target cannot be read or written, or torch_memory_saver cannot be asked; 5 new and fine (check-upstream
    --detailed-exit-code); 130 interrupted; 255 a bug.
    """


def run(arguments: list[str], what: click.Command = patchkit, called: str = "patchkit") -> int:  # noqa: PLR0911 - a table
    """Run a command line of the command ``what``, ``called`` so, and return its exit code."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    # Of a group, the command in it: `pins check`.
    command = " ".join(words[: 2 if words and words[0] in _GROUPS else 1])
    as_json = _wants_json(arguments)
    try:
        result = what.main(arguments, prog_name=called, standalone_mode=False)
    except PatchkitError as error:
        print_error(error, command, as_json=as_json)
        return int(exit_code(error))
    except click.Abort:
        return int(ExitCode.INTERRUPTED)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        print_usage_error(error)
        if as_json:
            print_json_error(error.format_message(), None, command)
        return int(ExitCode.USAGE)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except OSError as error:
        if error.errno not in _MACHINE and not _without_room(error):
            return _bug()
        print_error(_refused(error), command, as_json=as_json and error.filename is not None)
        return int(ExitCode.TREE)
    except Exception:
        return _bug()
    return result if isinstance(result, int) else int(ExitCode.DONE)


def _without_room(error: OSError) -> bool:
    """Tell whether tempfile found no folder to write to; other errors of this number name what is not there."""
    return error.errno == errno.ENOENT and error.filename is None


def _refused(error: OSError) -> WriteFailedError:
    """Say what the machine refused: what reads and writes names its file; what is left is the answer on its way out."""
    if error.filename is not None:
        return WriteFailedError(f"cannot read or write {os.fsdecode(error.filename)}: {error.strerror}")
    if _without_room(error):
        return WriteFailedError(f"cannot make a temporary folder: {error.strerror}", hint="TMPDIR names another one")
    what = "print the answer" if error.errno in _FULL else "read a file"
    return WriteFailedError(f"cannot {what}: {error.strerror}")


def _bug() -> int:
    import traceback  # noqa: PLC0415 - for a bug alone

    # It may tell what was read: a subject of upstream, a line of a patch.
    echo(f"{traceback.format_exc()}this is a bug in patchkit; please report it with the lines above", err=True)
    return int(ExitCode.BUG)


def _wants_json(arguments: list[str]) -> bool:
    pairs = zip(arguments, [*arguments[1:], ""], strict=False)
    return any(one == "--format=json" or (one == "--format" and two == "json") for one, two in pairs)
