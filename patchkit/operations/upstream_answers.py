"""From what applying or carrying found to the answer of check-upstream: states and groups."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from patchkit.core.carry import Verdict
from patchkit.core.gating.gates import Rule
from patchkit.core.model import FilePatch, Hunk, Patch
from patchkit.core.series import PatchDocument
from patchkit.core.unified import print_patch
from patchkit.core.upstream import Target
from patchkit.core.upstream_report import GroupAnswer, HunkAnswer, PatchAnswer, State, worst
from patchkit.operations.coverage import applies

_UPSTREAM = frozenset({Verdict.UPSTREAMED.value, Verdict.SUPERSEDED.value})


def groups(document: PatchDocument, target: Target, hunks: Sequence[HunkAnswer]) -> tuple[GroupAnswer, ...]:
    """Return the answer for each group that the patch has hunks of for ``target``, in the order of patch.yaml."""
    has = {name: text for each in document.upstream if each.target == target.name for name, text in each.groups.items()}
    answers = {hunk.id: hunk for hunk in hunks}
    ids: dict[str, list[str]] = {}
    for spec in document.hunks:
        if spec.id in answers or applies(spec, target):
            ids.setdefault(spec.group, []).append(spec.id)
    found: list[GroupAnswer] = []
    for name, mine in ids.items():
        here = [answers[hunk_id] for hunk_id in mine if hunk_id in answers]
        state = worst(hunk.state for hunk in here)
        found.append(
            GroupAnswer(
                name=name,
                state=state,
                verdict=_group_verdict(here, state, told=name in has, whole=len(here) == len(mine)),
                hunks=tuple(mine),
                upstream=has.get(name, ""),
            )
        )
    return tuple(found)


def _group_verdict(here: Sequence[HunkAnswer], state: State, *, told: bool, whole: bool) -> str:
    gone = [hunk for hunk in here if hunk.verdict in _UPSTREAM]
    if state == "broken":
        return "broken"
    if told or gone:
        return "upstream" if len(gone) == len(here) else "partly-upstream"
    if state == "look":
        return "look"
    return "carried" if whole or here else "not-carried"


def hunk_state(hunk: HunkAnswer) -> State:
    """Return how bad it is: what nobody can accept is broken, what a person has to see is to be looked at."""
    if hunk.verdict == Verdict.CONFLICT.value or any(alarm.rule == Rule.SYNTAX.value for alarm in hunk.alarms):
        return "broken"
    return "look" if hunk.review else "fine"


def with_states(patch: PatchAnswer, state: State) -> PatchAnswer:
    """Return the answer with the worse of ``state`` and what its hunks and groups say."""
    return replace(patch, state=worst([state, *(hunk.state for hunk in patch.hunks)]))


def hunk_text(path: str, hunk: Hunk) -> str:
    """Return one hunk as a unified diff; bytes that are no UTF-8 are replaced."""
    return print_patch(Patch((FilePatch(path, path, (hunk,)),))).decode("utf-8", "replace")
