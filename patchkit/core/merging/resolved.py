"""What a merge of statements comes to."""

from __future__ import annotations

from typing import NamedTuple


class Clash(NamedTuple):
    """The three versions of lines that could not be brought together."""

    base: str
    changed: str
    target: str


class Span(NamedTuple):
    """What became of lines that the patch changes; half-open ranges of 0-based physical lines."""

    base: int
    base_end: int
    first: int
    """In the result, or for a conflict in the target."""
    end: int
    verdict: str
    reason: str


class Resolved(NamedTuple):
    """A target with the patch in it, as far as that was possible."""

    parts: list[str | Clash]
    spans: list[Span]
