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
_MANY = 200_000
"""Objects made before a worker looks for garbage: tens of megabytes."""


def dealt_out(
    jobs: Sequence[Job], work: Callable[[Job], Result], *, few: int, begun: Callable[[Job], None] = lambda _job: None
) -> Iterator[tuple[int, Result]]:
    """Yield the place of each job in ``jobs`` and what ``work`` makes of it, in any order.

    A process gets a job when it has done its last one, so jobs that are alike had better come in a row. Fewer than
    ``few`` jobs are done here, sooner than processes begin, and so is what another process could not do: it raises here
    what it raised there. ``begun`` is told in this process when a job is handed out.
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
            for at, result in _forked(jobs, work, workers, tell):
                del left[at]
                yield at, result
    for at, job in left.items():
        tell(at)
        yield at, work(job)


def _forked(
    jobs: Sequence[Job], work: Callable[[Job], Result], workers: int, begun: Callable[[int], None]
) -> Iterator[tuple[int, Result]]:
    """Yield what forked processes come to; they have the code and what it works on in memory already.

    Pipes and no pool: nothing is locked when the user interrupts, and a process that dies just ends its pipe.
    """
    context = multiprocessing.get_context("fork")
    ends: list[Connection] = []
    processes = []
    waiting = iter(range(len(jobs)))

    def hand_out(end: Connection) -> None:
        at = next(waiting, None)
        if at is None:
            ends.remove(end)
            end.close()
        else:
            begun(at)
            end.send(at)

    try:
        for _ in range(workers):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(jobs, work, (*ends, here), there), daemon=True)
            with _undisturbed():
                process.start()
            there.close()
            processes.append(process)
            ends.append(here)
        for end in tuple(ends):
            hand_out(end)
        while ends:
            for ready in wait(ends):
                assert isinstance(ready, Connection)  # noqa: S101 - nothing else is waited for
                try:
                    done = ready.recv()
                except EOFError:
                    ends.remove(ready)
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
    # What the process was forked with stays where it is, and the little garbage of a job can wait.
    gc.freeze()
    gc.set_threshold(_MANY)
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
