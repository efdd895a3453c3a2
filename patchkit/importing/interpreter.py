"""The command line of a Python that runs something else in this one's place."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from patchkit.errors import UsageError

_MODULE = "patchkit.live"


def interpreter_options(words: Sequence[str], arguments: int) -> list[str]:
    """Return the options of the interpreter in a whole command line, ``sys.orig_argv``.

    ``arguments`` is how many words at its end were for the module. Behind the options stands ``-m patchkit.live`` or
    ``-mpatchkit.live``, and the ``m`` may be the last of several letters, as in ``-um``.
    """
    head = list(words[1 : len(words) - arguments])
    if head and head[-1] == _MODULE:
        head.pop()
    elif head and head[-1].endswith(f"m{_MODULE}"):
        head[-1] = head[-1].removesuffix(_MODULE)
    if head and head[-1].startswith("-") and head[-1].endswith("m"):
        head[-1] = head[-1][:-1]
        if head[-1] == "-":
            head.pop()
    return head


def refuse_deaf_interpreter() -> None:
    """Raise UsageError when this Python's options keep the environment from its children's imports."""
    deaf = [
        option
        for option, given in (
            ("-I", sys.flags.isolated),
            ("-E", sys.flags.ignore_environment),
            ("-S", sys.flags.no_site),
        )
        if given
    ]
    if deaf:
        raise UsageError(
            f"Python does not look at PYTHONPATH, or imports no sitecustomize, with {deaf[0]}",
            hint="make `import patchkit.live` the first line of the script instead",
        )
