"""Work in other processes: all of it is done, once, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.operations import processes
from patchkit.operations.processes import _Runs, dealt_out


@pytest.fixture(params=[1, 2, 3])
def processors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many."""
    count: int = request.param
    monkeypatch.setattr(processes, "_processors", lambda: count)
    return count


@pytest.mark.parametrize("few", [2, 99])
def test_every_job_is_done_once_and_told_in_its_order(processors: int, few: int) -> None:
    here, begun = os.getpid(), list[int]()
    done = list(dealt_out([5, 6, 7, 8], lambda job: (job * 2, os.getpid() == here), few=few, begun=begun.append))

    alone = few == 99 or processors == 1
    assert sorted(done) == [(0, (10, alone)), (1, (12, alone)), (2, (14, alone)), (3, (16, alone))]
    assert begun == [5, 6, 7, 8]


def test_in_runs_each_process_gets_jobs_that_follow_each_other_and_none_is_left_out(processors: int) -> None:
    jobs = list(range(40))
    done = sorted(dealt_out(jobs, lambda job: (job, os.getpid()), few=2, in_runs=True))
    changes = sum(one[1][1] != two[1][1] for one, two in pairwise(done))

    assert [result[0] for _, result in done] == jobs
    # A run of its own for each; with every half of another's run that is taken over, one more.
    assert changes <= 12


@pytest.mark.parametrize(
    ("workers", "given"),
    [
        ([0, 1, 0, 1, 0, 1, 0, 1], [0, 3, 1, 4, 2, 5, None, None]),
        ([0] * 7, [0, 1, 2, 4, 5, 3, None]),
        ([1, 1, 1, 1, 1, 0, 0], [3, 4, 5, 1, 2, 0, None]),
    ],
)
def test_whose_run_is_done_goes_on_with_the_second_half_of_another_one(
    workers: list[int], given: list[int | None]
) -> None:
    runs = _Runs(6, 2)

    assert [runs.next(worker) for worker in workers] == given


@given(st.integers(0, 50), st.integers(1, 6), st.data())
def test_every_job_is_given_once_whoever_asks(jobs: int, workers: int, data: st.DataObject) -> None:
    runs = _Runs(jobs, workers)
    given = [runs.next(data.draw(st.integers(0, workers - 1))) for _ in range(jobs)]

    assert sorted(at for at in given if at is not None) == list(range(jobs))
    assert [runs.next(worker) for worker in range(workers)] == [None] * workers


def test_no_jobs_are_no_work(processors: int) -> None:
    assert list(dealt_out(list[int](), lambda job: job, few=0)) == []


def test_what_goes_wrong_in_another_process_is_raised_here_and_the_rest_was_done(processors: int) -> None:
    seen: list[int] = []
    with pytest.raises(ZeroDivisionError):
        seen.extend(result for _, result in dealt_out([1, 2, 4, 0], lambda job: 4 // job, few=2))

    assert sorted(seen) == [1, 2, 4]


def test_work_that_deals_out_work_does_it_itself(processors: int) -> None:
    def work(job: int) -> list[tuple[int, bool]]:
        here = os.getpid()
        return [result for _, result in dealt_out([job, job + 1], lambda inner: (inner, os.getpid() == here), few=2)]

    # What another process may not do would be done again here, and in processes of its own.
    done = sorted(dealt_out([1, 5], work, few=2))

    assert done == [(0, [(1, True), (2, True)]), (1, [(5, True), (6, True)])]


def test_a_process_that_waits_ends_with_the_one_it_works_for(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, time; from patchkit.operations import processes\n"
        "processes._processors = lambda: 2\n"
        "def work(job):\n"
        f"    (pathlib.Path({str(tmp_path)!r}) / str(os.getpid())).touch(); time.sleep(job)\n"
        "for at, _ in processes.dealt_out([0.1, 0.1, 0.1, 0.1], work, few=2):\n"
        "    time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[3])
    workers = _eventually(lambda: [int(file.name) for file in tmp_path.iterdir()], 2)
    parent.send_signal(signal.SIGKILL)
    parent.wait()

    assert _eventually(lambda: [worker for worker in workers if _runs(worker)], 0) == []


def test_an_interruption_right_after_the_fork_ends_in_no_traceback_of_the_child() -> None:
    program = (
        "import os, signal; parent = os.getpid()\n"
        "from multiprocessing import util; from patchkit.operations import processes\n"
        "processes._processors = lambda: 2\n"
        # Called in the child before anything of ours is.
        "util.register_after_fork(processes, lambda _: os.kill(os.getpid(), signal.SIGINT))\n"
        "print(sorted(processes.dealt_out([1, 2, 3], lambda job: (job, os.getppid() == parent), few=2)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )

    assert (ran.stdout, ran.stderr) == ("[(0, (1, True)), (1, (2, True)), (2, (3, True))]\n", "")


def _eventually(found: Callable[[], list[int]], count: int) -> list[int]:
    for _ in range(600):
        values = found()
        if len(values) == count:
            return values
        time.sleep(0.05)
    return values


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
