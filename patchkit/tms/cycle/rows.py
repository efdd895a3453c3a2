"""What trainings with pauses are compared with, and what is said of each way to train."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from patchkit.tms.cycle.trainings import Bench, Trained, Training


@dataclass(frozen=True, slots=True)
class Way:
    """A way to train."""

    flags: bool
    """Whether the fields of the series are on."""
    sharded: bool
    """Whether the optimizer is the distributed one."""
    ranks: int = 1


class Touched(str, Enum):
    """What came of reading a buffer while it was paused."""

    FAULTS = "faults"
    READS = "reads"
    """It could be read, so it was not paused."""
    UNKNOWN = "unknown"
    """It did not come so far, or ended in another way."""


@dataclass(frozen=True, slots=True)
class Row:
    """One way to train, and what came of it."""

    way: Way
    equal: bool | None
    """Whether losses, gradients, buffers, parameters and optimizer state are every bit those of a training without
    flags and pauses, after each step; None when one of the two did not end."""
    predicted: int | None
    """Bytes of pinned host memory that the model says a pause takes, all ranks together."""
    measured: tuple[int, ...]
    """What each pause took."""
    saved: int | None
    """Bytes that the prediction leaves out because of the flags."""
    touched: Touched
    problems: tuple[str, ...]
    """What is not as it should be."""

    @property
    def ok(self) -> bool:
        """Whether all is as it should be."""
        return not self.problems


def cycle_rows(bench: Bench, ways: Sequence[Way], *, free: bool = True, at_once: int | None = None) -> tuple[Row, ...]:
    """Train in each way, with and without pauses; ``free`` is whether memory is freed while paused.

    Raises as Bench.train.
    """
    trained = bench.train([each for way in ways for each in _trainings(way, free=free)], at_once=at_once)
    return tuple(judge(way, *(trained[each] for each in _trainings(way, free=free))) for way in ways)


def _trainings(way: Way, *, free: bool) -> tuple[Training, Training, Training]:
    """The training with pauses, the one that it is compared with, and one that reads what is paused."""
    return (
        Training(flags=way.flags, sharded=way.sharded, world=way.ranks, free=free),
        Training(flags=False, sharded=way.sharded, world=way.ranks, cycles=0),
        # Alone: a rank that dies takes the others with it, each in its own way.
        Training(flags=way.flags, sharded=way.sharded, cycles=1, touch=True),
    )


def judge(way: Way, paused: Trained, plain: Trained, touched: Trained) -> Row:
    """Compare a training with pauses with one without; ``touched`` is one that read what was paused."""
    failures = [f"{what}{text}" for what, text in (("", failure(paused)), ("without pauses: ", failure(plain))) if text]
    outcome = _touched(touched)
    if failures:
        return Row(way, None, None, (), None, outcome, tuple(failures))
    equal = _steps(paused) == _steps(plain)
    # A pause is one moment on all ranks only as far as the bytes go.
    saved = sum(answer["unbacked"] for answer in paused.answers)
    predicted = sum(answer["live"] for answer in paused.answers) - saved
    measured = tuple(sum(each["host"] for each in pause) for pause in _pauses(paused))
    problems = [] if equal else ["the bits are not those of a training without flags and pauses"]
    problems += _memory_problems(way, paused, predicted, measured, saved)
    if outcome is not Touched.FAULTS:
        problems.append(f"reading a paused buffer: {failure(touched) or 'it can be read'}")
    return Row(way, equal, predicted, measured, saved, outcome, tuple(problems))


def _memory_problems(way: Way, paused: Trained, predicted: int, measured: Sequence[int], saved: int) -> list[str]:
    problems = []
    left = max(each["device"] for pause in _pauses(paused) for each in pause)
    if left:
        problems.append(f"a pause leaves {left} bytes on the device")
    if set(measured) != {predicted}:
        problems.append(f"pauses took {', '.join(map(str, measured))} bytes of host memory, not {predicted}")
    if bool(saved) is not way.flags:
        problems.append(f"the flags are {'on' if way.flags else 'off'}, and {saved} bytes have no backup")
    misuses = [line for report in paused.reports for line in report if line.startswith("misuse ")]
    if misuses or any(answer["misuses"] for answer in paused.answers):
        problems.append(misuses[0] if misuses else "the driver was called wrongly")
    return problems


def failure(trained: Trained) -> str | None:
    """Say how a training failed, by the first rank that did; None when every rank ended well."""
    for code, answer, said in zip(trained.codes, trained.answers, trained.said, strict=True):
        if code != 0 or not answer:
            return _death(code, said.strip().splitlines())
        if "raised" in answer:
            text = f": {answer['text']}" if answer["text"] else ""
            return f"raises {answer['raised']} in {answer['where']}{text}"
    return None


def _death(code: int, said: Sequence[str]) -> str:
    by_library = [line for line in said if "[torch_memory_saver.cpp]" in line]
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
    last = (by_library or list(said) or ["it said nothing"])[-1]
    return f"dies with {how}: {last}"


def _touched(trained: Trained) -> Touched:
    seen = [line for line in trained.reports[0] if line.startswith("fault access:")]
    if trained.codes == (-signal.SIGSEGV,) and seen:
        return Touched.FAULTS
    return Touched.READS if failure(trained) is None else Touched.UNKNOWN


def _steps(trained: Trained) -> list[Any]:
    return [answer["steps"] for answer in trained.answers]


def _pauses(trained: Trained) -> list[tuple[Mapping[str, int], ...]]:
    """Of each pause what every rank measured."""
    return list(zip(*(answer["paused"] for answer in trained.answers), strict=True))
