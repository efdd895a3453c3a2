"""Try faults in one scenario, in a process that has the shim.

A process for each fault is forked from this one, which has everything imported already. What the next command makes of
a world depends on what is in it alone: it is run once for each world that faults leave.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timezone
from itertools import count
from pathlib import Path

from .scenarios import Scenario, perform
from .shim import Action, Calls, Control
from .world import State, World, digest
from .worlds import filled
from .writers import Watch

LONGEST = 600
"""Seconds that a command may take, on a machine that has other things to do; then it hangs."""
YEARS = 10 * 365 * 24 * 3600

ERRORS = {name: getattr(errno, name) for name in ("ENOSPC", "EACCES", "EIO", "EROFS")}
FAULTS: dict[str, dict[str, object]] = {
    "kill": {"action": Action.KILL_ALL},
    "kill one": {"action": Action.KILL_ONE},
    **{name: {"action": Action.FAIL, "error": code} for name, code in ERRORS.items()},
    **{f"{name} from then on": {"action": Action.FAIL, "error": code, "sticky": True} for name, code in ERRORS.items()},
    **{
        f"{name} on reads": {"action": Action.FAIL, "error": ERRORS[name], "calls": Calls.READS_TOO}
        for name in ("EIO", "EACCES")
    },
    "EXDEV": {"action": Action.FAIL, "error": errno.EXDEV, "calls": Calls.RENAMES},
    "clock forward": {"action": Action.FAIL, "clock_jump": YEARS, "calls": Calls.CLOCKS},
    "clock back": {"action": Action.FAIL, "clock_jump": -YEARS, "calls": Calls.CLOCKS},
}


@dataclass(frozen=True)
class Sample:
    """Which of the calls of a command have a fault."""

    every: int = 1
    """Each so many, as long as there are calls."""
    few: int | None = None
    """Or no more than so many, evenly spread."""
    seed: int = 0
    """Where the few begin."""

    def places(self, calls: int) -> Iterable[int]:
        """Return the numbers, from 1, of the calls that have it, where the command alone makes so many."""
        if self.few is None:
            return count(1, self.every)
        step = max(1, -(-calls // self.few))
        return range(1 + self.seed % min(step, calls), calls + 1, step)


@dataclass
class Trial:
    """One fault and what came of it."""

    fault: str
    at: int
    call: str
    code: int | None
    """Exit code; None when it was killed."""
    wrong: list[str]
    seen: bool
    """Whether another fault had left the same world, so that the next command was not run again."""


class Stage:
    """A scenario's world, laid anew for each fault."""

    several: bool
    """Whether the command starts processes that change files as well."""
    calls: list[str]
    """Names of the calls by which it changes files."""

    def __init__(self, scenario: Scenario, control: Control, folder: Path, watch: Watch) -> None:
        self.scenario = scenario
        self.control = control
        self.root = folder / "world"
        self.said_file = folder / "said"
        self._after: dict[bytes, list[str]] = {}
        self._late: dict[int, State] = {}
        self.root.mkdir()
        with self._quiet():
            scenario.build(self.root)
        self.command = filled(self.root, scenario.command)
        os.environ |= {"PATCHKIT_CACHE": str(self.root / "cache"), "GIT_COMMITTER_DATE": "2026-01-02T03:04:05+00:00"}
        os.environ |= {name: filled(self.root, (value,))[0] for name, value in scenario.environment.items()}
        os.chdir(self.root / scenario.folder)
        self.world = World(self.root)
        self.old = self.look()
        # In this process first, so that all is imported; what it leaves in the world goes away.
        with self._quiet(), watch:
            perform(self.command)
        gc.collect()
        gc.freeze()
        self._counts: dict[Calls, int] = {}
        self._day = _today()
        self.new = self._first()
        if self.new == self.old:
            raise AssertionError("the command wrote nothing")

    def _first(self) -> State:
        """Run the command as it is, and see what it does."""
        self.control.arm(self.root, Action.FAIL, 0)
        now = self._changed()
        self.several, self.calls = self.control.several, self.control.names
        self._counts[Calls.CHANGES] = self.control.count
        return now

    def number_of(self, calls: Calls) -> int:
        """Tell how many calls of a kind the command makes."""
        if calls not in self._counts:
            self.world.lay()
            self.control.arm(self.root, Action.FAIL, 0, calls=calls)
            self.child(self.command)
            self.control.disarm()
            self._counts[calls] = self.control.count
        return self._counts[calls]

    def done(self, fault: Mapping[str, object]) -> tuple[State, ...]:
        """Return what the command may make of the world: a date that it writes is that of a clock, right or not."""
        jump = fault.get("clock_jump")
        if not isinstance(jump, int):
            return (self.new,)
        if jump not in self._late:
            self._late[jump] = self._changed(jump)
        return self.new, self._late[jump]

    def _changed(self, clock_jump: int = 0) -> State:
        """Return what the command makes of the world as it was laid, to which it is then put back."""
        self.world.lay()
        if clock_jump:
            self.control.arm(self.root, Action.FAIL, 1, clock_jump=clock_jump, calls=Calls.CLOCKS)
        code = self.child(self.command)
        self.control.disarm()
        assert code == self.scenario.code, self.said
        now = self.look()
        self.world.lay()
        return now

    @property
    def said(self) -> str:
        return self.said_file.read_text(errors="replace")

    def look(self) -> dict[str, tuple[int, bytes] | str]:
        """What is in the world, without what this scenario is not about."""
        return {path: value for path, value in self.world.look().items() if not self._aside(path)}

    def _aside(self, path: str) -> bool:
        return (
            (path.startswith("cache") and not self.scenario.cache)
            or "/.git/logs" in path
            or (".git/" in f"{path}/" and self.scenario.git and "/refs/heads" not in path)
        )

    def rubbish(self) -> list[str]:
        """What the cache holds that no name of its own leads to."""
        return sorted(path for path in self.world.look() if path.startswith("cache/") and ".patchkit-" in path)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """What is said goes to a file."""
        kept = os.dup(1), os.dup(2)
        with self.said_file.open("wb") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, descriptor in zip((1, 2), kept, strict=True):
                os.dup2(descriptor, number)
                os.close(descriptor)

    def child(self, command: list[str]) -> int | None:
        """Run a command; its exit code as ``ended`` tells it."""
        return self.ended(self.begin(command))

    def begin(self, command: list[str], said_file: Path | None = None) -> int:
        """Begin a command in a process group of its own; the number of its process."""
        said_file = said_file or self.said_file
        said_file.write_bytes(b"")
        child = os.fork()
        if child == 0:
            os.setsid()
            signal.alarm(LONGEST)
            code = 99
            try:
                with said_file.open("wb") as said:
                    os.dup2(said.fileno(), 1)
                    os.dup2(said.fileno(), 2)
                code = perform(command)
                sys.stdout.flush()
                sys.stderr.flush()
            except BaseException as error:
                os.write(2, f"raised {error!r}".encode())
            finally:
                os._exit(code)
        return child

    def ended(self, child: int) -> int | None:
        """Wait for a command to end; its exit code, None when it was killed, -1 when it hangs."""
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            return -1 if os.WTERMSIG(status) == signal.SIGALRM else None
        return os.waitstatus_to_exitcode(status)

    def trial(self, name: str, at: int) -> Trial | None:
        """Try one fault; None when the command makes fewer calls."""
        fault = FAULTS[name]
        if self._day != _today():
            # Some write the date: what is new is new each day.
            self._day = _today()
            self._after.clear()
            self._late.clear()
            self.new = self._changed()
        new = self.done(fault)
        self.world.lay()
        self.control.arm(self.root, at=at, **fault)  # type: ignore[arg-type]  # the options of arm
        code = self.child(self.command)
        self.control.disarm()
        if self.control.count < at:
            return None
        said, everything, now = self.said, digest(self.world.look()), self.look()
        trial = Trial(name, at, self.control.last, code, [], everything in self._after)
        if code == -1:
            trial.wrong.append("hangs")
        if code in (99, 255) or "Traceback" in said:
            trial.wrong.append(f"a bug was told: {said[-600:]}")
        if any(words in said for words in self.scenario.partly):
            return trial
        trial.wrong += self.neither(now, new)
        if fault["action"] is Action.FAIL:
            trial.wrong += self._wrong_about_it(code, now, said, new)
        if everything not in self._after:
            self._after[everything] = self.next_command(new)
        trial.wrong += self._after[everything]
        return trial

    def _wrong_about_it(self, code: int | None, now: State, said: str, done: tuple[State, ...]) -> Iterator[str]:
        """Whatever the reason, what reports success has done it, and what reports none has not."""
        theirs, old, new = _theirs(now), _theirs(self.old), [_theirs(each) for each in done]
        if code == self.scenario.code and theirs not in new:
            yield f"ended with {code}, and did not do its work: {_difference(new[0], theirs)}"
        # What could not be undone either is kept, and the message says so.
        kept = "the old content is kept in" in said or "--continue` writes the rest" in said
        if code != self.scenario.code and self.scenario.whole and not kept and theirs not in (old, *new):
            yield f"ended with {code}, and left {_difference(old, theirs)}; {said[-300:]}"

    def next_command(self, new: tuple[State, ...]) -> list[str]:
        """Run the next command; what is wrong with it."""
        wrong = []
        again = self.child(self.command)
        if "remove the file manually" in self.said:
            # git leaves its lock, and says so: it cannot know of a kill either.
            for lock in (self.root / "repository" / ".git" / "refs").rglob("*.lock"):
                lock.unlink()
            again = self.child(self.command)
        if again != self.scenario.code and again not in self.scenario.again:
            wrong.append(f"the next command ended with {again}: {self.said[-600:]}")
        for command in self.scenario.then:
            if self.look() not in new:
                self.child(filled(self.root, command))
        if (after := self.look()) not in new:
            wrong.append(f"the next command did not recover: {_difference(new[0], after)}; {self.said[-300:]}")
        # Whoever is refused keeps no result, and so takes away none that a kill left half written.
        if again == self.scenario.code and (rubbish := self.rubbish()):
            wrong.append(f"the cache keeps {rubbish}")
        return wrong

    def neither(self, now: State, new: tuple[State, ...]) -> list[str]:
        """Name files whose bytes are neither old nor new."""
        return [
            f"{path}: neither old nor new"
            for path in sorted(self.old.keys() | self.new.keys())
            # A lock says who holds it; an entry of the cache is never wrong, only missing.
            if not (path.endswith(".patchkit/lock") or (path.startswith("cache/") and path not in now))
            and all(now.get(path) != each.get(path) for each in (self.old, *new))
        ]


