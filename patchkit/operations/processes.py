"""Work that is dealt out to other processes, as many as there are processors."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

_MOST = 6
"""Processes at most; each holds some thirty megabytes of its own."""


def dealt_out(
    jobs: Sequence[Job],
    work: Callable[[Job], Result],
    *,
    few: int,
    in_runs: bool = False,
    begun: Callable[[Job], None] = lambda _job: None,
) -> Iterator[tuple[int, Result]]:
    """Yield the place of each job in ``jobs`` and what ``work`` makes of it, in any order.

    A process gets a job when it has done its last one: the first that is left, or with ``in_runs`` the one behind its
    last one, as suits jobs of which each is like the next. Fewer than ``few`` jobs are done here, sooner than processes
    begin, and so is what another process could not do: it raises here what it raised there. ``begun`` is told in this
    process when a job is handed out.
    """
    left = dict(enumerate(jobs))
    workers = min(_MOST, _processors(), len(jobs))
    told: set[int] = set()

    def tell(at: int) -> None:
        if at not in told:
            told.add(at)
            begun(jobs[at])

    if workers > 1 and len(jobs) >= few and _may_fork():
        # Without memory for another process, or when one is killed, the rest is done here.
        with suppress(OSError):
            deal = _Runs(len(jobs), workers if in_runs else 1)
            for at, result in _forked(jobs, work, workers, deal, tell):
                del left[at]
                yield at, result
    for at, job in left.items():
        tell(at)
        yield at, work(job)


class _Runs:
    """Jobs in as many runs of equal length, by number; whose own is done takes the second half of the longest one."""

    def __init__(self, jobs: int, runs: int) -> None:
        ends = [jobs * number // runs for number in range(runs + 1)]
        self._left = [range(*ends[number : number + 2]) for number in range(runs)]

    def next(self, worker: int) -> int | None:
        """Return the next job for a worker; None when there is none."""
        mine = worker % len(self._left)
        if not self._left[mine]:
            longest = max(range(len(self._left)), key=lambda number: len(self._left[number]))
            run = self._left[longest]
            middle = len(run) // 2
            self._left[longest], self._left[mine] = run[:middle], run[middle:]
        run = self._left[mine]
        self._left[mine] = run[1:]
        return run[0] if run else None


def _forked(
    jobs: Sequence[Job],
    work: Callable[[Job], Result],
    workers: int,
    deal: _Runs,
    begun: Callable[[int], None],
) -> Iterator[tuple[int, Result]]:
    """Yield what forked processes come to; they have the code and what it works on in memory already.

    Pipes and no pool: nothing is locked when the user interrupts, and a process that dies just ends its pipe.
    """
    context = multiprocessing.get_context("fork")
    ends: dict[Connection, int] = {}
    processes = []

    def hand_out(end: Connection) -> None:
        at = deal.next(ends[end])
        if at is None:
            del ends[end]
            end.close()
        else:
            begun(at)
            end.send(at)

    try:
        for worker in range(workers):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(jobs, work, (*ends, here), there), daemon=True)
            with _undisturbed():
                process.start()
            there.close()
            processes.append(process)
            ends[here] = worker
        for end in tuple(ends):
            hand_out(end)
        while ends:
            for ready in wait(list(ends)):
                assert isinstance(ready, Connection)  # noqa: S101 - nothing else is waited for
                try:
                    done = ready.recv()
                except EOFError:
                    del ends[ready]
                    continue
                hand_out(ready)
                yield done
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _serve(jobs: Sequence[Job], work: Callable[[Job], Result], others: Sequence[Connection], end: Connection) -> None:
    # A user's interruption is for the process that waits for this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
    # Held open here, they would not end when that process dies, and this one would wait for ever.
    for other in others:
        other.close()
    # What the process was forked with stays where it is, and the little garbage of a job can wait for its end. It also
    # lets what is found in one job be known to the next: see core/uncollected.
    gc.freeze()
    gc.disable()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            at = end.recv()
            try:
                result = work(jobs[at])
            except Exception:
                # It is done again, and raised, where somebody hears of it.
                return
            end.send((at, result))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let an interruption wait: one that comes between a fork and the child's first line would end in a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _may_fork() -> bool:
    # A worker of somebody's pool, or of ours, is not allowed to have processes of its own.
    return "fork" in multiprocessing.get_all_start_methods() and not multiprocessing.current_process().daemon


def _processors() -> int:
    # Which ones this process may use is known on Linux alone.
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1
