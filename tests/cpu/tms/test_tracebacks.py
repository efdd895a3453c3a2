"""Which frames a log has for an exception."""

from __future__ import annotations

import io
import random
import re

import pytest

from patchkit.tms import tracebacks
from patchkit.tms.log_lines import AROUND, BEFORE, LogReader
from patchkit.tms.log_writers import rank_of, without_terminal
from patchkit.tms.signatures import known_signatures
from patchkit.tms.tracebacks import Tracebacks
from patchkit.tms.triage import triage

from .wheels import memory_saver

RAY = "(TrainActor(rank=3, world=8) pid=77, ip=10.0.0.2)"
HEADING = "Traceback (most recent call last):"
BACKWARD = ['  File "graph.py", line 829, in _engine_run_backward', "    return engine.run_backward("]
FORWARD = ['  File "mlp.py", line 3, in forward', "    return self.up(x)", "           ^^^^^^^^^^"]
OUT = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."


def marked(mark: str, *lines: str) -> list[str]:
    return [f"{mark}{line}" for line in lines]


def kinds(lines: list[str]) -> list[str]:
    log = "".join(f"{line}\n" for line in lines)
    return [item.signature.id for item in triage(io.BytesIO(log.encode()), memory_saver()).findings]


@pytest.mark.parametrize(
    "mark",
    [
        "",
        f"{RAY} ",
        f"\x1b[36m{RAY}\x1b[0m ",
        "[rank3]: ",
        "[default3]:",
        "[default3]:[rank3]: ",
        "[1,3]<stderr>:",
        "2026-09-01T10:00:00.123Z ",
        "[2026-09-01 10:00:00,123] [rank3]: ",
    ],
)
def test_frames_are_read_back_to_the_heading(mark: str) -> None:
    lines = ["  an indented line before", HEADING, *BACKWARD, *FORWARD]
    log = "".join(f"{line}\n" for line in marked(mark, *lines)).encode()

    def is_frame(line: str) -> bool:
        asked = Tracebacks(re.compile(f"^{re.escape(line.strip())}$"))
        return asked.has_frame(f"{mark}{OUT}\n".encode(), log, len(log))

    assert [line for line in lines if is_frame(line)] == [*BACKWARD, *FORWARD]


def test_lines_of_others_in_between_are_passed_over() -> None:
    one, other = marked("[rank0]: ", HEADING, *FORWARD[:2], OUT), marked("[rank1]: ", HEADING, *BACKWARD, OUT)

    assert kinds([line for pair in zip(one, other, strict=True) for line in pair]) == [
        "out-of-memory",
        "out-of-memory-in-backward",
    ]


def test_a_backward_pass_near_by_that_is_no_frame_of_it_does_not_count() -> None:
    assert kinds([HEADING, *BACKWARD, "RuntimeError: something else", HEADING, *FORWARD, OUT]) == ["out-of-memory"]
    assert kinds(["step 3: in backward took 2 s", OUT]) == ["out-of-memory"]


@pytest.mark.parametrize("filling", [0, 1 << 17, (1 << 17) + 9000])
def test_recomputation_puts_many_frames_between_the_backward_pass_and_the_exception(filling: int) -> None:
    """Each layer adds a frame to the 40 of checkpointing; the blocks in which a log is read do not cut them."""
    frames = [line.replace("mlp", "/site/packages/megatron/core/transformer/mlp") for line in FORWARD] * 150
    log = ["x" * 99] * (filling // 100) + [HEADING, *BACKWARD, *frames, OUT]

    assert sum(map(len, frames)) > 3 * 4096
    assert kinds(log) == ["out-of-memory-in-backward"]


def answers(log: bytes) -> list[bool]:
    """Whether each exception of a log comes from a backward pass."""
    known = known_signatures()
    frame = next(each.frame for each in known.signatures if each.frame is not None)
    asked = Tracebacks(frame)
    lines = LogReader(io.BytesIO(log), known.anchors).lines()
    return [asked.has_frame(line.raw, line.before, line.offset) for line in lines]


def answers_one_by_one(log: bytes) -> list[bool]:
    """The same, with nothing kept from one exception to the next."""
    known = known_signatures()
    frame = next(each.frame for each in known.signatures if each.frame is not None)
    lines = LogReader(io.BytesIO(log), known.anchors).lines()
    return [Tracebacks(frame).has_frame(line.raw, line.before, line.offset) for line in lines]


MARKS = [["[rank%d]: "], ["[rank%d]: ", ""], [""], ["(Actor pid=%d) ", "[default%d]:"]]
EXCEPTIONS = [OUT, f"  {OUT}", f"10%\r{OUT}"]
OTHERS = [HEADING, *BACKWARD, *FORWARD, FORWARD[1], "", "words", "x" * 300, "    " + "y" * 3000]


@pytest.mark.parametrize("ranks", [1, 3, 50, 2000])
@pytest.mark.parametrize("marks", MARKS, ids=str)
@pytest.mark.parametrize("often", [0.01, 0.3])
def test_what_is_kept_from_one_exception_to_the_next_changes_no_answer(
    ranks: int, marks: list[str], often: float
) -> None:
    chance = random.Random(f"{ranks} {marks} {often}")  # noqa: S311 - made-up logs
    lines: list[str] = []
    for _ in range(1000):
        mark = chance.choice(marks)
        text = chance.choice(EXCEPTIONS if chance.random() < often else OTHERS)
        lines.append((mark % chance.randrange(ranks) if "%" in mark else mark) + text)
    log = "\n".join(lines).encode()

    assert len(log) > 2 * BEFORE
    assert answers_one_by_one(log) == answers(log)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The marks of the lines that are read, in their order."""
    found: list[str] = []

    def counted(message: str, before: str = "") -> str:
        found.append(message)
        return rank_of(message, before)

    monkeypatch.setattr(tracebacks, "rank_of", counted)
    return found


def test_the_lines_of_thousands_of_ranks_are_read_a_few_times_each(read: list[str]) -> None:
    log = "".join(f"[rank{number}]: {OUT}\n" for number in range(3000)).encode()

    assert answers(log) == [False] * 3000
    # As the exception, as a line above later ones, and as the first one that may be cut.
    assert len(read) < 3 * 3000


def test_what_no_exception_asks_about_is_not_read(read: list[str]) -> None:
    step = ["[rank0]: step\n"] * (2 * AROUND // 14)
    crash = [f"[rank0]: {line}\n" for line in (HEADING, *BACKWARD, OUT)]

    assert answers("".join([*step, *crash] * 20).encode()) == [True] * 20
    assert len(read) == 20 * 2


def test_a_line_that_is_longer_than_a_frame_is_read_at_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def counted(text: str) -> str:
        lengths.append(len(text))
        return without_terminal(text)

    monkeypatch.setattr(tracebacks, "without_terminal", counted)

    assert answers(("pid=1 " * 10000 + "\n" + f"{OUT}\n").encode()) == [False]
    assert max(lengths) == 2 * AROUND
