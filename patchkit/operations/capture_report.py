"""What capture answers."""

# No postponed annotations here: msgspec would compile each one again at every start.
from patchkit import __version__
from patchkit.core.report import REPORT_SCHEMA, Item, Problem


class CapturedHunk(Item, frozen=True):
    """One hunk that the edits change."""

    patch: str
    id: str
    path: str
    action: str
    """changed, new, dropped; context when only lines around it changed, renumbered when only its place did."""


class CapturedVariant(Item, frozen=True):
    """A variant whose text is written."""

    patch: str
    file: str
    targets: tuple[str, ...]
    """Targets that it is for now."""
    reason: str = ""
    """Why it is not for all targets that the old one was for."""


class Captured(Item, frozen=True, kw_only=True):
    """The answer of capture."""

    schema: int = REPORT_SCHEMA
    tool: str = __version__
    command: str = "capture"
    ok: bool
    verdict: str
    """unchanged, captured, would-capture, refused."""
    tree: str
    target: str
    series: str
    """Folder of the series."""
    hunks: tuple[CapturedHunk, ...] = ()
    variants: tuple[CapturedVariant, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
