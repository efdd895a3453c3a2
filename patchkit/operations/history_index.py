"""history without git: between which two builds on the package index each hunk broke, found by bisection."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

import msgspec
from packaging.version import InvalidVersion, Version

from patchkit import __version__
from patchkit.core.blobs import blob_id_if_any
from patchkit.core.history.bisection import bisected
from patchkit.core.history.spans import HunkState, bad_spans
from patchkit.core.history_report import BreakReport, Counts, HistoryReport, Place
from patchkit.core.upstream import Target, Upstream
from patchkit.errors import UsageError
from patchkit.operations.history_base import Base, of_target, state_table
from patchkit.operations.history_rows import hunk_row, state_report
from patchkit.operations.history_states import OUTSIDE, StateTable
from patchkit.operations.sources import Workspace, fetch_release, load_workspace
from patchkit.progress import Reporter, silent
from patchkit.store.cache import default_cache
from patchkit.trees.archive import WheelTree
from patchkit.trees.index import fetch_wheel
from patchkit.trees.interface import SourceTree
from patchkit.trees.layout import seen
from patchkit.trees.package_indexes import PackageIndexes


class Build(Protocol):
    """A build on the package index, dev builds included."""

    @property
    def version(self) -> str:
        """PEP 440."""

    @property
    def date(self) -> str:
        """UTC day of the upload; empty when unknown."""

    @property
    def files(self) -> Mapping[str, str]:
        """SHA-256 by name of wheel."""


ListBuilds = Callable[[Workspace], Sequence[Build]]
"""Gives the builds that there are, in any order."""


class BuildsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    span: str | None = None
    """``A..B``, versions of builds that there are; either may be left out.

    Default: from the newest release of the lock to the newest build.
    """
    base: str | None = None
    """Release that the series is carried from. Default: the newest one up to A."""
    patches: Path | None = None
    names: tuple[str, ...] = ()
    """Patches whose hunks are told; all when there is none."""


def recorded_builds(workspace: Workspace) -> Sequence[Build]:
    """Return the releases that upstream_versions.yaml lists."""
    return workspace.versions.upstream.releases


def history_of_builds(
    request: BuildsRequest,
    list_builds: ListBuilds = recorded_builds,
    *,
    cache: Path | None = None,
    indexes: PackageIndexes | None = None,
    reporter: Reporter = silent,
) -> HistoryReport:
    """Return between which two builds each hunk broke, fetching (from ``indexes``) as few wheels as tell it.

    Two builds on which every hunk is equally bad or good are taken for the ends of a stretch without a change: what
    broke and healed between them is not seen. Raises UsageError for a range without builds, and what fetching raises.
    """
    place = cache or default_cache()
    indexes = indexes or PackageIndexes()
    workspace = load_workspace(request.patches)
    builds, span = _between(workspace, list_builds(workspace), request.span)
    base = _base(workspace, Version(builds[0].version), request.base, place, reporter)
    table = state_table(workspace, base, request.names, place, reporter)
    upstream = workspace.versions.upstream
    blobs: dict[int, dict[str, str | None]] = {}

    def ask(index: int) -> tuple[str, ...]:
        build = builds[index]
        wheel = fetch_wheel(
            upstream.distribution, build.version, build.files, cache=place, indexes=indexes, reporter=reporter
        )
        blobs[index] = _learnt(table, seen(WheelTree(wheel), upstream))
        return tuple(_told(table.of(row, blobs[index].get(row.path))) for row in table.rows())

    fetched = list(bisected(len(builds), ask))
    places = tuple(_place(builds[index]) for index in fetched)
    hunks = []
    for row in table.rows():
        states = [table.of(row, blobs[index].get(row.path)) for index in fetched]
        if row.id != OUTSIDE or any(state.bad for state in states):
            hunks.append(hunk_row(row, states, _breaks(states, places)))
    return HistoryReport(
        tool=__version__,
        verdict="broken" if any(hunk.first_bad for hunk in hunks) else "whole",
        source="index",
        series=str(workspace.sources.series.folder),
        patches=request.names,
        base=base.target.name,
        base_reason=base.reason,
        span=span,
        counts=Counts(
            commits=len(builds),
            line=len(fetched),
            touching=len(fetched),
            texts=len({(path, blob) for index in fetched for path, blob in blobs[index].items() if blob}),
            carried=table.carried,
        ),
        line=places,
        hunks=tuple(hunks),
    )


def _told(state: HunkState) -> str:
    """Return what decides whether to look between two builds: how a hunk is bad, that upstream has it, or neither."""
    return state.shown if state.bad or state.shown == "upstreamed" else ""


def _learnt(table: StateTable, tree: SourceTree) -> dict[str, str | None]:
    """Carry the series to a build's texts and return their blob ids by path."""
    texts = {path: tree.read(path) for path in table.paths}
    blobs = {path: blob_id_if_any(content) for path, content in texts.items()}
    by_blob = {blob: content for blob, content in zip(blobs.values(), texts.values(), strict=True) if blob}
    table.learn(
        {path: [blob] for path, blob in blobs.items()}, lambda wanted: [{blob: by_blob[blob] or b"" for blob in wanted}]
    )
    return blobs


