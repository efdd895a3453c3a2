"""A reporter that remembers what it was told."""

from __future__ import annotations


class Told:
    """Keeps every step, note and count as a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def step(self, message: str) -> None:
        self.lines.append(f"step: {message}")

    def note(self, message: str) -> None:
        self.lines.append(f"note: {message}")

    def count(self, done: int, total: int, message: str) -> None:
        self.lines.append(f"count: {done} of {total}: {message}")
