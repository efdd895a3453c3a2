"""What is said of a training with pauses, by what came of it."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from patchkit.tms.cycle.rows import Row, Touched, Way, cycle_rows, judge
from patchkit.tms.cycle.trainings import Trained, Training

STEPS = [{"losses": ["0x1p+2"], "dense.grad_data": "ab"}] * 4
FAULT = "fault access: 0x7f00 is reserved, but nothing is mapped there"
CRASH = "[torch_memory_saver.cpp] CUresult error: 1 (invalid argument)  file=csrc/core.cpp func=free line=65"
RAISED = {"raised": "AssertionError", "where": "_with_region_config", "text": ""}
WAY = Way(flags=True, sharded=True)

PLAIN = {"steps": STEPS, "paused": [], "live": 300, "unbacked": 0, "misuses": 0}
PAUSED = {**PLAIN, "paused": [{"device": 0, "host": 200}] * 3, "unbacked": 100}


def trained(*answers: dict[str, Any], codes: tuple[int, ...] = (), said: str = "", report: str = "") -> Trained:
    ranks = len(answers)
    reports = tuple(tuple(filter(None, [report])) for _ in answers)
    return Trained(codes or (0,) * ranks, answers, (said,) * ranks, reports)


TOUCHED = trained({}, codes=(-signal.SIGSEGV,), report=FAULT)
GOOD = Row(WAY, equal=True, predicted=200, measured=(200,) * 3, saved=100, touched=Touched.FAULTS, problems=())
NOTHING = replace(GOOD, equal=None, predicted=None, measured=(), saved=None)


def test_a_training_that_is_as_it_should_be_has_no_problems() -> None:
    row = judge(WAY, trained(PAUSED), trained(PLAIN), TOUCHED)

    assert (row, row.ok) == (GOOD, True)


def test_the_bytes_of_all_ranks_are_counted_together() -> None:
    way = Way(flags=True, sharded=True, ranks=2)
    other = {**PAUSED, "paused": [{"device": 0, "host": 150}] * 3, "live": 250}
    row = judge(way, trained(PAUSED, other), trained(PLAIN, PLAIN), TOUCHED)

    assert row == replace(GOOD, way=way, predicted=350, measured=(350,) * 3, saved=200)


OTHER_STEPS = [*STEPS[:3], {**STEPS[3], "dense.grad_data": "ac"}]
MISUSE = "misuse cuMemUnmap: nothing is mapped at 0x7f00"


@pytest.mark.parametrize(
    ("changes", "report", "expected"),
    [
        pytest.param(
            {"steps": OTHER_STEPS},
            "",
            replace(GOOD, equal=False, problems=("the bits are not those of a training without flags and pauses",)),
            id="one digest of the last step differs",
        ),
        pytest.param(
            {"steps": STEPS[:3]},
            "",
            replace(GOOD, equal=False, problems=("the bits are not those of a training without flags and pauses",)),
            id="a step is missing",
        ),
        pytest.param(
            {"paused": [{"device": 0, "host": host} for host in (200, 200, 204)]},
            "",
            replace(
                GOOD,
                measured=(200, 200, 204),
                problems=("pauses took 200, 200, 204 bytes of host memory, not 200",),
            ),
            id="one pause takes more",
        ),
        pytest.param(
            {"paused": [{"device": device, "host": 200} for device in (0, 8, 0)]},
            "",
            replace(GOOD, problems=("a pause leaves 8 bytes on the device",)),
            id="one pause leaves memory",
        ),
        pytest.param(
            {"unbacked": 0, "live": 200},
            "",
            replace(GOOD, saved=0, problems=("the flags are on, and 0 bytes have no backup",)),
            id="the flags do nothing",
        ),
        pytest.param({}, MISUSE, replace(GOOD, problems=(MISUSE,)), id="a wrong call that only the report has"),
        pytest.param({"misuses": 1}, MISUSE, replace(GOOD, problems=(MISUSE,)), id="a wrong call"),
        pytest.param(
            {"misuses": 1},
            "",
            replace(GOOD, problems=("the driver was called wrongly",)),
            id="a wrong call without a report",
        ),
    ],
)
def test_each_thing_that_is_not_as_it_should_be_is_a_problem(
    changes: dict[str, Any], report: str, expected: Row
) -> None:
    row = judge(WAY, trained({**PAUSED, **changes}, report=report), trained(PLAIN), TOUCHED)

    assert (row, row.ok) == (expected, False)


def test_bytes_without_backup_while_the_flags_are_off_are_a_problem() -> None:
    row = judge(Way(flags=False, sharded=True), trained(PAUSED), trained(PLAIN), TOUCHED)

    assert row.problems == ("the flags are off, and 100 bytes have no backup",)


@pytest.mark.parametrize(
    ("paused", "plain", "problems"),
    [
        pytest.param(
            trained({}, codes=(1,), said=f"warning\n{CRASH}\n[patchkit simulator] leak\n"),
            trained(PLAIN),
            (f"dies with code 1: {CRASH}",),
            id="the library's own line is told",
        ),
        pytest.param(
            trained({}, codes=(-signal.SIGSEGV,), said="one\ntwo\n"),
            trained(PLAIN),
            ("dies with signal SIGSEGV: two",),
            id="a signal",
        ),
        pytest.param(trained({}, codes=(9,)), trained(PLAIN), ("dies with code 9: it said nothing",), id="silence"),
        pytest.param(trained({}), trained(PLAIN), ("dies with code 0: it said nothing",), id="no answer"),
        pytest.param(trained(RAISED), trained(PLAIN), ("raises AssertionError in _with_region_config",), id="raises"),
        pytest.param(
            trained(PAUSED, {**RAISED, "text": "nested"}),
            trained(PLAIN, PLAIN),
            ("raises AssertionError in _with_region_config: nested",),
            id="one of two ranks",
        ),
        pytest.param(
            trained(PAUSED),
            trained(RAISED),
            ("without pauses: raises AssertionError in _with_region_config",),
            id="there is nothing to compare with",
        ),
    ],
)
def test_a_training_that_fails_has_no_bits_to_compare(
    paused: Trained, plain: Trained, problems: tuple[str, ...]
) -> None:
    assert judge(WAY, paused, plain, TOUCHED) == replace(NOTHING, problems=problems)


@pytest.mark.parametrize(
    ("touched", "outcome", "text"),
    [
        pytest.param(trained(PLAIN), Touched.READS, "it can be read", id="it goes on"),
        pytest.param(
            trained({}, codes=(-signal.SIGSEGV,), said="why"),
            Touched.UNKNOWN,
            "dies with signal SIGSEGV: why",
            id="a fault that the simulator did not see",
        ),
        pytest.param(
            trained({}, codes=(1,), report=FAULT, said="why"),
            Touched.UNKNOWN,
            "dies with code 1: why",
            id="it ends in another way",
        ),
    ],
)
def test_reading_a_paused_buffer_has_to_fault(touched: Trained, outcome: Touched, text: str) -> None:
    row = judge(WAY, trained(PAUSED), trained(PLAIN), touched)

    assert row == replace(GOOD, touched=outcome, problems=(f"reading a paused buffer: {text}",))


def test_a_training_is_compared_with_the_same_without_flags_and_pauses() -> None:
    asked: list[Training] = []

    class Bench:
        def train(self, trainings: Sequence[Training], *, at_once: int | None = None) -> dict[Training, Trained]:
            assert at_once is None
            asked.extend(trainings)
            return {each: trained(PLAIN if each.cycles == 0 else PAUSED) for each in trainings}

    cycle_rows(Bench(), [Way(flags=True, sharded=False, ranks=2)], free=False)  # type: ignore[arg-type]

    assert asked == [
        Training(flags=True, sharded=False, cycles=3, free=False, world=2),
        Training(flags=False, sharded=False, cycles=0, world=2),
        Training(flags=True, sharded=False, cycles=1, touch=True),
    ]
