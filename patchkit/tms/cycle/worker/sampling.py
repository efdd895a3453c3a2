"""Readings of memory over time, by a thread of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class Sampler:
    """Takes a reading every ``period`` seconds from now until `stop`; calls of the library let other threads run."""

    def __init__(self, read: Callable[[], dict[str, int]], period: float) -> None:
        self._read = read
        self._period = period
        self._done = threading.Event()
        self._taken: list[list[float]] = []
        self._start = time.perf_counter()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> list[list[float]]:
        """Readings as [seconds since the start, bytes used of the device, bytes of the host]."""
        self._done.set()
        self._thread.join()
        self._take()
        return self._taken

    def _run(self) -> None:
        while not self._done.is_set():
            self._take()
            self._done.wait(self._period)

    def _take(self) -> None:
        found: Any = self._read()
        self._taken.append([round(time.perf_counter() - self._start, 4), found["device"], found["host"]])
