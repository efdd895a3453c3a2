"""Looking at one target of check-upstream: proving what the lock has, or carrying to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.rebasing.memory import Resolution
from patchkit.core.report import Problem
from patchkit.core.reported import fingerprint
from patchkit.core.upstream_report import PatchAnswer, TargetAnswer, worst
from patchkit.errors import (
    DamagedCloneError,
    DigestMismatchError,
    RevisionNotFoundError,
    StoreError,
    TreeError,
    UnsafePathError,
)
from patchkit.operations.commands import regenerate
from patchkit.operations.coverage import is_uncarried
from patchkit.operations.locked import Sources
from patchkit.operations.processes import dealt_out
from patchkit.operations.rebase_session import Request, Session
from patchkit.operations.rebase_targets import Upstream
from patchkit.operations.sources import Workspace, fetch_releases
from patchkit.operations.upstream_bare import bare
from patchkit.operations.upstream_carried import carried
from patchkit.operations.upstream_recorded import differs, not_recorded, recorded
from patchkit.operations.upstream_targets import Asked, Wanted
from patchkit.progress import Reporter
from patchkit.store.memory import load_resolutions
from patchkit.store.series import Series
from patchkit.trees.git_program import GitProgram
from patchkit.trees.interface import SourceTree

if TYPE_CHECKING:
    from patchkit.trees.package_indexes import PackageIndexes

_FEW = 4
"""Targets that are looked at sooner than other processes begin."""


class Looked(msgspec.Struct, frozen=True):
    """What was seen at one target. What is out of reach has no fingerprint."""

    answer: TargetAnswer
    notes: tuple[str, ...]
    lasting: bool
    """Whether the answer is one for next time: it lacks no base and no commit that was out of reach."""


class Look:
    """Looks at targets; imported when one is not known yet, as all of the engine is behind it."""

    def __init__(
        self, workspace: Workspace, asked: Asked, clone: GitProgram | None, cache: Path, reporter: Reporter
    ) -> None:
        self._workspace = workspace
        self._sources: Sources = workspace.sources
        self._asked = asked
        self._cache = cache
        self._reporter = reporter
        self._resolutions: dict[str, Resolution] = load_resolutions(self._series.folder)
        self._upstream = Upstream(
            workspace.versions,
            clone,
            cache=cache,
            offline=asked.offline,
            reporter=reporter,
        )
        self._failed: dict[str, TreeError] = {}
        self._is_whole = True
        self._notes: list[str] = []

    def fetch(self, wanted: Sequence[Wanted], indexes: PackageIndexes | None) -> None:
        """Bring the releases among ``wanted`` into the cache, several at a time; None: from where pip looks."""
        if not self._asked.offline:
            targets = [each.target for each in wanted]
            self._failed = fetch_releases(
                self._workspace.versions, targets, cache=self._cache, indexes=indexes, reporter=self._reporter
            )

    @property
    def _series(self) -> Series:
        return self._sources.series

    def at_all(self, wanted: Sequence[Wanted]) -> Iterator[tuple[int, Looked]]:
        """Yield the place of each target and what was seen there, in any order."""
        return dealt_out(
            wanted, self._at, few=_FEW, begun=lambda each: self._reporter.step(f"looking at {each.target.title}")
        )

    def _at(self, wanted: Wanted) -> Looked:
        self._notes.clear()
        answer = self._answer_or_why_not(wanted)
        # A wheel keeps what was read of it, five MiB; of twenty releases that is more than all the rest.
        self._upstream.let_go(wanted.target)
        return Looked(answer, tuple(self._notes), not self._upstream.missed and self._is_whole)

    def _answer_or_why_not(self, wanted: Wanted) -> TargetAnswer:
        self._upstream.missed.clear()
        self._is_whole = True
        try:
            return self._answer(wanted, self._tree(wanted))
        except (DigestMismatchError, UnsafePathError, DamagedCloneError) as error:
            # The text is another one, or none, or the clone lost it: an answer, and no good one.
            problem = Problem(error.message, hint=error.hint)
            return replace(bare(wanted), state="broken", reason=error.message, problems=(problem,))
        except TreeError as error:
            return replace(bare(wanted), state="unreachable", reason=error.message, next=error.hint or "")

    def _tree(self, wanted: Wanted) -> SourceTree:
        failed = self._failed.get(wanted.target.name)
        tree = self._upstream.tree(wanted.target) if failed is None else None
        if tree is None and not isinstance(failed, (DigestMismatchError, UnsafePathError)):
            tree = self._of_clone(wanted)
        if tree is None:
            raise failed or TreeError("it is not in the cache", hint="look again without --offline")
        return tree

    def _of_clone(self, wanted: Wanted) -> SourceTree | None:
        """Return a release at its commit, where the clone has that and the wheel has all that the series touches.

        None where the lock does not say what its text has to be: a wheel need not be what the commit is.
        """
        target, clone = wanted.target, self._upstream.clone
        lock = self._sources.lock.targets.get(target.name)
        if clone is None or lock is None or target.release is None or target.commit is None:
            return None
        ships = self._workspace.versions.upstream.ships
        if not all(ships(target.release, path) for path in lock.paths):
            return None
        from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where a wheel is out of reach

        try:
            tree = GitTree(clone, target.commit)
        except RevisionNotFoundError:
            return None
        # Of the same text as the wheel or broken; but the wheel itself has not been seen.
        self._is_whole = False
        instead = f"commit {target.commit[:10]} was read instead"
        self._notes.append(f"{target.title}: its wheel is out of reach, and {instead}")
        return tree

    def _answer(self, wanted: Wanted, tree: SourceTree) -> TargetAnswer:
        answer = bare(wanted)
        lock = self._sources.lock.targets.get(wanted.target.name)
        other = differs(lock, tree) if lock is not None else []
        if other and wanted.recorded is None:
            problem = not_recorded(wanted.target, other, self._series.folder)
            return replace(answer, state="broken", reason=problem.message, problems=(problem,))
        waits = any(is_uncarried(patch.document, wanted.target) for patch in self._series.patches)
        if lock is not None and not other and not waits and self._asked.base is None:
            return self._finished(answer, tree, self._recorded(wanted, tree))
        answer = replace(answer, moved=bool(other))
        request = Request(onto=wanted.target.name, base=self._base(wanted))
        at = wanted.target, tree
        session = Session(
            self._series, self._upstream, request, self._resolutions, self._sources.lock, at=at, moved=bool(other)
        )
        patches, notes = carried(session)
        self._is_whole = session.lasting
        self._notes += [f"{wanted.target.title}: {note}" for note in notes]
        if self._upstream.missed:
            lost = ", ".join(sorted(self._upstream.missed))
            self._notes.append(f"{wanted.target.title}: nothing could be carried from {lost}, out of reach")
        return self._finished(answer, tree, patches)

    def _recorded(self, wanted: Wanted, tree: SourceTree) -> tuple[PatchAnswer, ...]:
        lock = self._sources.lock.targets[wanted.target.name]
        try:
            return recorded(self._series, wanted.target, lock, tree)
        except StoreError as error:
            # The lock belongs to these sources, and the text is the recorded one: only a damaged series comes here.
            hint = f"run `{regenerate(self._series.folder)}`"
            raise StoreError(error.file, error.key, error.message, hint=hint) from error

    def _base(self, wanted: Wanted) -> str | None:
        """Return whose variants are carried: for a branch that moved on, those of where it was."""
        if self._asked.base is not None:
            return self._asked.base
        return wanted.target.name if wanted.recorded is not None else None

    def _finished(self, answer: TargetAnswer, tree: SourceTree, patches: Sequence[PatchAnswer]) -> TargetAnswer:
        # What to do next is not kept with it: that depends on where and with which clone somebody asks.
        done = replace(answer, state=worst([answer.state, *(patch.state for patch in patches)]), patches=tuple(patches))
        return replace(done, fingerprint=fingerprint(self._blobs(tree, patches), done.patches, ()))

    def _blobs(self, tree: SourceTree, patches: Sequence[PatchAnswer]) -> Mapping[str, str | None]:
        paths = sorted({hunk.path for patch in patches for hunk in patch.hunks})
        return {path: blob_id_if_any(tree.read(path)) for path in paths}
