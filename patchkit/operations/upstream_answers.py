"""From what applying or carrying found to the answer of check-upstream: states, groups, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from patchkit.core.carry import Verdict
from patchkit.core.gating.gates import Rule
from patchkit.core.model import FilePatch, Hunk, Patch
from patchkit.core.series import PatchDocument
from patchkit.core.unified import print_patch
from patchkit.core.unwritten import is_unwritten
from patchkit.core.upstream import Target
from patchkit.core.upstream_report import GroupAnswer, HunkAnswer, PatchAnswer, State, TargetAnswer, worst
from patchkit.operations.coverage import applies
from patchkit.operations.upstream_targets import Asked, Wanted
from patchkit.store.location import series_option

_UPSTREAM = frozenset({Verdict.UPSTREAMED.value, Verdict.SUPERSEDED.value})
_GONE = _UPSTREAM | {Verdict.OBSOLETE.value}


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


def with_next(
    answer: TargetAnswer, wanted: Wanted, patches: Iterable[PatchAnswer], folder: str, asked: Asked
) -> TargetAnswer:
    """Return the answer with what to do about the target, each of its patches and each of its hunks.

    ``asked`` is what the commands have to ask for too: a base, and a repository.
    """
    told = tuple(_patch_next(patch, wanted, folder, asked) for patch in patches)
    state = worst([answer.state, *(patch.state for patch in told)])
    carried = any(patch.verdict in ("carries", "review", "conflict", "failed") for patch in told)
    following = answer.next
    if not following and carried:
        command = rebase_command(wanted, folder, asked)
        following = {
            "fine": f"nothing to decide: `{command}` writes the variants",
            "look": f"look at what is said of each hunk, then `{command} --accept`, or correct it: `{command}`",
        }.get(state, f"`{command}` opens an edit directory for what is in conflict")
    return replace(answer, state=state, patches=told, next=following)


def _patch_next(patch: PatchAnswer, wanted: Wanted, folder: str, asked: Asked) -> PatchAnswer:
    title = shlex.quote(asked_as(wanted))
    origin = f" --from {shlex.quote(asked.base)}" if asked.base is not None else ""
    rest = f"{origin}{_git(wanted, asked)}{series_option(Path(folder))}"
    hunks = []
    for hunk in patch.hunks:
        following = ""
        if hunk.verdict in _GONE:
            written = hunk.drop_when and not is_unwritten(hunk.drop_when)
            rule = f"if this holds: {hunk.drop_when}" if written else "if that is right: patch.yaml does not say when"
            following = f"drop it for this target {rule}"
        elif hunk.state != "fine":
            place = f"{patch.name}/{hunk.id}"
            following = f"`patchkit explain {place} --onto {title}{rest}` shows both sides"
        hunks.append(replace(hunk, next=following))
    return replace(patch, hunks=tuple(hunks))


def rebase_command(wanted: Wanted, folder: str, asked: Asked) -> str:
    """Return the command that carries the series to a target, for a shell; ``asked`` as for ``with_next``."""
    base = wanted.target.name if asked.base is None and wanted.recorded is not None else asked.base
    origin = f" --from {shlex.quote(base)}" if base is not None else ""
    git = _git(wanted, asked)
    return f"patchkit rebase --onto {shlex.quote(asked_as(wanted))}{origin}{git}{series_option(Path(folder))}"


def _git(wanted: Wanted, asked: Asked) -> str:
    """Return the option that names the repository; where one was given, the base may need it as well."""
    return "" if wanted.kind == "release" and asked.repository is None else " --git REPO"


def asked_as(wanted: Wanted) -> str:
    """Return how a command names the target: a branch that moved by its commit, as its name means the recorded one."""
    target = wanted.target
    return str(target.commit)[:12] if wanted.recorded is not None else target.title


def hunk_text(path: str, hunk: Hunk) -> str:
    """Return one hunk as a unified diff; bytes that are no UTF-8 are replaced."""
    return print_patch(Patch((FilePatch(path, path, (hunk,)),))).decode("utf-8", "replace")
