"""How long work tells that it is alive: a protocol, and a reporter that says nothing."""

from __future__ import annotations

from typing import Protocol


class Reporter(Protocol):
    """Receives what an operation is doing; draws it or not."""

    def step(self, message: str) -> None:
        """One step of the work has begun; ``message`` is one line without a final stop."""

    def note(self, message: str) -> None:
        """Something the user should know although it is no result."""

    def count(self, done: int, total: int, message: str) -> None:
        """``done`` of ``total`` equal parts are done; ``message`` names the work."""


class SilentReporter:
    """The default reporter: says nothing."""

    def step(self, message: str) -> None:
        """Ignore the step."""

    def note(self, message: str) -> None:
        """Ignore the note."""

    def count(self, done: int, total: int, message: str) -> None:
        """Ignore the count."""


silent = SilentReporter()
