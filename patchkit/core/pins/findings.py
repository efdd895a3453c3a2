"""What is wrong with pins, as values that text and JSON are made from."""

# No postponed annotations here: msgspec would compile each one again at every start.
from typing import Literal

from patchkit.core.report import REPORT_SCHEMA, Item

Level = Literal["wrong", "look"]
"""wrong: the build does not do what it seems to. look: a person should know, and may want it so."""


Verdict = Literal["bump", "has-it", "refused"]


class KnownDefect(Item, frozen=True):
    """A defect of what is pinned."""

    id: str
    title: str
    symptom: str
    fixed_in: tuple[str, ...]
    """Release and commit."""


class Finding(Item, frozen=True, kw_only=True):
    """One thing, at one place."""

    path: str
    line: int
    """1-based."""
    rule: str
    level: Level
    message: str
    why: str
    advice: str
    defects: tuple[KnownDefect, ...] = ()


class PinReport(Item, frozen=True, kw_only=True):
    """One pin that was found."""

    path: str
    line: int
    package: str
    kind: str
    value: str
    repository: str | None = None


class PinsReport(Item, frozen=True, kw_only=True):
    """The answer of `pins check`."""

    schema: int = REPORT_SCHEMA
    tool: str
    command: str = "pins check"
    ok: bool
    """Whether nothing is wrong; what only needs a look does not count."""
    files: tuple[str, ...]
    pins: tuple[PinReport, ...]
    findings: tuple[Finding, ...]


class BumpReport(Item, frozen=True, kw_only=True):
    """What became of one pin in `pins bump`."""

    path: str
    line: int
    before: str
    after: str | None
    """None when it stays."""
    verdict: Verdict
    reason: str
    left: tuple[str, ...] = ()
    """Ids of fixable defects that it has afterwards."""


class BumpsReport(Item, frozen=True, kw_only=True):
    """The answer of `pins bump`."""

    schema: int = REPORT_SCHEMA
    tool: str
    command: str = "pins bump"
    ok: bool
    fixes: tuple[str, ...]
    pins: tuple[BumpReport, ...]
    written: tuple[str, ...] = ()
