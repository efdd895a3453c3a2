"""The answer of the carry engine, as values."""

from __future__ import annotations

from enum import Enum

import msgspec

from patchkit.core.gating.alarm import Alarm
from patchkit.core.gating.drift import Drift


class Status(str, Enum):
    """The answer for a whole file."""

    CLEAN = "clean"
    REVIEW = "review"
    """There is a result, and something about it that a person should look at."""
    CONFLICT = "conflict"


class Verdict(str, Enum):
    """What became of one hunk."""

    EXACT = "exact"
    """The target has the base's lines there, at the same line number."""
    MOVED = "moved"
    """The target has the base's lines there, at another line number."""
    MERGED = "merged"
    """The target changed lines nearby, none of those that the hunk changes."""
    RESTRUCTURED = "restructured"
    """The target changed the same lines; statements or words could be told apart."""
    UPSTREAMED = "upstreamed"
    """The target has made the same change."""
    SUPERSEDED = "superseded"
    """Both sides set the package's version, and the target's is higher: it stays."""
    OBSOLETE = "obsolete"
    """Nothing of what the hunk changes is in the target; there is no result with it, and it may be dropped."""
    CONFLICT = "conflict"
    """The two changes could not be brought together."""


class Place(msgspec.Struct, frozen=True):
    """Where a hunk stands in one text."""

    scope: str
    """Qualified name of the class or function around its first line; ``<module>`` at module level and in other text."""
    first: int
    """1-based first line."""
    last: int
    """1-based last line, inclusive; ``first - 1`` when nothing stands there."""


class Conflict(msgspec.Struct, frozen=True):
    """Lines that could not be brought together, as the three sides have them."""

    base: bytes
    changed: bytes
    target: bytes


class CarriedHunk(msgspec.Struct, frozen=True):
    """One run of lines that the patch changes."""

    number: int
    """0-based, in the order of the file."""
    verdict: Verdict
    old: Place
    """In the base: the lines that the patch replaces."""
    new: Place | None
    """In the result the lines that stand for the patch's; in the target those in conflict; None when there are none."""
    reason: str
    """One sentence."""
    drift: tuple[Drift, ...] = ()
    """How the scope around the hunk differs between base and target, innermost first; empty when it means the same."""
    alarms: tuple[Alarm, ...] = ()
    """What the gates found in the hunk's lines."""
    conflict: Conflict | None = None


class CarryResult(msgspec.Struct, frozen=True):
    """The answer for one file."""

    path: str
    status: Status
    content: bytes | None
    """The target with the change in it; None on a conflict."""
    hunks: tuple[CarriedHunk, ...]
    alarms: tuple[Alarm, ...] = ()
    """What the gates found outside the hunks' lines."""
    parts: tuple[bytes | Conflict, ...] = ()
    """On a conflict: the target with everything in it that could be carried, cut at the conflicts."""
