"""What history answers: for each hunk, what became of it along a line of commits, and which commit broke it.

Every renderer reads this one value. The JSON form is this value with hyphens in the keys.
"""

# No postponed annotations here: msgspec would compile each one again at every start.
from typing import Literal

from patchkit.core.report import REPORT_SCHEMA, Item, Problem

Source = Literal["git", "refs", "index"]
"""git: along a line of commits. refs: every text on any branch or tag. index: between two builds."""


class Place(Item, frozen=True, kw_only=True):
    """A commit, or a build on the package index."""

    id: str
    """40 hexadecimal digits, or a version."""
    name: str
    """Abbreviated id, or the version."""
    date: str
    """UTC day; empty where it is not known, as of a commit whose time is no time of ours."""
    time: int = 0
    """In seconds since 1970; 0 where it is not known."""
    subject: str = ""
    pull_request: int | None = None
    """Named by the subject."""
    merge: bool = False


class StateReport(Item, frozen=True, kw_only=True):
    """What becomes of one hunk on one text."""

    shown: str
    """exact, moved, merged, restructured, upstreamed, superseded; bad are obsolete, conflict, alarm (a gate fired)."""
    verdict: str
    """The engine's; differs from what is shown when a gate fired."""
    bad: bool
    reason: str
    rules: tuple[str, ...] = ()
    """Gates that fired."""
    drift: tuple[str, ...] = ()
    """Scopes around the hunk that changed; not bad by itself."""


class SpanReport(Item, frozen=True, kw_only=True):
    """A run of places of the line at which a hunk looks the same."""

    first: int
    """Index in ``HistoryReport.line``."""
    end: int
    """Index behind the last one."""
    state: StateReport
    """At the first place."""


class BreakReport(Item, frozen=True, kw_only=True):
    """A hunk became bad."""

    at: Place | None
    """The first place of the line that is bad; None when it is bad where the line begins."""
    after: Place | None = None
    """The last build that was looked at and is good; between two builds nobody looked."""
    state: StateReport
    within: tuple[Place, ...] = ()
    """When a merge brought it: the commits inside, outermost first; the last one did it."""
    itself: bool = False
    """Whether a merge did it by itself, the last of ``within`` or else ``at``."""
    why: str = ""
    """What is known of such a merge, where a removed file went, why nothing is known of what was before."""
    healed: Place | None = None
    """Where it was good again."""


class HunkHistory(Item, frozen=True, kw_only=True):
    """One hunk."""

    id: str
    patch: str
    group: str
    path: str
    state: StateReport | None
    """At the end of the line; None over refs, which have no end."""
    spans: tuple[SpanReport, ...] = ()
    first_bad: BreakReport | None = None
    """From where on it is bad until the end of the line; None when it is good there."""
    healed: tuple[BreakReport, ...] = ()
    """Earlier ones."""
    counts: dict[str, int] = {}
    """Over refs: texts of the file by what is shown."""


class CommitHistory(Item, frozen=True, kw_only=True):
    """A commit that touches a touched file, on the line or on a side that was merged."""

    place: Place
    on_line: bool
    blobs: dict[str, str | None]
    """What it changed: blob id by path, None for a removed file."""
    states: dict[str, str]
    """What is shown of each hunk in these files, by ``patch/hunk``."""


class Mark(Item, frozen=True, kw_only=True):
    """A release's tag."""

    tag: str
    date: str
    """UTC day; empty where it is not known."""
    time: int
    on_line: bool
    """Whether it is a commit of the line; else it is here for its date."""


class Counts(Item, frozen=True, kw_only=True):
    """How much was looked at."""

    commits: int
    """In the range."""
    line: int = 0
    """Of these on the line."""
    touching: int = 0
    """Of all these, those that touch a touched file."""
    texts: int = 0
    """Distinct texts of touched files."""
    carried: int = 0
    """Of these, those the series was carried to now; the rest was remembered."""


class HistoryReport(Item, frozen=True, kw_only=True):
    """The answer of history."""

    schema: int = REPORT_SCHEMA
    tool: str
    command: str = "history"
    ok: bool = True
    """The question could be answered."""
    verdict: Literal["whole", "broken"]
    """broken: some hunk is bad at the end of the line; over refs, on some text."""
    source: Source
    series: str
    """Folder of the series."""
    patches: tuple[str, ...] = ()
    """Those whose hunks are told; all of the series when there is none."""
    repository: str = ""
    base: str
    """Target whose texts the series is carried from."""
    base_reason: str
    """Why that one."""
    span: str
    """What was asked about: ``A..B``."""
    counts: Counts
    line: tuple[Place, ...] = ()
    """Where the line begins, then the commits of it that touch a touched file, oldest first; or the builds."""
    tip: Place | None = None
    """Where the line ends, whether or not that commit touches anything."""
    hunks: tuple[HunkHistory, ...] = ()
    commits: tuple[CommitHistory, ...] = ()
    marks: tuple[Mark, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