def _today() -> date:
    return datetime.now(timezone.utc).date()


def _theirs(state: State) -> State:
    """Leave out what is patchkit's own and goes away with the next command, byte code, the cache, and folders."""
    own = (".patchkit/", ".patchkit-", ".rebase/", "__pycache__/", ".git/refs/heads/patched.lock")
    return {
        path: value
        for path, value in state.items()
        if isinstance(value, tuple)
        and not path.startswith("cache/")
        and ".patchkit-" not in path
        and (path.endswith(".patchkit/manifest.json") or not any(name in path for name in own))
    }


def _difference(expected: State, found: State) -> str:
    lacking = sorted(expected.keys() - found.keys())
    more = sorted(found.keys() - expected.keys())
    other = sorted(path for path in expected.keys() & found.keys() if expected[path] != found[path])
    return f"lacking {lacking}, more {more}, other {other}"


def trials(stage: Stage, fault: str, sample: Sample) -> Iterator[Trial]:
    """Try a fault at each call of a sample."""
    if fault == "kill one" and not stage.several:
        return  # the same as a kill of all
    if fault in stage.scenario.without:
        return
    calls = FAULTS[fault].get("calls", Calls.CHANGES)
    assert isinstance(calls, Calls)
    for at in sample.places(stage.number_of(calls)):
        if (trial := stage.trial(fault, at)) is None:
            return
        yield trial
