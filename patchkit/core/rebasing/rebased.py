"""What rebase answers: for each patch and each of its hunks, what became of it on the new target."""

# No postponed annotations here: msgspec would compile each one again at every start.
from collections.abc import Sequence

from patchkit.core.carry import CarriedHunk, Place, Verdict
from patchkit.core.carry_report import SKIPPED, AlarmReport, CommitReport, DriftReport, PlaceReport
from patchkit.core.gating.drift import Drift
from patchkit.core.gating.gates import Alarm
from patchkit.core.report import REPORT_SCHEMA, Item, Problem


class HunkRebase(Item, frozen=True, kw_only=True):
    """What became of one hunk."""

    id: str
    path: str
    verdict: str
    """exact, moved, merged, restructured, upstreamed, superseded, obsolete, conflict; skipped, solved: a person's."""
    old: PlaceReport | None
    """In the base."""
    new: PlaceReport | None
    """In the result; for a conflict in the target."""
    reason: str
    drift: tuple[DriftReport, ...] = ()
    alarms: tuple[AlarmReport, ...] = ()
    commits: tuple[CommitReport, ...] = ()
    resolution: str | None = None
    """Key of the remembered resolution that was used."""
    drop_when: str = ""
    """What patch.yaml says of when the hunk may go; given when it would be left out."""
    review: tuple[str, ...] = ()
    """Why a person has to look at it before it is written; empty when there is nothing."""

    @property
    def left_out(self) -> bool:
        """Whether the new variant lacks the hunk."""
        return self.verdict in LEFT_OUT


SOLVED = "solved"
LEFT_OUT = frozenset({Verdict.UPSTREAMED.value, Verdict.SUPERSEDED.value, Verdict.OBSOLETE.value, SKIPPED})


class PatchRebase(Item, frozen=True, kw_only=True):
    """What became of one patch."""

    name: str
    state: str
    """clean, review, accepted (it was reviewed), conflict, already (a variant gives the text), not-needed, kept (it was
    not asked for), differs (a variant is in the way)."""
    base: str | None = None
    """Target whose variant was carried."""
    variant: str | None = None
    """File name of the variant for the new target: written, to be written, or there already."""
    reason: str = ""
    hunks: tuple[HunkRebase, ...] = ()
    review: tuple[str, ...] = ()
    """What a person has to look at that is about no single hunk."""
    alarms: tuple[AlarmReport, ...] = ()
    """What the gates found outside the lines of the hunks, with the path before each message."""
    provisional: bool = False
    """Whether a patch below it is undecided, so that it has to be carried again."""


class Rebased(Item, frozen=True, kw_only=True):
    """The answer of rebase."""

    schema: int = REPORT_SCHEMA
    tool: str
    command: str = "rebase"
    ok: bool
    verdict: str
    """written, would-write, already, review, conflict, refused, aborted."""
    series: str
    """Folder of the series."""
    target: str
    commit: str | None = None
    """Commit of a target that is no release."""
    patches: tuple[PatchRebase, ...] = ()
    edit_dir: str | None = None
    """Where a person has to go on."""
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def place_report(place: Place | None) -> PlaceReport | None:
    """Return a place for the report."""
    return None if place is None else PlaceReport(place.scope, place.first, place.last)


def drift_report(drift: Drift) -> DriftReport:
    """Return a drift for the report."""
    kinds = tuple(kind.value for kind in drift.kinds)
    signatures = drift.old_signature, drift.new_signature
    return DriftReport(drift.scope, kinds, *signatures, drift.calls_added, drift.calls_removed)


def alarm_report(alarm: Alarm) -> AlarmReport:
    """Return an alarm for the report."""
    return AlarmReport(alarm.rule.value, alarm.line, alarm.name, alarm.message)


IN_PART = "in part "
"""Beginning of what is said of a hunk of which some places are upstreamed, superseded or obsolete, and others not."""
_BADNESS = {verdict.value: number for number, verdict in enumerate(Verdict)}


def one_hunk(hunk_id: str, path: str, carried: Sequence[CarriedHunk]) -> HunkRebase:
    """Return one answer for a hunk of which several runs of lines were carried: the verdict is the worst one.

    A hunk of which upstream has a part only is not upstreamed, nor is one obsolete of which a part has a place.
    """
    kept = [hunk for hunk in carried if hunk.verdict.value not in LEFT_OUT]
    worst = max(kept or carried, key=lambda hunk: _BADNESS[hunk.verdict.value])
    alarms = tuple(dict.fromkeys(alarm for hunk in carried for alarm in hunk.alarms))
    drift = tuple(dict.fromkeys(drift for hunk in carried for drift in hunk.drift))
    review = [f"{alarm.rule.value}: line {alarm.line}: {alarm.message}" for alarm in alarms]
    review += [f"drift: {told_drift(each)}" for each in drift]
    for verdict in (Verdict.UPSTREAMED, Verdict.SUPERSEDED, Verdict.OBSOLETE):
        gone = [hunk for hunk in carried if hunk.verdict is verdict]
        if gone and verdict is not worst.verdict:
            reasons = "; ".join(dict.fromkeys(hunk.reason for hunk in gone))
            review.append(f"{IN_PART}{verdict.value}: {len(gone)} of its {len(carried)} places: {reasons}")
    if worst.verdict.value in LEFT_OUT:
        review.append(f"{worst.verdict.value}: the variant would not have it")
    return HunkRebase(
        id=hunk_id,
        path=path,
        verdict=worst.verdict.value,
        old=_around([hunk.old for hunk in carried]),
        new=_around([hunk.new for hunk in carried if hunk.new is not None]),
        reason=worst.reason,
        drift=tuple(drift_report(each) for each in drift),
        alarms=tuple(alarm_report(alarm) for alarm in alarms),
        review=tuple(review),
    )


def told_drift(drift: Drift) -> str:
    """Say in short that a scope drifted; the report has the rest."""
    return f"{drift.scope} changed ({', '.join(kind.value for kind in drift.kinds)})"


def _around(places: Sequence[Place]) -> PlaceReport | None:
    if not places:
        return None
    first, last = min(place.first for place in places), max(place.last for place in places)
    scopes = list(dict.fromkeys(place.scope for place in places))
    return PlaceReport(", ".join(scopes), first, last)
