"""A target that the series was not made for: every patch is carried to it, as rebase would, and nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from patchkit.core.carry import Verdict
from patchkit.core.model import Hunk, Patch
from patchkit.core.rebasing.rebased import HunkRebase, PatchRebase
from patchkit.core.report import CheckReport
from patchkit.core.upstream_report import ConflictReport, HunkAnswer, PatchAnswer, State
from patchkit.errors import PatchkitError, StoreError, UsageError
from patchkit.operations.checks import run_checks
from patchkit.operations.known import load_known
from patchkit.operations.rebase_carried import CarriedPatch
from patchkit.operations.rebase_history import with_history
from patchkit.operations.rebase_judge import consider
from patchkit.operations.rebase_session import Considered, Session
from patchkit.operations.upstream_answers import groups, hunk_state, hunk_text, with_states
from patchkit.store.series import SeriesPatch

_VERDICTS: dict[str, tuple[str, State]] = {
    "clean": ("carries", "fine"),
    "already": ("carries", "fine"),
    "not-needed": ("not-needed", "fine"),
    "review": ("review", "look"),
    "conflict": ("conflict", "broken"),
    "differs": ("differs", "broken"),
}
"""Verdict and state by what rebase calls it."""


def carried(session: Session) -> tuple[tuple[PatchAnswer, ...], list[str]]:
    """Return the answer for each patch, carried in order, each on what the ones before it leave; and notes.

    A patch in conflict leaves what the target has there; those above it are then provisional. Raises TreeError.
    """
    answers: list[PatchAnswer] = []
    notes: list[str] = []
    undecided = False
    for patch in session.series.patches:
        try:
            considered = consider(session, patch)
        except (UsageError, StoreError) as error:
            answers.append(_no_base(patch, error))
            undecided = True
            continue
        considered, told = with_upstream(session, considered)
        notes += [f"{patch.name}: {note}" for note in told]
        session.take(patch, considered.after)
        answer = patch_answer(session, patch, considered)
        answers.append(replace(answer, provisional=undecided))
        undecided = undecided or answer.verdict in ("conflict", "differs")
    return tuple(answers), notes


def with_upstream(session: Session, considered: Considered, *, every: bool = False) -> tuple[Considered, list[str]]:
    """Add which commits did it, and say what could not be found out.

    Commits are named for the hunks that were not simply carried; with ``every`` for all of them.
    """
    clone = session.upstream.clone
    if considered.carried is None or clone is None:
        return considered, []
    base = considered.carried.base
    with_commits = session.target.commit is not None and base.commit is not None
    named = with_history(
        considered.report,
        considered.carried,
        clone,
        session.target,
        session.tree,
        base_tree=session.upstream.tree(base) if base.commit is None else None,
        instead=() if with_commits else load_known(session.series.folder).targets,
        every=every,
    )
    session.lasting = session.lasting and named.lasting
    return replace(considered, report=named.report), list(named.notes)


def _no_base(patch: SeriesPatch, error: PatchkitError) -> PatchAnswer:
    return PatchAnswer(name=patch.name, state="broken", verdict="no-base", reason=error.message, next=error.hint or "")


def patch_answer(session: Session, patch: SeriesPatch, considered: Considered) -> PatchAnswer:
    """Return the answer for a patch that was considered; what it leaves is taken as part of the session already."""
    report = considered.report
    verdict, state = _VERDICTS[report.state]
    hunks = tuple(_hunks(patch, considered, whole=_is_other_than_asked(session, report)))
    if report.state == "already" and any(hunk.verdict == Verdict.CONFLICT.value for hunk in hunks):
        # A variant is there; the question was what carrying another one would give.
        verdict, state = "conflict", "broken"
    elif _is_other_than_asked(session, report):
        verdict, state = "review", "look"
    elif verdict == "conflict" and all(hunk.state != "broken" for hunk in hunks):
        # Every hunk has its place and what came out of it is refused, or there is nothing left to put a hunk into.
        verdict = "failed" if report.reason else "conflict"
    checks = _checks(session, patch, considered) if verdict != "conflict" else ()
    answer = PatchAnswer(
        name=patch.name,
        state=state,
        verdict=verdict,
        reason=report.reason or _undecided(verdict, hunks),
        base=report.base,
        variant=report.variant,
        groups=groups(patch.document, session.target, hunks),
        hunks=hunks,
        checks=checks,
        alarms=report.alarms,
        review=report.review,
    )
    return with_states(answer, state)


def _undecided(verdict: str, hunks: Sequence[HunkAnswer]) -> str:
    """Say why a patch is in conflict of which no hunk is."""
    if verdict != "conflict" or any(hunk.state == "broken" for hunk in hunks):
        return ""
    names = ", ".join(hunk.id for hunk in hunks if hunk.review)
    return f"a person has to decide what becomes of {names}: the target changed what is there"


def _checks(session: Session, patch: SeriesPatch, considered: Considered) -> tuple[CheckReport, ...]:
    if considered.carried is None:
        return ()
    contents = {**session.contents, **considered.after}
    applied = [*(each for each in session.applied if each is not patch), patch]
    found = run_checks(applied, session.target, session.tree, contents)
    return tuple(check for check in found if check.patch == patch.name)


def _is_other_than_asked(session: Session, report: PatchRebase) -> bool:
    """Tell whether a variant is there, and somebody asked about another one, which would give another text."""
    return report.state == "already" and bool(report.reason) and session.request.base is not None


def _hunks(patch: SeriesPatch, considered: Considered, *, whole: bool) -> list[HunkAnswer]:
    report: PatchRebase = considered.report
    of, fitted = _texts(patch, considered)
    base = _base_texts(considered.carried)
    found: list[HunkAnswer] = []
    for hunk in report.hunks:
        spec = patch.document.hunk(hunk.id)
        at = hunk.path, hunk.id
        # What a variant to be made has of a hunk in conflict are those of its places that are in none.
        fits = at in fitted and (of == "variant" or hunk.verdict != Verdict.CONFLICT.value)
        shown = fitted[at] if fits else base.get(at)
        answer = HunkAnswer(
            id=hunk.id,
            group=spec.group if spec is not None else "",
            path=hunk.path,
            state="fine",
            verdict=hunk.verdict,
            intent=spec.intent if spec is not None else "",
            reason=hunk.reason,
            old=hunk.old,
            new=hunk.new,
            drift=hunk.drift,
            alarms=hunk.alarms,
            review=() if report.state == "already" and not whole else hunk.review,
            commits=hunk.commits,
            drop_when=hunk.drop_when,
            diff=hunk_text(hunk.path, shown) if shown is not None else "",
            diff_of="" if shown is None else of if fits else "base",
            conflicts=_conflicts(hunk, considered.carried),
        )
        found.append(replace(answer, state=hunk_state(answer)))
    return found


_Texts = Mapping[tuple[str, str], Hunk]
"""Hunks by path and id."""


def _texts(patch: SeriesPatch, considered: Considered) -> tuple[Literal["variant", "proposed"], _Texts]:
    """Return the hunks as they are for the target, and whose: the variant's that is there, or of the one to be made."""
    name = considered.report.variant
    if name is not None and name in patch.texts and considered.report.state == "already":
        return "variant", _by_id(patch.variant(name))
    return "proposed", _by_id(considered.variant.patch) if considered.variant is not None else {}


def _base_texts(carried: CarriedPatch | None) -> _Texts:
    return _by_id(carried.layer.text) if carried is not None else {}


def _by_id(text: Patch) -> _Texts:
    return {(file.path, hunk.id): hunk for file in text.files for hunk in file.hunks}


def _conflicts(hunk: HunkRebase, carried: CarriedPatch | None) -> tuple[ConflictReport, ...]:
    if carried is None or hunk.verdict != Verdict.CONFLICT.value:
        return ()
    return tuple(
        ConflictReport(
            base=met.spot.conflict.base.decode("utf-8", "replace"),
            changed=met.spot.conflict.changed.decode("utf-8", "replace"),
            target=met.spot.conflict.target.decode("utf-8", "replace"),
            line=met.spot.target[0] + 1,
        )
        for file in carried.files
        if file.path == hunk.path
        for met in file.met
        if hunk.id in met.ids
    )
