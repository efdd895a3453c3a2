"""Which frames a log has for an exception."""

from __future__ import annotations

import io

import pytest

from patchkit.tms.tracebacks import frames_before
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
    log = marked(mark, "  an indented line before", HEADING, *BACKWARD, *FORWARD)

    frames = frames_before(f"{mark}{OUT}\n".encode(), "".join(f"{line}\n" for line in log).encode())

    assert list(frames) == [line.strip() for line in reversed([*BACKWARD, *FORWARD])]


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