def _breaks(states: Sequence[HunkState], places: Sequence[Place]) -> list[BreakReport]:
    return [
        BreakReport(
            at=places[run.first] if run.first else None,
            after=places[run.first - 1] if run.first else None,
            state=state_report(states[run.first]),
            healed=places[run.end] if run.end < len(places) else None,
        )
        for run in bad_spans(states)
    ]


def _between(workspace: Workspace, listed: Sequence[Build], span: str | None) -> tuple[list[Build], str]:
    """Return the builds of a range, the oldest version first, and the range as text. Raises UsageError."""
    older, dots, newer = (span or "..").partition("..")
    if not dots or ".." in newer or newer.startswith("."):
        raise UsageError(f"{span!r} is no range of builds", hint="--range OLD..NEW, such as 0.16.0..0.19.2")
    upstream = workspace.versions.upstream
    builds = sorted((build for build in listed if build.files), key=lambda build: Version(build.version))
    locked = [
        target for target in workspace.targets if target.release and target.name in workspace.sources.lock.targets
    ]
    first = _end(older, builds, upstream) if older else max((Version(target.name) for target in locked), default=None)
    last = _end(newer, builds, upstream) if newer else None
    found = [
        build
        for build in builds
        if (first is None or Version(build.version) >= first) and (last is None or Version(build.version) <= last)
    ]
    if len(found) < 2:
        raise UsageError(
            f"{older}..{newer} holds fewer than the two builds that a history needs",
            hint="the older version comes first: --range OLD..NEW",
        )
    return found, f"{found[0].version}..{found[-1].version}"


def _releases(workspace: Workspace) -> list[Target]:
    locked = workspace.sources.lock.targets
    return [target for target in workspace.targets if target.release and target.name in locked]


def _end(asked: str, builds: Sequence[Build], upstream: Upstream) -> Version:
    """Return the version of the build at one end of a range; ``builds`` are in order. Raises UsageError for none."""
    version = _version(asked, upstream)
    versions = [Version(build.version) for build in builds]
    at = bisect_left(versions, version)
    if version in versions[at : at + 1]:
        return version
    near = " and ".join(build.version for build in builds[max(0, at - 1) : at + 1])
    raise UsageError(
        f"there is no {upstream.distribution} {version} to be had, an end of the range",
        hint=f"the nearest are {near}" if " and " in near else f"the nearest is {near}" if near else None,
    )


def _version(asked: str, upstream: Upstream) -> Version:
    try:
        return Version(upstream.version_in(asked) or asked.removeprefix("v"))
    except InvalidVersion as error:
        raise UsageError(f"{asked!r} is no version", hint="for commits and branches name a clone with --git") from error


def _base(workspace: Workspace, first: Version, asked: str | None, cache: Path, reporter: Reporter) -> Base:
    """Return the base: the release asked for, else the newest one of the series up to the first build."""

    def opener(target: Target) -> SourceTree:
        wheel = fetch_release(workspace.versions, target, cache=cache, reporter=reporter)
        return seen(WheelTree(wheel), workspace.versions.upstream)

    if asked is not None:
        return of_target(workspace, workspace.target(asked), "asked for", opener)
    older = [target for target in _releases(workspace) if Version(target.name) <= first]
    if not older:
        raise UsageError(
            f"the series has no release up to {first}", hint="name the release whose texts are to be carried: --from"
        )
    best = max(older, key=lambda target: Version(target.name))
    return of_target(workspace, best, f"the newest release up to {first}", opener)


def _place(build: Build) -> Place:
    time = datetime.strptime(build.date, "%Y-%m-%d").replace(tzinfo=timezone.utc) if build.date else None
    seconds = int(time.timestamp()) if time else 0
    return Place(id=build.version, name=build.version, date=build.date, time=seconds)
