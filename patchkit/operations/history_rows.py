"""One hunk's history as a report: its states along the line, its breaks, and the changes inside of merges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from patchkit.core.carry_report import pull_request
from patchkit.core.history.descent import cause
from patchkit.core.history.graph import Commit, Graph
from patchkit.core.history.spans import BadSpan, HunkState, bad_spans, spans_of
from patchkit.core.history_report import BreakReport, CommitHistory, HunkHistory, Place, SpanReport, StateReport
from patchkit.core.printing import printable
from patchkit.operations.history_states import Row, StateTable
from patchkit.trees.git_times import day

MovedTo = Callable[[str, str], "str | None"]
"""Tells where a commit moved a path to."""


def place_of(commit: Commit) -> Place:
    """Return a commit for the report."""
    # A subject is anybody's text: no escape sequence in it may reach a terminal or a page.
    subject = printable(commit.subject)
    return Place(
        id=commit.id,
        name=commit.id[:10],
        date=day(commit.time),
        time=commit.time,
        subject=subject,
        pull_request=pull_request(subject),
        merge=commit.is_merge,
    )


def state_report(state: HunkState) -> StateReport:
    """Return a state for the report."""
    return StateReport(
        shown=state.shown,
        verdict=state.verdict,
        bad=state.bad,
        reason=state.reason,
        rules=state.rules,
        drift=state.drift,
    )


def hunk_row(
    row: Row, states: Sequence[HunkState], breaks: Sequence[BreakReport], *, counts: dict[str, int] | None = None
) -> HunkHistory:
    """Return a hunk's history from its states along the line."""
    last = breaks[-1] if breaks and breaks[-1].healed is None else None
    return HunkHistory(
        id=row.id,
        patch=row.patch,
        group=row.group,
        path=row.path,
        state=state_report(states[-1]) if states else None,
        spans=tuple(
            SpanReport(first=span.first, end=span.end, state=state_report(span.state)) for span in spans_of(states)
        ),
        first_bad=last,
        healed=tuple(each for each in breaks if each is not last),
        counts=counts or {},
    )


class LineOfCommits:
    """The line of a history: where it begins, and the commits on it that touch a file."""

    def __init__(self, graph: Graph, table: StateTable, start: Place | None, commits: Sequence[Commit]) -> None:
        self._graph = graph
        self._table = table
        self._commits = commits
        self._skipped = 0 if start is None else 1
        self.places: tuple[Place, ...] = (*([] if start is None else [start]), *map(place_of, commits))

    def row(self, row: Row, moved_to: MovedTo) -> HunkHistory:
        """Return what became of a hunk."""
        states = [self._table.of(row, self._graph.blob(place.id, row.path)) for place in self.places]
        return hunk_row(row, states, [self._break(row, states, run, moved_to) for run in bad_spans(states)])

    def _break(self, row: Row, states: Sequence[HunkState], run: BadSpan, moved_to: MovedTo) -> BreakReport:
        state = state_report(states[run.first])
        healed = self.places[run.end] if run.end < len(self.places) else None
        if run.first == 0:
            cut = not self._skipped and self._commits[0].id in self._graph.edges
            why = "what was before is not known: the clone is shallow" if cut else ""
            return BreakReport(at=None, state=state, healed=healed, why=why)
        found = cause(
            self._graph,
            self._commits[run.first - self._skipped],
            row.path,
            lambda blob: self._table.of(row, blob).bad,
        )
        why = found.why
        if self._graph.blob(found.commits[-1], row.path) is None:
            new = moved_to(found.commits[-1], row.path)
            why = f"it moved the file to {new}" if new else why
        return BreakReport(
            at=self.places[run.first],
            state=state,
            within=tuple(place_of(self._graph.commit(name)) for name in found.commits[1:]),
            itself=found.itself,
            why=why,
            healed=healed,
        )


def commit_history(
    commit: Commit, table: StateTable, rows: Iterable[Row], *, on_line: bool, blobs: dict[str, str | None] | None = None
) -> CommitHistory:
    """Return what a commit changed, and the states of the hunks in these files."""
    changes = dict(commit.changes) if blobs is None else blobs
    shown = {f"{row.patch}/{row.id}": table.of(row, changes[row.path]).shown for row in rows if row.path in changes}
    return CommitHistory(place=place_of(commit), on_line=on_line, blobs=changes, states=shown)


def counted(row: Row, table: StateTable, blobs: Iterable[str | None]) -> dict[str, int]:
    """Return how many of some texts of a hunk's file show what, the most frequent first."""
    return dict(Counter(table.of(row, blob).shown for blob in blobs).most_common())
