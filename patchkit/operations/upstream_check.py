"""check-upstream: what every release, tracked branch and pinned commit does to every patch, group and hunk.

A target that the lock has, with the text that was recorded for it, is proved again: the variants give what the lock
says, and the checks hold. On any other target each patch is carried as rebase would carry it, in order, each on what
the ones before it leave. Nothing is written but the state file of --new-only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from patchkit import __version__
from patchkit.core.report import Problem
from patchkit.core.upstream import Release
from patchkit.core.upstream_report import FoundRelease, TargetAnswer, UpstreamReport, worst
from patchkit.operations.sources import Workspace, load_workspace
from patchkit.operations.upstream_bare import missing
from patchkit.operations.upstream_choice import (
    MOST_NEW,
    as_carried,
    shipped_releases,
    since_the_series_began,
    worth_a_look,
)
from patchkit.operations.upstream_known import KnownAnswers
from patchkit.operations.upstream_next import with_next
from patchkit.operations.upstream_targets import Asked, Wanted, all_wanted, base_named, named
from patchkit.progress import Reporter, silent
from patchkit.store.cache import default_cache
from patchkit.store.location import versions_file
from patchkit.trees.git_program import GitProgram, opened

if TYPE_CHECKING:
    from patchkit.trees.package_indexes import PackageIndexes


class Discovery(msgspec.Struct, frozen=True, kw_only=True):
    """What upstream has that upstream_versions.yaml does not say, and the other way round."""

    found: tuple[FoundRelease, ...] = ()
    releases: tuple[Release, ...] = ()
    """Those of ``found`` that can be looked at."""
    problems: tuple[Problem, ...] = ()
    faults: tuple[Problem, ...] = ()
    """What is wrong with the clone that was asked, and not with upstream."""
    notes: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    """Files to which what was found was added."""
    answered: bool = True
    """Whether the index and the repository that were asked gave an answer; ``notes`` say why not."""


def check_upstream(
    folder: Path,
    asked: Asked,
    discovery: Discovery,
    *,
    cache: Path | None = None,
    indexes: PackageIndexes | None = None,
    reporter: Reporter = silent,
) -> UpstreamReport:
    """Look at every target; releases come from ``indexes``, None: from where pip looks.

    Raises UsageError, SourceError, and TreeError when a repository cannot be read at all.
    """
    workspace = load_workspace(folder)
    clone = opened(asked.repository, download=False) if asked.repository is not None else None
    shipped = shipped_releases(folder, {release.version for release in discovery.releases})
    earlier: list[str] = []
    too_many: list[str] = []
    if asked.onto:
        wanted = named(workspace.versions, clone, asked.onto, (*shipped, *discovery.releases))
    else:
        discovered: list[Release | FoundRelease] = [*discovery.releases, *_tags(shipped, discovery)]
        ahead, too_many = worth_a_look(workspace.versions, shipped, discovered)
        wanted, earlier = since_the_series_began(all_wanted(workspace.versions, clone, ahead), workspace.sources.lock)
        # Nobody expects an answer about what is neither listed nor found.
        unasked = {f"v{release.version}" for release in shipped}
        earlier = [title for title in earlier if title not in unasked]
    wanted = as_carried(
        wanted,
        workspace.sources.series.files,
        workspace.targets,
        workspace.versions.upstream,
        with_clone=clone is not None,
    )
    notes = [f"not looked at, older than what the series was made for: {', '.join(earlier)}"] if earlier else []
    if too_many:
        notes.append(
            f"not looked at, as there are {len(too_many) + MOST_NEW} new releases and the newest {MOST_NEW} are: "
            f"v{too_many[0]} to v{too_many[-1]} ({len(too_many)}); --onto looks at one"
        )
    answers, told = _answers(
        workspace, asked, clone, wanted, cache=cache or default_cache(), indexes=indexes, reporter=reporter
    )
    states = [answer.state for answer in answers if answer.state != "unreachable"]
    if asked.onto and states and len(states) < len(answers):
        # Whoever names a target wants to know about that one.
        states.append("look")
    beside = (*discovery.faults, *discovery.problems)
    problems = [*beside, *(problem for answer in answers for problem in answer.problems)]
    verdict = worst([*states, "broken"] if problems else states) if states or problems else "unreachable"
    series = workspace.sources.series
    return UpstreamReport(
        tool=__version__,
        ok=verdict == "fine",
        verdict=verdict,
        series=str(folder),
        digest=series.digest,
        repository=workspace.versions.upstream.repository,
        targets=answers,
        # Somebody who names targets asks about these.
        found=() if asked.onto else discovery.found,
        problems=beside,
        notes=(*discovery.notes, *notes, *told),
        written=discovery.written,
    )


def _tags(shipped: Iterable[Release], discovery: Discovery) -> list[FoundRelease]:
    """Return what was found as a tag, and of which there is no wheel to look at."""
    wheels = {release.version for release in (*shipped, *discovery.releases)}
    return [found for found in discovery.found if found.commit is not None and found.version not in wheels]


def _answers(
    workspace: Workspace,
    asked: Asked,
    clone: GitProgram | None,
    wanted: Sequence[Wanted],
    *,
    cache: Path,
    indexes: PackageIndexes | None,
    reporter: Reporter,
) -> tuple[tuple[TargetAnswer, ...], list[str]]:
    """Return the answer for each target, and notes; what is known is not computed again."""
    base = base_named(workspace.versions.upstream, workspace.targets, asked, clone)
    versions = versions_file(workspace.sources.series.folder)
    known = KnownAnswers(cache, workspace.sources, versions, clone)
    # What is out of reach now is told as that, whatever was seen of it when it was not.
    found = {each.target.name: missing(each) or known.get(each.target, base) for each in wanted}
    unknown = [each for each in wanted if found[each.target.name] is None]
    notes: list[str] = []
    if unknown:
        from patchkit.operations.upstream_look import Look  # noqa: PLC0415 - with all of the engine behind it

        look = Look(workspace, asked, clone, cache, reporter)
        look.fetch(unknown, indexes)
        told: dict[int, tuple[str, ...]] = {}
        for at, looked in look.at_all(unknown):
            each = unknown[at]
            found[each.target.name] = looked.answer
            told[at] = looked.notes
            if looked.answer.fingerprint and looked.lasting:
                known.put(each.target, base, looked.answer)
        notes = [note for _, notes in sorted(told.items()) for note in notes]
    pairs = ((each, found[each.target.name]) for each in wanted)
    return tuple(_as_now(answer, each, workspace, asked) for each, answer in pairs if answer is not None), notes


def _as_now(answer: TargetAnswer, wanted: Wanted, workspace: Workspace, asked: Asked) -> TargetAnswer:
    """Return an answer with what is said of the target now, and what to do next.

    It may have been yanked since its text was read, and be asked for from another folder.
    """
    release = wanted.target.release
    told = with_next(answer, wanted, answer.patches, str(workspace.sources.series.folder), asked)
    return replace(
        told,
        kind=wanted.kind,
        date=wanted.date,
        tag=wanted.target.tag,
        yanked=release.yanked if release is not None else None,
        listed=wanted.listed,
    )
