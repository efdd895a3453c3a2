"""A run of rebase through the patches of a series, up to the end or to where a person has to decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from patchkit import __version__
from patchkit.core.rebasing.memory import Resolution
from patchkit.core.rebasing.rebased import Rebased
from patchkit.core.report import Problem
from patchkit.core.upstream import PinnedCommit, VersionsDocument
from patchkit.operations.coverage import is_uncarried, left_out_before
from patchkit.operations.rebase_hand import ByHand, read_by_hand
from patchkit.operations.rebase_history import with_history
from patchkit.operations.rebase_judge import consider, judge, settled_text
from patchkit.operations.rebase_pages import drafts, pages
from patchkit.operations.rebase_session import Considered, Session, replayed
from patchkit.operations.rebase_signed import Signed
from patchkit.operations.rebase_write import Decided, write_series
from patchkit.progress import Reporter, silent
from patchkit.store.edit_dir import EditDir, Settled, State, claim
from patchkit.store.lock import read_lock
from patchkit.store.series import SeriesPatch


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a run depends on beside the series and the request."""

    today: str
    """YYYY-MM-DD, for ``last-update``."""
    dry_run: bool = False
    edit_dir: Path | None = None
    cache: Path | None = None
    reporter: Reporter = silent


class Run:
    """One run of the command, from the first patch or from where an earlier one stopped."""

    def __init__(
        self,
        folder: Path,
        session: Session,
        versions: VersionsDocument,
        around: Surroundings,
        edit_dir: EditDir | None = None,
    ) -> None:
        self._folder = folder
        self._session = session
        self._versions = versions
        self._around = around
        self._edit_dir = edit_dir
        self._settled: list[tuple[SeriesPatch, Settled, bytes]] = []
        self._resolutions: dict[str, Resolution] = {}
        self._notes: list[str] = []
        self._stop: Considered | None = None
        self._last: list[Considered] = []

    def go(self, done: Sequence[Considered]) -> Rebased:
        """Carry the patches behind those that are ``done``, and write or stop."""
        self._last = list(done)
        for patch in self._session.series.patches[len(self._last) :]:
            self._around.reporter.step(f"carrying {patch.name} to {self._session.target.title}")
            self._add(patch, consider(self._session, patch))
        return self._end()

    def resume(self, state: State, signed: Signed, *, skip: bool) -> Rebased:
        """Take what is settled, then what a person made of the current patch, and go on."""
        assert self._edit_dir is not None  # noqa: S101 - resume of this module has found it
        session = self._session
        self._resolutions.update(self._edit_dir.resolutions())
        done: list[Considered] = []
        for patch, settled in zip(session.series.patches, state.settled, strict=False):
            text = self._edit_dir.settled_text(patch.name) if settled.text else b""
            session.take(patch, replayed(session, patch, settled, text))
            self._settled.append((patch, settled, text))
            done.append(Considered(report=settled.report, settled=settled))
        current = session.series.patch(state.current)
        carried = session.carry(current)
        hand = read_by_hand(self._edit_dir, carried, session.target, signed, skip=skip)
        if not isinstance(hand, ByHand):
            report = judge(session, current, carried, {file.path: file.after() for file in carried.files}).report
            self._last = [*done, Considered(report=report)]
            return self._answer("conflict", ok=False, problems=hand, edit_dir=self._edit_dir)
        self._resolutions.update(hand.resolutions)
        session.resolutions.update(hand.resolutions)
        self._notes += hand.notes
        considered = judge(session, current, carried, hand.after, hunks=hand.hunks, alarms=hand.alarms)
        if considered.settled is None:
            # What was edited stays as it is; the files are not handed out again.
            self._last = [*done, considered]
            problem = _why_not(considered, "--skip" if skip else "--continue")
            return self._answer(considered.report.state, ok=False, problems=(problem,), edit_dir=self._edit_dir)
        self._last = done
        # What was accepted here was looked at; what comes behind it was not.
        session.request = replace(session.request, accept=state.accept, accept_resolutions=state.accept_resolutions)
        self._add(current, considered)
        return self.go(self._last)

    def _add(self, patch: SeriesPatch, considered: Considered) -> None:
        """Go on from an answer; the first one that a person has to decide is where the rebase stops."""
        clone = self._session.upstream.clone
        if clone is not None and considered.carried is not None:
            session, base = self._session, considered.carried.base
            named = with_history(
                considered.report,
                considered.carried,
                clone,
                session.target,
                session.tree,
                base_tree=session.upstream.tree(base) if base.commit is None else None,
                instead=session.upstream.known,
            )
            considered = replace(considered, report=named.report)
            self._notes += [f"{patch.name}: {note}" for note in named.notes]
        self._notes += _not_in_base(patch, considered)
        self._session.take(patch, considered.after)
        if self._stop is not None:
            considered = replace(considered, report=replace(considered.report, provisional=True))
        self._last.append(considered)
        if considered.settled is None:
            self._stop = self._stop or considered
        elif self._stop is None:
            settled = replace(considered.settled, report=considered.report)
            self._settled.append((patch, settled, settled_text(considered) if settled.text else b""))

    def _end(self) -> Rebased:
        if self._stop is not None:
            return self._stopped(self._stop)
        if self._nothing_new():
            self._close()
            return self._answer("already", ok=True)
        decided = Decided(self._session, self._versions, self._settled, self._resolutions)
        around = self._around
        written = write_series(
            self._folder,
            decided,
            today=around.today,
            dry_run=around.dry_run,
            cache=around.cache,
            reporter=around.reporter,
        )
        if written.problems:
            return self._answer("refused", ok=False, problems=written.problems, edit_dir=self._edit_dir)
        if not around.dry_run:
            self._close()
        verdict = "would-write" if around.dry_run else "written"
        return self._answer(verdict, ok=True, written=written.files, removed=written.removed)

    def _nothing_new(self) -> bool:
        """Whether each patch has a variant for the target, and the lock has the target with it."""
        target = self._session.target
        served = all(
            settled.report.state in ("not-needed", "kept")
            # What fits is there, but patch.yaml calls the patch not needed still: that has to be written.
            or (settled.report.state == "already" and not is_uncarried(patch.document, target))
            for patch, settled, _ in self._settled
        )
        lock = read_lock(self._folder)
        known = lock is not None and target.name in lock.targets
        return (
            served
            and known
            and not self._resolutions
            and lock is not None
            and lock.series == self._session.series.digest
        )

    def _close(self) -> None:
        if self._edit_dir is not None and not self._around.dry_run:
            self._edit_dir.remove()

    def _stopped(self, stop: Considered) -> Rebased:
        """Leave an edit directory for the patch that a person has to decide."""
        if stop.report.state == "differs" or stop.carried is None:
            problem = Problem(stop.report.reason, patch=stop.report.name)
            return self._answer("refused", ok=False, problems=(problem,), edit_dir=self._edit_dir)
        if self._around.dry_run:
            # The whole way was gone: what is worst says it, not where a person would have to begin.
            states = {considered.report.state for considered in self._last}
            return self._answer("conflict" if "conflict" in states else stop.report.state, ok=False)
        session, request = self._session, self._session.request
        added = session.upstream.added
        edit_dir = self._edit_dir or claim(self._folder, self._around.edit_dir, session.target.name)
        state = State(
            series=session.series.digest,
            target=request.onto,
            name=session.target.name,
            commit=session.target.commit,
            added=added if isinstance(added, PinnedCommit) else None,
            base=request.base,
            repository=str(request.repository.resolve()) if request.repository else None,
            patches=request.patches,
            accept=request.accept,
            accept_resolutions=request.accept_resolutions,
            settled=tuple(settled for _, settled, _ in self._settled),
            current=stop.report.name,
        )
        edit_dir.write(
            state,
            texts={patch.name: text for patch, settled, text in self._settled if settled.text},
            files=drafts(stop.carried, session.target),
            pages=pages(stop.carried, stop.report, session.target, session.resolutions, series=self._folder),
            resolutions=self._resolutions,
        )
        return self._answer(stop.report.state, ok=False, edit_dir=edit_dir)

    def _answer(
        self,
        verdict: str,
        *,
        ok: bool,
        problems: Sequence[Problem] = (),
        written: Sequence[str] = (),
        removed: Sequence[str] = (),
        edit_dir: EditDir | None = None,
    ) -> Rebased:
        return Rebased(
            tool=__version__,
            ok=ok,
            verdict=verdict,
            series=str(self._folder),
            target=self._session.target.name,
            commit=None if self._session.target.release else self._session.target.commit,
            patches=tuple(considered.report for considered in self._last),
            edit_dir=str(edit_dir.folder) if edit_dir else None,
            written=tuple(written),
            removed=tuple(removed),
            problems=tuple(problems),
            notes=tuple(self._notes),
        )


def _not_in_base(patch: SeriesPatch, considered: Considered) -> list[str]:
    """Say which hunks an earlier rebase left out of what a patch is carried from: the target lacks them as well."""
    carried = considered.carried
    if carried is None:
        return []
    here = {hunk.id for hunk in considered.report.hunks}
    return [
        f"{patch.name}: {name} is not in {carried.base.title} either, which this is carried from: {why}"
        for name, why in left_out_before(patch.document, carried.base).items()
        if name not in here
    ]


def _why_not(considered: Considered, way: str) -> Problem:
    """Say why a person's text is not taken yet; ``way`` is the option by which it was handed in."""
    report = considered.report
    if report.state == "review":
        lines: Mapping[str, None] = dict.fromkeys((*report.review, *(line for h in report.hunks for line in h.review)))
        return Problem(
            f"there is something to look at: {'; '.join(lines)}",
            patch=report.name,
            hint=f"correct it in the edit directory, or take it as it is with {way} --accept",
        )
    return Problem(report.reason, patch=report.name, hint=f"correct it in the edit directory, then {way}")
