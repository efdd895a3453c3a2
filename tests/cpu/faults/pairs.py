"""Two commands at once: one is held at one of its calls, another is run to its end, and the first goes on.

The law: it comes to what one after the other would have come to, or, where both ask for the same, to that; or one of
them ends with 4, having changed nothing, and it comes to what the other does alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from .scenarios import BY, CONTINUE, REBASE, SCENARIOS, SERIES
from .shim import Action, Calls
from .worker import Sample, Stage
from .world import State
from .worlds import filled

TREE = ("--in", "{root}/tree")
GIT = ("--git", "{root}/repository")
REFUSED = 4

PAIRS: dict[str, tuple[str, tuple[str, ...]]] = {
    "apply, apply": ("apply to a folder", SCENARIOS["apply to a folder"].command),
    "apply, revert": ("apply to a folder", ("revert", *SERIES, *TREE)),
    "revert, apply": ("revert", ("apply", *SERIES, *TREE)),
    "rebase, rebase": ("rebase", REBASE),
    "rebase, rebase --continue": ("rebase", CONTINUE),
    "rebase --continue, rebase --continue": ("rebase --continue", CONTINUE),
    "rebase --continue, regenerate": ("rebase --continue", ("regenerate", *SERIES)),
    "rebase --skip, rebase --skip": ("rebase --skip", ("rebase", *SERIES, "--skip", *BY)),
    "capture, regenerate": ("capture", ("regenerate", *SERIES, *GIT)),
    "capture --new, capture --new": ("capture --new", (*SCENARIOS["capture --new"].command[:-1], "other")),
    "import, import": ("import into a series", SCENARIOS["import into a series"].command),
    "check-upstream, check-upstream": ("check-upstream", SCENARIOS["check-upstream"].command),
    "check-upstream --update, check-upstream --update": (
        "check-upstream --update",
        SCENARIOS["check-upstream --update"].command,
    ),
    "pins bump, pins bump": ("pins bump", SCENARIOS["pins bump"].command),
    "apply from an index, apply from an index": (
        "apply from an index",
        (*SCENARIOS["apply from an index"].command[:-1], "{root}/other"),
    ),
}
"""The path of the command that is held, and the other command."""


@dataclass(frozen=True)
class Outcome:
    """What two commands came to."""

    held: int | None
    """Exit code of the first."""
    other: int | None
    state: State


@dataclass
class Meeting:
    """One place at which the first was held, and what came of it."""

    at: int
    call: str
    codes: tuple[int | None, int | None]
    wrong: list[str]


def meetings(stage: Stage, command: tuple[str, ...], sample: Sample) -> Iterator[Meeting]:
    """Hold the command of a path at each call of a sample by which it changes files, while another is run."""
    other = filled(stage.root, command)
    allowed = list(_allowed(stage, other))
    for at in sample.places(stage.number_of(Calls.CHANGES)):
        stage.world.lay()
        stage.control.arm(stage.root, Action.HOLD, at)
        found, said = _both(stage, other)
        stage.control.disarm()
        if stage.control.count < at:
            return
        wrong = [] if found in allowed else [f"{found.held}, {found.other}: no such outcome: {said}"]
        yield Meeting(at, stage.control.last, (found.held, found.other), wrong)


def _allowed(stage: Stage, other: list[str]) -> Iterator[Outcome]:
    """Yield what may come of it."""
    for first, second in ((stage.command, other), (other, stage.command)):
        stage.world.lay()
        code = stage.child(first)
        alone = stage.look()
        then = stage.child(second)
        both = stage.look()
        for turned in (False, True) if first == second else (first is other,):
            yield Outcome(then if turned else code, code if turned else then, both)
            yield Outcome(REFUSED if turned else code, code if turned else REFUSED, alone)
        if first == second:
            yield Outcome(code, code, alone)  # both asked for the same, and have it
            return


def _both(stage: Stage, other: list[str]) -> tuple[Outcome, str]:
    second_said = stage.said_file.with_name("other")
    first = stage.begin(stage.command)
    while not stage.control.held and not _ended(first):
        time.sleep(0.001)
    if not stage.control.held:
        stage.control.disarm()  # else it would be the other that is held
    second = stage.begin(other, second_said)
    # One that waits for the other is none that is turned away.
    while not _ended(second) and "waiting for another" not in second_said.read_text(errors="replace"):
        time.sleep(0.001)
    stage.control.release()
    codes = stage.ended(first), stage.ended(second)
    said = f"{stage.said[-300:]} | {second_said.read_text(errors='replace')[-300:]}"
    return Outcome(*codes, stage.look()), said


def _ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
