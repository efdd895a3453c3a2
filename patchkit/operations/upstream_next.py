"""What to do next about what check-upstream found: commands with the options that were given.

They are told anew with each answer, also with one that is kept: they depend on where, and with which clone, somebody
asks. So nothing of the engine is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from patchkit.core.printing import shell_word
from patchkit.core.unwritten import is_unwritten
from patchkit.core.upstream_report import PatchAnswer, TargetAnswer, worst
from patchkit.operations.upstream_targets import Asked, Wanted
from patchkit.store.location import series_option

GONE = frozenset({"upstreamed", "superseded", "obsolete"})
"""What is said of a hunk that has nothing to do any more, as ``core/carried`` has it, which is a part of the engine."""


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
    title = shell_word(asked_as(wanted))
    origin = f" --from {shell_word(asked.base)}" if asked.base is not None else ""
    rest = f"{origin}{_git(wanted, asked)}{series_option(Path(folder))}"
    hunks = []
    for hunk in patch.hunks:
        following = ""
        if hunk.verdict in GONE:
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
    origin = f" --from {shell_word(base)}" if base is not None else ""
    git = _git(wanted, asked)
    return f"patchkit rebase --onto {shell_word(asked_as(wanted))}{origin}{git}{series_option(Path(folder))}"


def _git(wanted: Wanted, asked: Asked) -> str:
    """Return the option that names the repository; where one was given, the base may need it as well."""
    if asked.repository is None:
        return "" if wanted.kind == "release" else " --git REPO"
    place = asked.repository if isinstance(asked.repository, Path) else asked.repository.repository
    return f" --git {shell_word(str(place))}"


def asked_as(wanted: Wanted) -> str:
    """Return how a command names the target: a branch that moved by its commit, as its name means the recorded one."""
    target = wanted.target
    return str(target.commit)[:12] if wanted.recorded is not None else target.title
