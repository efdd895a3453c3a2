"""pip as a fork of the process that asks for it, which has pip imported: a Python of its own takes ten times as long.

What happens to files is the same: pip's calls are made by a process of its own, in the group that a kill takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pip._internal.cli.main import main as pip
from pip._internal.commands import configuration

PIP = [sys.executable, "-m", "pip"]
IMPORTED = (configuration,)
"""What pip imports when it is asked for."""

_popen = subprocess.Popen


def use() -> None:
    """From now on ``subprocess.Popen`` forks where it is asked for pip."""
    subprocess.Popen = _forking  # type: ignore[assignment, misc]  # the options that are asked for


class _Done:
    """A process that has ended."""

    def __init__(self, returncode: int, out: str, error: str | None) -> None:
        self.returncode = returncode
        self._said = out, error

    def __enter__(self) -> _Done:
        return self

    def __exit__(self, *_why: object) -> None:
        pass

    def communicate(self) -> tuple[str, str | None]:
        return self._said


def _forking(command: Sequence[str], **options: Any) -> subprocess.Popen[Any] | _Done:
    if list(command[:3]) != PIP:
        return _popen(command, **options)
    sys.audit("subprocess.Popen", command[0], command, None, options["env"])
    apart = options.get("stderr") != subprocess.STDOUT
    with os.fdopen(os.memfd_create("out"), "rb") as out, os.fdopen(os.memfd_create("error"), "rb") as error:
        child = os.fork()
        if child == 0:
            _be_pip(command[3:], options["env"], out.fileno(), (error if apart else out).fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        error.seek(0)
        said = out.read().decode(errors="replace"), error.read().decode(errors="replace") if apart else None
    return _Done(code, *said)


def _be_pip(words: Sequence[str], environment: Mapping[str, str], out: int, error: int) -> None:
    code: object = 99
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(error, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8")
        os.environ.clear()
        os.environ.update(environment)
        code = pip(list(words))
    except SystemExit as left:
        code = left.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 99)
