"""Try faults in one scenario and print what came of each, a JSON object a line.

    LD_PRELOAD=faults.so FAULTS_CONTROL=FILE python -m faults.worker SCENARIO CONTROL FOLDER FAULT EVERY OFFSET

A process for each fault is forked from this one, which has everything imported already.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trees.snapshots import snapshot

from patchkit.cli.main import run

from .scenarios import SCENARIOS, Scenario, filled
from .shim import Action, Control

State = Mapping[str, tuple[int, bytes] | str]
LONGEST = 60
"""Seconds that a command may take; then it hangs."""
YEARS = 10 * 365 * 24 * 3600

ERRORS = {name: getattr(errno, name) for name in ("ENOSPC", "EACCES", "EIO", "EROFS", "EXDEV")}
FAULTS: dict[str, dict[str, object]] = {
    "kill": {"action": Action.KILL_ALL},
    "kill one": {"action": Action.KILL_ONE},
    **{name: {"action": Action.FAIL, "error": code} for name, code in ERRORS.items()},
    **{f"{name} from then on": {"action": Action.FAIL, "error": code, "sticky": True} for name, code in ERRORS.items()},
    **{f"{name} on reads": {"action": Action.FAIL, "error": ERRORS[name], "reads": True} for name in ("EIO", "EACCES")},
    "EXDEV": {"action": Action.FAIL, "error": errno.EXDEV, "renames": True},
    "clock forward": {"action": Action.FAIL, "clock_jump": YEARS},
    "clock back": {"action": Action.FAIL, "clock_jump": -YEARS},
}
del FAULTS["EXDEV from then on"]


@dataclass
class Trial:
    """One fault and what came of it."""

    at: int
    call: str
    code: int | None
    """Exit code; None when it was killed."""
    wrong: list[str]


class Stage:
    """A scenario's world, laid anew for each fault."""

    def __init__(self, scenario: Scenario, control: Control, folder: Path) -> None:
        self.scenario = scenario
        self.control = control
        self.root = folder / "world"
        self._kept = folder / "kept"
        self._said = folder / "said"
        self.root.mkdir()
        with self._quiet():
            scenario.build(self.root)
        shutil.copytree(self.root, self._kept, symlinks=True)
        self.command = filled(self.root, scenario.command)
        os.environ |= {"PATCHKIT_CACHE": str(self.root / "cache"), "GIT_COMMITTER_DATE": "2026-01-02T03:04:05+00:00"}
        self.old = self.look()
        # In this process first, so that all is imported; what it leaves in the world goes away.
        sys.stdout.flush()
        code = self.child(lambda: None)
        assert code == 0
        self._run_here()
        self.lay()
        assert self.child(self._command) == scenario.code, self.said
        self.new = self.look()
        if self.new == self.old:
            raise AssertionError("the command wrote nothing")
        self.lay()

    def lay(self) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(self._kept, self.root, symlinks=True)

    @property
    def said(self) -> str:
        return self._said.read_text(errors="replace")

    def look(self) -> dict[str, tuple[int, bytes] | str]:
        """What is in the world, the cache aside, which is looked at for itself."""
        return {path: value for path, value in snapshot(self.root).items() if not self._aside(path)}

    def _aside(self, path: str) -> bool:
        return (
            path.startswith("cache")
            or "/.git/logs" in path
            or (".git/" in f"{path}/" and self.scenario.git and "/refs/heads" not in path)
        )

    def rubbish(self) -> list[str]:
        """What the cache holds that no name of its own leads to."""
        found = (path.relative_to(self.root).as_posix() for path in (self.root / "cache").rglob("*"))
        return sorted(path for path in found if ".patchkit-" in path)

    def _run_here(self) -> None:
        with self._quiet():
            run(self.command)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """What is said goes to a file."""
        kept = os.dup(1), os.dup(2)
        with self._said.open("wb") as said:
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

    def _command(self) -> int:
        return run(self.command)

    def child(self, work: Callable[[], int | None]) -> int | None:
        """Do ``work`` in a process group of its own; its exit code, None when it was killed."""
        child = os.fork()
        if child == 0:
            os.setsid()
            signal.alarm(LONGEST)
            code = 99
            try:
                with self._said.open("wb") as said:
                    os.dup2(said.fileno(), 1)
                    os.dup2(said.fileno(), 2)
                code = work() or 0
                sys.stdout.flush()
                sys.stderr.flush()
            except BaseException as error:
                os.write(2, f"raised {error!r}".encode())
            finally:
                os._exit(code)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            if os.WTERMSIG(status) == signal.SIGALRM:
                return -1
            return None
        return os.waitstatus_to_exitcode(status)

    def _wrong_about_it(self, code: int | None, now: State, said: str) -> Iterator[str]:
        """Whatever the reason, what reports success has done it, and what reports none has not."""
        theirs, old, new = _theirs(now), _theirs(self.old), _theirs(self.new)
        if code == self.scenario.code and theirs != new:
            yield f"ended with {code}, and did not do its work: {_difference(new, theirs)}"
        # What could not be undone either is kept, and the message says so.
        kept = "the old content is kept in" in said or "--continue` writes the rest" in said
        if code != self.scenario.code and self.scenario.whole and not kept and theirs not in (old, new):
            yield f"ended with {code}, and left {_difference(old, theirs)}; {said[-300:]}"

    def trial(self, at: int, fault: Mapping[str, object]) -> Trial | None:
        """Try one fault; None when the command makes fewer calls."""
        self.lay()
        action = fault["action"]
        self.control.arm(self.root, at=at, **fault)  # type: ignore[arg-type]  # the options of arm
        code = self.child(self._command)
        self.control.disarm()
        if self.control.count < at:
            return None
        trial = Trial(at, self.control.last, code, [])
        said = self.said
        if code == -1:
            trial.wrong.append("hangs")
        if code in (99, 255) or "Traceback" in said:
            trial.wrong.append(f"a bug was told: {said[-600:]}")
        now = self.look()
        trial.wrong += self._neither(now)
        if action is Action.FAIL:
            trial.wrong += self._wrong_about_it(code, now, said)
        again = self.child(self._command)
        if "remove the file manually" in self.said:
            # git leaves its lock, and says so: it cannot know of a kill either.
            for lock in (self.root / "repository" / ".git" / "refs").rglob("*.lock"):
                lock.unlink()
            again = self.child(self._command)
        if again != self.scenario.code and again not in self.scenario.again:
            trial.wrong.append(f"the next command ended with {again}: {self.said[-600:]}")
        for command in self.scenario.then:
            if self.look() != self.new:
                self.child(lambda command=command: run(filled(self.root, command)))  # type: ignore[misc]
        if (after := self.look()) != self.new:
            trial.wrong.append(f"the next command did not recover: {_difference(self.new, after)}; {self.said[-300:]}")
        if rubbish := self.rubbish():
            trial.wrong.append(f"the cache keeps {rubbish}")
        return trial

    def _neither(self, now: State) -> list[str]:
        """Name files whose bytes are neither old nor new."""
        return [
            f"{path}: neither old nor new"
            for path in sorted(self.old.keys() | self.new.keys())
            if now.get(path) not in (self.old.get(path), self.new.get(path))
        ]


def _theirs(state: State) -> State:
    """Leave out what is patchkit's own and goes away with the next command, byte code, and folders."""
    own = (".patchkit/", ".patchkit-", ".rebase/", "__pycache__/", ".git/refs/heads/patched.lock")
    return {
        path: value
        for path, value in state.items()
        if isinstance(value, tuple)
        and (path.endswith(".patchkit/manifest.json") or not any(name in path for name in own))
    }


def _difference(expected: State, found: State) -> str:
    lacking = sorted(expected.keys() - found.keys())
    more = sorted(found.keys() - expected.keys())
    other = sorted(path for path in expected.keys() & found.keys() if expected[path] != found[path])
    return f"lacking {lacking}, more {more}, other {other}"


def main(words: list[str]) -> None:
    """Try every so many calls."""
    scenario, control, folder, fault, every, offset = words
    stage = Stage(SCENARIOS[scenario], Control(Path(control)), Path(folder))
    at = 1 + int(offset)
    while True:
        trial = stage.trial(at, FAULTS[fault])
        if trial is None:
            break
        print(json.dumps(trial.__dict__), flush=True)  # noqa: T201 - read by the test
        at += int(every)


if __name__ == "__main__":
    main(sys.argv[1:])
