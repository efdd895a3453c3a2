"""What stands in front of a command's own words: sudo, env, timeout and the like."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from patchkit.core.pins.model import Command, Word

_WRAPPERS: Mapping[str, tuple[frozenset[str], int]] = {
    "sudo": (frozenset({"-u", "--user", "-g", "--group", "-h", "-p", "-C", "-D"}), 0),
    "env": (frozenset({"-u", "--unset", "-C", "--chdir"}), 0),
    "nice": (frozenset({"-n"}), 0),
    "timeout": (frozenset({"-s", "--signal", "-k", "--kill-after"}), 1),
    "gosu": (frozenset(), 1),
    "nohup": (frozenset(), 0),
    "time": (frozenset(), 0),
    "exec": (frozenset({"-a"}), 0),
    "command": (frozenset(), 0),
    "xargs": (frozenset({"-n", "-I", "-P", "-L", "-d", "-a"}), 0),
}
"""Commands that run what follows: their options with a value, and how many words of their own stand before it."""


def unwrapped(command: Command) -> Sequence[Word]:
    """Return the words without sudo, env and the like in front."""
    words = list(command.words)
    while len(words) > 1:
        wrapper = _WRAPPERS.get(posixpath.basename(words[0].text))
        if wrapper is None and "=" not in words[0].text:
            break
        words.pop(0)
        with_value, own = wrapper or (frozenset(), 0)
        while len(words) > 1 and words[0].text.startswith("-"):
            del words[: 2 if words[0].text in with_value and len(words) > 2 else 1]
        del words[: min(own, len(words) - 1)]
    return words
