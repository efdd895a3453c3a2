"""history: what became of every hunk along a line of commits, and which commits broke it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from patchkit import __version__
from patchkit.core.history.graph import Graph
from patchkit.core.history_report import Counts, HistoryReport, Mark, Place
from patchkit.core.upstream import Target, Upstream
from patchkit.errors import RevisionNotFoundError, UsageError
from patchkit.operations.history_base import Base, asked_base, chosen_base, state_table, touched_paths
from patchkit.operations.history_rows import LineOfCommits, commit_history, counted, hunk_row, place_of
from patchkit.operations.history_states import OUTSIDE, Row, StateTable
from patchkit.operations.revisions import revision_called
from patchkit.operations.sources import Workspace, fetch_release, load_workspace
from patchkit.progress import Reporter, silent
from patchkit.store.cache import default_cache
from patchkit.trees.git import GitTree
from patchkit.trees.git_log import count_everything, moved_to, read_everything, read_graph, subject_of, tags
from patchkit.trees.git_texts import CommitFiles, blobs_at, blobs_in_batches
from patchkit.trees.git_times import UNKNOWN, day, seconds
from patchkit.trees.interface import SourceTree
from patchkit.trees.layout import seen

_RELEASE = re.compile(r"\d+(\.\d+)+")


class HistoryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    repository: Path
    span: str | None = None
    """``A..B``; either may be left out. Default: from the base, else the newest release that the clone has, to HEAD."""
    base: str | None = None
    """Target or revision that the series is carried from. Default: the best one for A."""
    patches: Path | None = None
    names: tuple[str, ...] = ()
    """Patches whose hunks are told; all when there is none."""


def history(request: HistoryRequest, *, cache: Path | None = None, reporter: Reporter = silent) -> HistoryReport:
    """Return the history of every hunk from A to B, along B's first parents.

    Nothing is written to the repository. Raises UsageError for a range that is none or holds no commit, TreeError when
    a commit, tree or blob is missing, and what loading a series raises.
    """
    place = cache or default_cache()
    workspace = load_workspace(request.patches)
    clone = _Clone(workspace, request.repository, place, reporter)
    first, last = clone.ends(request.span, request.base)
    base = clone.base(first, request.base)
    table = state_table(workspace, base, request.names, place, reporter)
    table.expect()
    graph = read_graph(last, first.commit, table.paths)
    if last.commit not in graph:
        raise UsageError(
            f"{first.revision}..{last.revision} holds no commit: {first.revision} has all of {last.revision}",
            hint="the older revision comes first: --range OLD..NEW",
        )
    table.learn({path: graph.blobs(path) for path in table.paths}, lambda blobs: blobs_in_batches(last, blobs))
    notes, start = _beginning(graph, first, last)
    whole = graph.line(last.commit)
    touching = [commit for number, commit in enumerate(whole) if commit.changes or (start is None and number == 0)]
    line = LineOfCommits(graph, table, start, touching)
    rows = _shown(table.rows(), table, graph)
    hunks = tuple(line.row(row, lambda commit, path: moved_to(last, commit, path)) for row in rows)
    on_line = {commit.id for commit in whole}
    tip = place_of(whole[-1])
    changing = [commit for commit in reversed(list(graph)) if commit.changes]
    return HistoryReport(
        tool=__version__,
        verdict=_verdict(hunk.first_bad is not None for hunk in hunks),
        source="git",
        series=str(workspace.sources.series.folder),
        patches=request.names,
        repository=str(request.repository),
        base=base.target.name,
        base_reason=base.reason,
        span=f"{first.revision}..{last.revision}",
        counts=Counts(
            commits=len(graph),
            line=len(whole),
            touching=len(changing),
            texts=_texts(graph, table.paths),
            carried=table.carried,
        ),
        line=line.places,
        tip=tip,
        hunks=hunks,
        commits=tuple(commit_history(commit, table, rows, on_line=commit.id in on_line) for commit in changing),
        marks=_marks(
            last, workspace.versions.upstream, (*line.places, tip), {*on_line, *([start.id] if start else [])}
        ),
        notes=tuple(notes),
    )


def history_of_refs(
    request: HistoryRequest, *, cache: Path | None = None, reporter: Reporter = silent
) -> HistoryReport:
    """Return, for every hunk, on how many of the texts that its file has on any branch or tag it is what.

    Raises what ``history`` does.
    """
    if request.span is not None:
        raise UsageError("--all looks at every branch and tag; it takes no --range")
    place = cache or default_cache()
    workspace = load_workspace(request.patches)
    clone = _Clone(workspace, request.repository, place, reporter)
    first = clone.beginning(request.base)
    base = clone.base(first, request.base)
    table = state_table(workspace, base, request.names, place, reporter)
    table.expect()
    found = read_everything(first, table.paths)
    blobs: dict[str, list[str | None]] = {path: [] for path in table.paths}
    for each in found:
        blobs[each.path].append(each.blob)
    table.learn(blobs, lambda wanted: blobs_in_batches(first, wanted))
    rows = [
        row for row in table.rows() if row.id != OUTSIDE or any(table.of(row, blob).bad for blob in blobs[row.path])
    ]
    hunks = tuple(hunk_row(row, (), (), counts=counted(row, table, blobs[row.path])) for row in rows)
    return HistoryReport(
        tool=__version__,
        verdict=_verdict(table.of(row, blob).bad for row in rows for blob in blobs[row.path]),
        source="refs",
        series=str(workspace.sources.series.folder),
        patches=request.names,
        repository=str(request.repository),
        base=base.target.name,
        base_reason=base.reason,
        span="every branch and tag",
        counts=Counts(
            commits=count_everything(first),
            touching=len({each.commit.id for each in found}),
            texts=sum(each.blob is not None for each in found),
            carried=table.carried,
        ),
        hunks=hunks,
        commits=tuple(
            commit_history(each.commit, table, rows, on_line=False, blobs={each.path: each.blob}) for each in found
        ),
        notes=("the clone is shallow: texts that are older than it are not counted",) if first.program.shallow else (),
    )


class _Clone:
    """A git repository, and what the names in a request mean in it."""

    def __init__(self, workspace: Workspace, repository: Path, cache: Path, reporter: Reporter) -> None:
        self._workspace = workspace
        self._repository = repository
        self._cache = cache
        self._reporter = reporter
        self._any: GitTree | None = None

    def revision(self, asked: str) -> GitTree:
        """Return a revision: as git knows it, else as a release's tag, else as the tag, branch or commit of a target.

        Raises as GitTree does.
        """
        try:
            return revision_called(asked, self._workspace.versions.upstream, self._at)
        except RevisionNotFoundError as unknown:
            try:
                target = self._workspace.target(asked)
            except UsageError:
                raise unknown from None
        for spelling in (target.tag, f"origin/{target.name}", target.commit):
            with suppress(RevisionNotFoundError):
                if spelling is not None:
                    return self._at(spelling)
        raise RevisionNotFoundError(
            f"{self._repository}: {target.title} is not in this clone", hint="fetch it, or name another revision"
        )

    def ends(self, span: str | None, base: str | None) -> tuple[GitTree, GitTree]:
        """Return both ends of a range. Raises UsageError."""
        older, dots, newer = (span or "..").partition("..")
        if not dots or newer.startswith(".") or ".." in newer:
            raise UsageError(f"{span!r} is no range", hint="--range OLD..NEW, such as core_v0.16.0..main")
        first = self.revision(older) if older else self.beginning(base)
        return first, self.revision(newer or "HEAD")

    def beginning(self, base: str | None) -> GitTree:
        """Return where a history begins when nobody said it: the base, else the newest release that the clone has."""
        if base is not None:
            return self.revision(base)
        releases = [target for target in self._workspace.targets if target.release and not target.release.yanked]
        # By its tag rather than its commit: it is this name that the answer has.
        for spelling in (name for target in reversed(releases) for name in (target.tag, target.commit) if name):
            with suppress(RevisionNotFoundError):
                return self._at(spelling)
        raise UsageError(
            f"{self._repository} has none of the releases that the series knows",
            hint="say where the history begins: --range OLD..NEW",
        )

    def base(self, first: GitTree, asked: str | None) -> Base:
        """Return what the series is carried from."""
        if asked is not None:
            return asked_base(self._workspace, first, asked, self._tree)
        paths = touched_paths(self._workspace)
        blobs = blobs_at(first, [first.commit], paths).get(first.commit, {})
        return chosen_base(self._workspace, first, blobs, self._tree)

    def _tree(self, target: Target) -> SourceTree:
        """Return the text of a target: from the clone where that has it, else from the package index."""
        if target.commit is not None:
            try:
                locked = self._workspace.sources.lock.targets[target.name].patches.values()
                # Not those of other targets: a partial clone may lack them.
                return CommitFiles(self._at(target.commit), {path: None for patch in locked for path in patch.files})
            except RevisionNotFoundError:
                if target.release is None:
                    raise
        from patchkit.trees.archive import WheelTree  # noqa: PLC0415 - zipfile only where a wheel is read

        versions = self._workspace.versions
        wheel = fetch_release(versions, target, cache=self._cache, reporter=self._reporter)
        return seen(WheelTree(wheel), versions.upstream)

    def _at(self, revision: str) -> GitTree:
        if self._any is None:
            # Reading a history writes nothing, also not what a partial clone lacks.
            self._any = GitTree(self._repository, revision, download=False)
            return self._any
        return self._any.at(revision)


def _beginning(graph: Graph, first: GitTree, last: GitTree) -> tuple[list[str], Place | None]:
    """Return what there is to say about where the line begins, and that place: the parent of the first commit on it."""
    oldest = graph.line(last.commit)[0]
    if not oldest.parents:
        why = "the clone is shallow" if oldest.id in graph.edges else f"{last.revision} does not rest on it"
        return [f"the line begins with {oldest.id[:10]}, not with {first.revision}: {why}"], None
    start = oldest.parents[0]
    time, _, subject = last.ask("log", "-1", "--format=%ct%x00%s", start).partition(b"\0")
    at = seconds(time.decode())
    told = subject_of(subject.removesuffix(b"\n"))
    place = Place(id=start, name=start[:10], date=day(at), time=at, subject=told)
    if start == first.commit:
        return [], place
    return [f"{first.revision} is not on the line to {last.revision}: it begins where they part, {start[:10]}"], place


def _shown(rows: Iterable[Row], table: StateTable, graph: Graph) -> list[Row]:
    """Leave out what stands for the lines outside of the hunks where no gate fired on them."""
    return [row for row in rows if row.id != OUTSIDE or any(table.of(row, blob).bad for blob in graph.blobs(row.path))]


def _texts(graph: Graph, paths: Sequence[str]) -> int:
    return sum(blob is not None for path in paths for blob in graph.blobs(path))


def _marks(tree: GitTree, upstream: Upstream, places: Sequence[Place], on_line: set[str]) -> tuple[Mark, ...]:
    """Return the tags of releases on the line, and those of its time, as far as that is known."""
    times = [place.time for place in places if place.time] or [UNKNOWN]
    begin, end = min(times), max(times)
    found = [
        Mark(tag=tag.name, date=day(tag.time), time=tag.time, on_line=tag.commit in on_line)
        for tag in tags(tree)
        if _RELEASE.fullmatch(upstream.version_in(tag.name) or tag.name.removeprefix("v"))
        and (begin <= tag.time <= end or tag.commit in on_line)
    ]
    return tuple(sorted(found, key=lambda mark: (mark.time, mark.tag)))


def _verdict(bad: Iterable[bool]) -> Literal["whole", "broken"]:
    return "broken" if any(bad) else "whole"
