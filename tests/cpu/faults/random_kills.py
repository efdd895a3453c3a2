"""Kill the command of a scenario at random moments.

A kill at a call is at a moment that somebody has thought of; these are at any. Of a row of up to three commands each is
killed, the second and third while they put right what the one before them left; then one is let run.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass

from .scenarios import perform
from .worker import Stage

LONGEST_ROW = 3


@dataclass
class Kill:
    """One row of kills and what came of it."""

    number: int
    killed: int
    """How many of the row did not end first."""
    wrong: list[str]


def kill_at_random(stage: Stage, seed: int, number: int, seconds: float) -> Kill:
    """Kill a row of commands, each at a moment of the first ``seconds``, and look."""
    chance = random.Random(f"{seed} {number}")  # noqa: S311 - to be made again
    stage.world.lay()
    kill = Kill(number, 0, [])
    for _command in range(chance.randint(1, LONGEST_ROW)):
        kill.killed += _killed(stage, chance.random() * seconds)
        kill.wrong += stage.neither(stage.look(), (stage.new,))
    kill.wrong += stage.next_command((stage.new,))
    return kill


def _killed(stage: Stage, after: float) -> bool:
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        with stage.said_file.open("wb") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        code = 99
        try:
            code = perform(stage.command)
        finally:
            os._exit(code)
    os.setpgid(child, child)
    time.sleep(after)
    os.killpg(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def kills(stage: Stage, seed: int, count: int) -> Iterator[Kill]:
    """Kill so many rows of commands."""
    begun = time.perf_counter()
    stage.child(stage.command)
    seconds = time.perf_counter() - begun
    for number in range(count):
        yield kill_at_random(stage, seed, number, seconds)
