"""What every command answers, as one value that all renderers read.

The JSON of a report is this value with hyphens in the keys; ``schema`` numbers the whole format.
"""

# No postponed annotations here: msgspec would compile each one again at every start.
import msgspec

REPORT_SCHEMA = 1


class Item(msgspec.Struct, frozen=True, rename="kebab"):
    """Base of the parts of a report."""


class HunkReport(Item, frozen=True):
    """One hunk."""

    id: str
    state: str
    """clean, applied, modified; in a plan: exact or moved."""
    line: int | None = None
    """1-based line in the file before the change, where the hunk was placed."""
    offset: int = 0
    """Lines between where the patch says and where it was placed."""
    reason: str = ""


class FileReport(Item, frozen=True):
    """One file of a patch."""

    path: str
    state: str
    before: str | None
    """Git blob id the patch expects; None when it creates the file."""
    after: str | None
    found: str | None
    """Git blob id in the tree; None when there is no such file."""
    hunks: tuple[HunkReport, ...] = ()


class PatchReport(Item, frozen=True):
    """One patch."""

    name: str
    state: str
    """clean, applied, partly, modified, not-needed, not-carried: before the command did anything."""
    action: str
    """none, apply, revert: what the command does."""
    variant: str | None
    reason: str = ""
    files: tuple[FileReport, ...] = ()
    upstream: dict[str, str] = {}
    """Group to what upstream already has of it on this target."""


class CheckReport(Item, frozen=True):
    """One invariant."""

    patch: str
    id: str
    ok: bool
    expected: int
    found: int
    at: tuple[str, ...] = ()
    """path:line of each match."""
    intent: str = ""


class Problem(Item, frozen=True):
    """Something that keeps the answer from being yes."""

    message: str
    path: str | None = None
    hunk: str | None = None
    line: int | None = None
    patch: str | None = None
    hint: str | None = None

    @property
    def told(self) -> str:
        """The message with the file that it is about: what tells two problems apart."""
        return self.message if self.path is None else f"{self.path}: {self.message}"


class Report(Item, frozen=True, kw_only=True):
    """The answer of apply, revert, status and verify."""

    schema: int = REPORT_SCHEMA
    tool: str
    """patchkit's version."""
    command: str
    ok: bool
    verdict: str
    """What came of it: applied, already-applied, would-apply, refused ...; for status the state of the tree."""
    tree: str
    target: str | None = None
    """The target that the tree is, was asked to be, or resembles."""
    recognised: bool = False
    """Whether every file that the series touches is the target's, patched or not."""
    same_as: tuple[str, ...] = ()
    """Other releases with the same files."""
    series: str
    """Digest of the series."""
    patches: tuple[PatchReport, ...] = ()
    checks: tuple[CheckReport, ...] = ()
    problems: tuple[Problem, ...] = ()
    written: tuple[str, ...] = ()
    """Paths written, or that would be."""
    made: str | None = None
    """The new folder, wheel or branch."""
    notes: tuple[str, ...] = ()
