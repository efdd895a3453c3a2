"""Who wrote a line of a log: a rank, or an actor of Ray; and where its messages begin."""

from __future__ import annotations

import re
from collections.abc import Iterator

_RAY = re.compile(r"\((?:(?P<actor>[^()\s]+(?:\([^()]*\))?) )?(?:pid=(?P<pid>\d+))(?:, ip=(?P<ip>[\d.a-fA-F:]+))?\)")
_RANK = re.compile(
    r"\[(?:rank|default)?(?P<rank>\d+)\]:|\[\d+,(?P<mpi>\d+)\]<std|\brank\"?[ =:]{0,2}(?P<other>\d+)\b", re.IGNORECASE
)
# Colours, the movements and the modes of a terminal (ECMA-48), and titles of windows.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_MESSAGE = re.compile(
    r"\[torch_memory_saver\.cpp\] (?:(?!\[torch_memory_saver\.cpp\]).)*?line=\d+|\[torch_memory_saver\.cpp\]"
)
_REPEATED = re.compile(r"\[repeated (\d+)x across cluster\]")


def without_terminal(text: str) -> str:
    """Return ``text`` without what only a terminal obeys."""
    return _TERMINAL.sub("", text)


def messages(line: str) -> Iterator[tuple[str, str]]:
    """Yield each message of a line with what stands before it: ranks that write at once share lines.

    A line without the mark of torch_memory_saver is one message with nothing before it.
    """
    marks = list(_MESSAGE.finditer(line))
    if not marks:
        yield "", line
    for at, mark in enumerate(marks):
        before = line[marks[at - 1].end() if at else 0 : mark.start()]
        yield before, line[mark.start() : mark.end() if at + 1 < len(marks) else len(line)]


def rank_of(message: str, before: str = "") -> str:
    """Return who wrote a message: ``rank 3``, ``ACTOR pid=12 ip=10.0.0.1``, or an empty name.

    The name nearest before it counts, else the first in it.
    """
    for name, pattern in ((_actor, _RAY), (_rank, _RANK)):
        found = list(pattern.finditer(before))[-1:] or list(pattern.finditer(message))[:1]
        if found:
            return name(found[0])
    return ""


def _actor(found: re.Match[str]) -> str:
    parts = (found["actor"], f"pid={found['pid']}", f"ip={found['ip']}" if found["ip"] else None)
    return " ".join(part for part in parts if part)


def _rank(found: re.Match[str]) -> str:
    return f"rank {found['rank'] or found['mpi'] or found['other']}"


def times_of(message: str) -> int:
    """Return how often it was written: Ray shows a line of several actors once, with how many more there were."""
    repeated = _REPEATED.search(message)
    return 1 + (int(repeated[1]) if repeated else 0)
