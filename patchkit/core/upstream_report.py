"""What check-upstream answers: for each target, patch, group and hunk, what upstream did to it and what to do next.

Every renderer reads this one value. The JSON form is this value with hyphens in the keys.
"""

# No postponed annotations here: msgspec would compile each one again at every start.
from collections.abc import Iterable
from typing import Literal

from patchkit.core.carry_report import AlarmReport, CommitReport, DriftReport, PlaceReport
from patchkit.core.report import REPORT_SCHEMA, CheckReport, Item, Problem

State = Literal["fine", "look", "broken", "unreachable"]
"""fine: nothing to do, or nothing but a mechanical rebase. look: it applies, and a person has to look at it. broken: it
does not apply, or what comes out fails a gate or a check. unreachable: the target's text could not be read."""

_WORST: tuple[State, ...] = ("fine", "unreachable", "look", "broken")


class ConflictReport(Item, frozen=True):
    """Lines that could not be brought together, as text; bytes that are no UTF-8 are replaced."""

    base: str
    changed: str
    target: str
    line: int
    """1-based first line in the target with the patches below."""


class HunkAnswer(Item, frozen=True, kw_only=True):
    """One hunk on one target."""

    id: str
    group: str
    path: str
    state: State
    verdict: str
    """A verdict of the carry engine (exact, moved, merged, restructured, upstreamed, superseded, obsolete, conflict),
    or skipped: a person left it out of the patch for this target."""
    intent: str = ""
    """What the hunk is for, as patch.yaml says."""
    reason: str = ""
    old: PlaceReport | None = None
    """In the base."""
    new: PlaceReport | None = None
    """In the result; for a conflict in the target."""
    drift: tuple[DriftReport, ...] = ()
    alarms: tuple[AlarmReport, ...] = ()
    review: tuple[str, ...] = ()
    """Why a person has to look at it; empty when there is nothing."""
    commits: tuple[CommitReport, ...] = ()
    """Upstream's commits that touched its lines, when a history is at hand."""
    drop_when: str = ""
    """What patch.yaml says of when the hunk may go; given when the target seems to have it or not to need it."""
    next: str = ""
    """What to do; empty when there is nothing."""
    diff: str = ""
    """The hunk as a unified diff: on the target where it fits, else as the base has it."""
    diff_of: Literal["", "variant", "proposed", "base"] = ""
    """Whose hunk ``diff`` is: of a variant that the series has for the target, of the one that would be made, or of the
    base where neither has the hunk; empty without a diff."""
    conflicts: tuple[ConflictReport, ...] = ()


class GroupAnswer(Item, frozen=True, kw_only=True):
    """One group of a patch's hunks on one target."""

    name: str
    state: State
    verdict: str
    """carried: all of its hunks are in the result; upstream: the target has what the group is for, and no hunk is
    needed; partly-upstream: it has some of it; broken: a hunk is in conflict; look: a hunk has to be looked at."""
    hunks: tuple[str, ...]
    """Ids, those that are left out included."""
    upstream: str = ""
    """What patch.yaml says that the target has of it."""


class PatchAnswer(Item, frozen=True, kw_only=True):
    """One patch on one target."""

    name: str
    state: State
    verdict: str
    """recorded: a variant gives exactly the text that the lock has; carries: a new variant can be made without a
    decision; not-needed; review; conflict; differs: a variant is in the way; failed: a check says no; no-base."""
    reason: str = ""
    base: str | None = None
    """Target whose variant was carried; None when the variant is the target's own."""
    variant: str | None = None
    groups: tuple[GroupAnswer, ...] = ()
    hunks: tuple[HunkAnswer, ...] = ()
    checks: tuple[CheckReport, ...] = ()
    """Every declared check that was run."""
    alarms: tuple[AlarmReport, ...] = ()
    """What the gates found outside the lines of the hunks, with the path before each message."""
    review: tuple[str, ...] = ()
    """What a person has to look at that is about no single hunk."""
    provisional: bool = False
    """Whether a patch below it is undecided, so that its answer may change."""
    next: str = ""


class TargetAnswer(Item, frozen=True, kw_only=True):
    """The series on one target."""

    name: str
    title: str
    """How people write it: ``v0.19.2``, ``main``."""
    kind: Literal["release", "branch", "commit", "revision"]
    state: State
    reason: str = ""
    as_of: str
    """The release whose version ranges hold."""
    date: str = ""
    """UTC day; empty when unknown."""
    commit: str | None = None
    tag: str | None = None
    yanked: str | None = None
    """The index' reason, when the release was yanked."""
    listed: bool = True
    """Whether upstream_versions.yaml has it."""
    moved: bool = False
    """Whether a tracked branch has other text in the touched files than the recorded commit."""
    fingerprint: str = ""
    """Of the touched files and of everything that was found; empty when unreachable."""
    new: bool = True
    """Whether this fingerprint has not been reported before."""
    patches: tuple[PatchAnswer, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What is wrong with the target itself: a moved tag, text that is not the recorded one."""
    next: str = ""


class FoundRelease(Item, frozen=True, kw_only=True):
    """A release or tag that upstream_versions.yaml does not list."""

    version: str
    where: tuple[str, ...]
    """index, tag."""
    date: str = ""
    tag: str | None = None
    commit: str | None = None
    yanked: str | None = None
    pre_release: bool = False


class UpstreamReport(Item, frozen=True, kw_only=True):
    """The answer of check-upstream."""

    schema: int = REPORT_SCHEMA
    tool: str
    command: str = "check-upstream"
    ok: bool
    verdict: State
    series: str
    """Folder of the series."""
    digest: str
    """Of the series' sources."""
    repository: str = ""
    """Address of upstream's public repository, as upstream_versions.yaml has it."""
    targets: tuple[TargetAnswer, ...] = ()
    found: tuple[FoundRelease, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What is wrong with upstream as a whole: a release that vanished, a tag that moved."""
    notes: tuple[str, ...] = ()
    """What could not be looked at, and why."""
    written: tuple[str, ...] = ()


def worst(states: Iterable[State]) -> State:
    """Return the worst of some states; fine when there is none."""
    return max(states, key=_WORST.index, default="fine")
