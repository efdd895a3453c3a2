"""The answer for a target of which nothing was read, without the engine, which takes longest of all to load."""

from __future__ import annotations

from msgspec.structs import replace

from patchkit.core.report import Problem
from patchkit.core.upstream_report import TargetAnswer
from patchkit.operations.upstream_targets import Wanted


def bare(wanted: Wanted) -> TargetAnswer:
    """Return an answer that says what the target is, and nothing of the patches."""
    target = wanted.target
    return TargetAnswer(
        name=target.name,
        title=target.title,
        kind=wanted.kind,
        state="fine",
        as_of=target.as_of,
        date=wanted.date,
        commit=target.commit,
        tag=target.tag,
        yanked=target.release.yanked if target.release is not None else None,
        listed=wanted.listed,
    )


def missing(wanted: Wanted) -> TargetAnswer | None:
    """Return the answer for a target that cannot be looked at; None where nothing is known against it."""
    if not wanted.missing:
        return None
    answer = replace(bare(wanted), state="unreachable", reason=wanted.missing)
    if wanted.lost:
        return replace(answer, state="broken", problems=(Problem(wanted.missing, hint=wanted.hint or None),))
    return replace(answer, next=wanted.hint)
