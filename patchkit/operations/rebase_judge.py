"""What a carried patch comes to: a variant that is there, a new one, or a decision for a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from patchkit.core.carry_report import SKIPPED, AlarmReport
from patchkit.core.gating.gates import Rule
from patchkit.core.rebasing.ranges import is_open
from patchkit.core.rebasing.rebased import HunkRebase, PatchRebase
from patchkit.core.unified import print_patch
from patchkit.core.unwritten import is_unwritten
from patchkit.core.upstream import Target
from patchkit.operations.checks import run_checks
from patchkit.operations.coverage import expected_hunks, left_out_before, variants_for, why_not_needed
from patchkit.operations.rebase_carried import CarriedPatch
from patchkit.operations.rebase_edit import variant_file
from patchkit.operations.rebase_session import Considered, Session
from patchkit.operations.rebase_targets import existing_result
from patchkit.operations.rebase_variant import Variant, left_out, make_variant
from patchkit.store.edit_dir import Settled
from patchkit.store.series import SeriesPatch


def consider(session: Session, patch: SeriesPatch) -> Considered:
    """Carry a patch, or say why that is not needed. Raises StoreError, UsageError, TreeError."""
    judging = _Judging(session, patch)
    if session.request.patches and patch.name not in session.request.patches:
        return judging.kept()
    reason = why_not_needed(patch.document.not_needed, session.target)
    if reason is not None and (not is_unwritten(reason) or judging.is_left_out_whole()):
        report = PatchRebase(name=patch.name, state="not-needed", reason=reason, hunks=judging.with_decisions(()))
        return Considered(report=report, settled=Settled(report=report))
    carried = session.carry(patch)
    return judging.judge(carried, {file.path: file.after() for file in carried.files})


def judge(
    session: Session,
    patch: SeriesPatch,
    carried: CarriedPatch,
    after: Mapping[str, bytes | None],
    *,
    hunks: Callable[[Variant], Sequence[HunkRebase]] | None = None,
    alarms: Sequence[AlarmReport] = (),
) -> Considered:
    """Say what a carried patch comes to, with ``after`` as its result by path.

    ``hunks`` says of a person's text what became of each hunk, ``alarms`` is what the gates find in it.
    """
    return _Judging(session, patch).judge(carried, after, hunks=hunks, alarms=alarms)


class _Judging:
    """The answer for one patch."""

    def __init__(self, session: Session, patch: SeriesPatch) -> None:
        self._session = session
        self._patch = patch
        self._target = session.target

    def judge(
        self,
        carried: CarriedPatch,
        after: Mapping[str, bytes | None],
        *,
        hunks: Callable[[Variant], Sequence[HunkRebase]] | None = None,
        alarms: Sequence[AlarmReport] = (),
    ) -> Considered:
        """Say what a carried patch comes to, with ``after`` as its result by path.

        ``hunks`` says of a person's text what became of each hunk, ``alarms`` is what the gates find in it.
        """
        by_hand = hunks is not None
        variant = make_variant(carried, after)
        told = tuple(hunks(variant)) if hunks is not None else variant.hunks
        report = PatchRebase(
            name=self._patch.name,
            state="conflict",
            base=carried.base.name,
            hunks=tuple(self._with_drop_when(hunk) for hunk in told),
            alarms=tuple(alarms)
            if by_hand
            else tuple(located(file.path, each) for file in carried.files for each in file.alarms),
        )
        own = self._own(carried, after, report)
        if own is not None:
            return own
        if carried.in_conflict and not by_hand:
            return Considered(report=report, carried=carried, after=after, variant=variant)
        if variant.problems:
            problem = variant.problems[0]
            where = ":".join(str(part) for part in (problem.path, problem.line) if part is not None)
            report = replace(report, reason=f"{where}: {problem.message}", review=(problem.hint or "",))
            return Considered(report=report, carried=carried, after=after, variant=variant)
        return self._written_down(carried, after, variant, report)

    def _written_down(
        self,
        carried: CarriedPatch,
        after: Mapping[str, bytes | None],
        variant: Variant,
        report: PatchRebase,
    ) -> Considered:
        """Return the answer for a patch that a variant can be made of, or that has one with the same text."""
        # Nobody can accept what is no Python.
        failed = [f"{each.rule}: {each.message}" for each in _all_alarms(report) if each.rule == Rule.SYNTAX.value]
        failed = failed or self._failed_checks(after)
        alarms = [f"{alarm.rule}: {alarm.message}" for alarm in report.alarms if alarm.rule != Rule.SYNTAX.value]
        existing, told = self._alike(carried, after)
        review = (*alarms, *told, *self._unexpected(variant, report.hunks, carried.base))
        needs_look = bool(review) or any(hunk.review for hunk in report.hunks)
        accepted = not failed and (not needs_look or self._session.request.accept)
        state = "conflict" if failed else "review" if needs_look else "already" if existing else "clean"
        if accepted and needs_look:
            state = "already" if existing else "accepted"
        file = existing or (variant_file(self._target) if variant.patch.files else None)
        report = replace(report, state=state, variant=file, review=review, reason="; ".join(failed))
        settled = None
        if accepted:
            settled = Settled(
                report=report,
                text=bool(variant.patch.files) and existing is None,
                existing=existing,
                left_out=left_out(report.hunks),
                scopes=dict(variant.scopes) if existing is None else {},
            )
        return Considered(report=report, carried=carried, after=after, variant=variant, settled=settled)

    def kept(self) -> Considered:
        """Answer for a patch that was not asked for: its variant stays, and later patches lie on it."""
        found = variants_for(self._patch.document, self._target)
        report = PatchRebase(name=self._patch.name, state="kept", variant=found[0].file if found else None)
        if not found:
            return Considered(report=report, settled=Settled(report=report))
        texts = {file.path: self._session.read(file.path) for file in self._patch.variant(found[0].file).files}
        made = existing_result(self._patch, found[0].file, texts)
        if made is None:
            report = replace(report, state="differs", reason=self._does_not_fit(found[0].file))
            return Considered(report=report)
        return Considered(report=report, after=made, settled=Settled(report=report, existing=found[0].file))

    def is_left_out_whole(self) -> bool:
        """Tell whether an earlier rebase left out every hunk, so that there is nothing to be carried."""
        document, target = self._patch.document, self._target
        return bool(left_out_before(document, target)) and not expected_hunks(document, target)

    def with_decisions(self, hunks: Sequence[HunkRebase]) -> tuple[HunkRebase, ...]:
        """Return the answers with those of an earlier rebase for hunks that it left out."""
        decided = left_out_before(self._patch.document, self._target)
        told = {hunk.id: hunk for hunk in hunks}
        for name, why in decided.items():
            spec = self._patch.document.hunk(name)
            path = spec.file if spec is not None else ""
            old = told[name].old if name in told else None
            told[name] = HunkRebase(
                id=name, path=path, verdict=SKIPPED, old=old, new=None, reason=f"left out before: {why}"
            )
        return tuple(told.values())

    def _own(self, carried: CarriedPatch, after: Mapping[str, bytes | None], report: PatchRebase) -> Considered | None:
        """Answer with the variant that somebody has decided on for the target; None when there is none.

        That is one that was made for it, or the base's if the lock has it for the target. A range that is open towards
        later releases is no decision about any of them, nor is anything about a branch that has moved since.
        """
        if self._session.moved or any(file.obstructed for file in carried.files):
            return None
        for variant in variants_for(self._patch.document, self._target):
            is_base = variant.file == carried.layer.variant
            if is_base and not self._is_locked(variant.file):
                continue
            texts = self._texts(carried, variant.file)
            made = existing_result(self._patch, variant.file, texts)
            if made is None and not is_base:
                if self._target.name not in variant.targets and is_open(variant.releases):
                    continue
                return Considered(report=replace(report, state="differs", reason=self._does_not_fit(variant.file)))
            if made is None:
                continue
            same = not carried.in_conflict and {**texts, **made} == {**texts, **after}
            reason = (
                "" if same else f"carrying {carried.layer.variant} from {carried.base.title} would not give its text"
            )
            hunks = self.with_decisions(report.hunks)
            done = replace(report, state="already", variant=variant.file, reason=reason, hunks=hunks, alarms=())
            settled = Settled(report=done, existing=variant.file)
            return Considered(report=done, carried=carried, after=made, settled=settled)
        return None

    def _is_locked(self, file: str) -> bool:
        target = self._session.lock.targets.get(self._target.name) if self._session.lock else None
        mine = target.patches.get(self._patch.name) if target else None
        return mine is not None and mine.variant == file

    def _texts(self, carried: CarriedPatch, file: str) -> dict[str, bytes | None]:
        """Return what a variant, and the carried patch, find."""
        before = {each.path: each.texts.before for each in carried.files}
        return before | {each.path: self._session.read(each.path) for each in self._patch.variant(file).files}

    def _alike(self, carried: CarriedPatch, after: Mapping[str, bytes | None]) -> tuple[str | None, list[str]]:
        """Return the variant that gives the carried text already, if any, and what to say of one that nearly does."""
        names = [carried.layer.variant, *(variant.file for variant in self._patch.document.variants)]
        told: list[str] = []
        for file in dict.fromkeys(names):
            texts = self._texts(carried, file)
            made = existing_result(self._patch, file, texts)
            if made is not None and {**texts, **made} == {**texts, **after}:
                return file, []
            if made is not None and file == carried.layer.variant:
                told.append(f"{file} fits as it stands as well, and would give another text")
        return None, told

    def _does_not_fit(self, file: str) -> str:
        title = self._target.title
        moved = "" if self._target.release else ", or carry it from the commit it was made for with --from COMMIT"
        return f"{file} is for {title}, and does not fit it: correct it, or take it out of patch.yaml{moved}"

    def _failed_checks(self, after: Mapping[str, bytes | None]) -> list[str]:
        checks = run_checks(
            [*self._session.applied, self._patch], self._target, self._session.tree, {**self._session.contents, **after}
        )
        return [
            f"check {check.id} expects {check.expected} matches and finds {check.found}: {check.intent}"
            for check in checks
            if check.patch == self._patch.name and not check.ok
        ]

    def _unexpected(self, variant: Variant, hunks: Sequence[HunkRebase], base: Target) -> list[str]:
        """Return what patch.yaml says about the target's hunks and the variant does not."""
        found = {hunk.id for file in variant.patch.files for hunk in file.hunks}
        gone = left_out(hunks)
        expected = {hunk.id for hunk in expected_hunks(self._patch.document, self._target)}
        told = [self._lacking(name, base) for name in sorted(expected - found - gone.keys())]
        told += [
            f"hunk {name} is carried, and patch.yaml says that it is not for {self._target.title}"
            for name in sorted(found - expected)
            if self._patch.document.hunk(name) is not None
        ]
        told += [
            f"hunk {name} stands in {scope} now: patch.yaml gets an entry of its own for it"
            for name, scope in variant.scopes.items()
        ]
        return told

    def _lacking(self, name: str, base: Target) -> str:
        """Say of a hunk that patch.yaml has for the target, and the variant of ``base`` has not."""
        title = self._target.title
        spec = self._patch.document.hunk(name)
        if spec is None or base.name not in spec.not_on:
            return f"patch.yaml has a hunk {name} for {title}, which the base does not have: write it by hand"
        # It is out on the base by name, and the target, which was not there then, has another one.
        out = "let its releases begin later" if self._target.release else f"enter {self._target.name} in its not-on too"
        return (
            f"patch.yaml has a hunk {name} for {title}, and not for {base.title} (not-on), which this is carried from: "
            f"{out}, or write it by hand if {title} needs it"
        )

    def _with_drop_when(self, hunk: HunkRebase) -> HunkRebase:
        """Quote patch.yaml's rule for dropping beside a hunk that would be left out."""
        spec = self._patch.document.hunk(hunk.id)
        if spec is None or not hunk.left_out:
            return hunk
        return replace(hunk, drop_when=" ".join((spec.drop_when or self._patch.document.drop_when).split()))


def located(path: str, alarm: AlarmReport) -> AlarmReport:
    """Return an alarm with its place in the message."""
    return replace(alarm, message=f"{path}:{alarm.line}: {alarm.message}")


def _all_alarms(report: PatchRebase) -> list[AlarmReport]:
    inside = [located(hunk.path, alarm) for hunk in report.hunks for alarm in hunk.alarms]
    return [*report.alarms, *inside]


def settled_text(considered: Considered) -> bytes:
    """Return the text of the new variant of a patch that is settled."""
    assert considered.variant is not None  # noqa: S101 - only such patches have a text
    return print_patch(considered.variant.patch)
