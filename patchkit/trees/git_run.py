"""The git program run: its words, its end, and how long it may take."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from patchkit.errors import TreeError
from patchkit.trees.git_settings import OWN_SETTINGS

_ENGLISH = {"LANGUAGE": "C", "LC_ALL": "C"}
PLACES = (
    *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_QUARANTINE_PATH"),
)
"""Variables that say where a repository is, or a part of it: inside a hook, those of the hook's own one."""


def run_git(
    command: Sequence[str],
    folder: Path,
    *,
    stdin: bytes = b"",
    environment: Mapping[str, str | None] | None = None,
    seconds: float | None = None,
) -> tuple[int, bytes, str]:
    """Return exit status, output and complaints of a git command in ``folder``. Raises TreeError without git.

    ``environment`` goes over that of this process; None takes a variable out of it.
    """
    with begun(command, folder, environment or {}, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            out, complaints = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise TimeoutError(f"git {command[0]} took longer than {seconds:g} seconds") from error
        except BaseException:
            process.kill()
            raise
    # A message is one line, and several of git's are parts of it; of a damaged pack it says the same many times.
    said = (line.strip() for line in complaints.decode("utf-8", "replace").split("\n"))
    return process.returncode, out, "; ".join(dict.fromkeys(filter(None, said)))


def begun(
    command: Sequence[str], folder: Path, environment: Mapping[str, str | None], *, stdin: int, stderr: int
) -> subprocess.Popen[bytes]:
    """Begin a git command in ``folder``. Raises TreeError without git."""
    variables = {**os.environ, **_ENGLISH, **environment}
    settings = [part for setting in OWN_SETTINGS for part in ("-c", setting)]
    try:
        return subprocess.Popen(
            ["git", *settings, *command],  # noqa: S607 - the user's git, wherever it is
            cwd=folder,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={name: value for name, value in variables.items() if value is not None},
        )
    except OSError as error:
        raise no_git() from error


def no_git() -> TreeError:
    """Return what to say where the git program cannot be run."""
    return TreeError(
        "reading a git repository needs the git program, and it cannot be run",
        hint="install git, or use a release from the package index instead",
    )


def ended(status: int) -> str:
    """Say how a git without words came to its end."""
    return f"it was ended by {_signal(-status)}" if status < 0 else f"exit status {status}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
