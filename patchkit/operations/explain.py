"""Why a tree, or a file in it, is not what a command needs: problems that name file and hunk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from patchkit.core.model import FilePatch, Hunk, LineKind, Patch
from patchkit.core.placement import FilePlaced, place_file
from patchkit.core.report import FileReport, PatchReport, Problem
from patchkit.core.scopes import LARGEST_SOURCE
from patchkit.core.series import TargetLock
from patchkit.core.state import State, hunk_states, step_of
from patchkit.operations.locked import Sources
from patchkit.operations.survey import Survey
from patchkit.store.series import SeriesPatch


def variant_of(patch: SeriesPatch, locked: TargetLock) -> Patch | None:
    """Return the parsed variant that the lock names for ``patch``, or None when the target does not need it."""
    name = locked.patches[patch.name].variant
    return None if name is None else patch.variant(name)


def modified_hunks(
    sources: Sources, target: str, patch: SeriesPatch, path: str, content: bytes | None
) -> dict[str, State]:
    """Return the state of each hunk of ``patch`` in a file that is neither upstream's nor a patched one.

    Empty when it cannot be told: the file is missing or too large, or the text which these hunks change is not there
    yet.
    """
    return (
        {}
        if content is None or len(content) > LARGEST_SOURCE
        else _read(sources, target, path, content).states.get(patch.name, {})
    )


def patch_problems(sources: Sources, found: Survey, target: str, report: PatchReport) -> list[Problem]:
    """Name every file and hunk that keeps a patch from being wholly in or wholly out."""
    problems = [
        Problem(_absent(file.path in found.folders), path=file.path, patch=report.name, hint=found.restore(file.path))
        for file in report.files
        if file.state == State.MISSING.value
    ]
    for file in report.files:
        # A file that several patches change is told about once, at the first of them.
        first = next(name for name, lock in sources.lock.targets[target].patches.items() if file.path in lock.files)
        if file.state == State.MODIFIED.value and first == report.name:
            problems.append(_modified(sources, target, file, found))
    if report.state == State.PARTLY.value:
        problems.extend(_half_patched(sources, target, report))
    return problems


def _absent(has_folder: bool) -> str:  # noqa: FBT001 - the one thing that there is to say
    return "there is a folder in the place of the file" if has_folder else "the file is missing"


def neighbour(patch: str, path: str, locked: TargetLock, *, backwards: bool) -> str:
    """Return the patch that must be in ``path`` before ``patch`` goes in, or out before it comes out."""
    order = [name for name, lock in locked.patches.items() if path in lock.files]
    return order[step_of(locked, patch, path) + (1 if backwards else -1)]


def stacked(patch: str, other: str, path: str, *, backwards: bool) -> Problem:
    """Say that ``other``, which nobody selected, must move first in a file that both change."""
    if backwards:
        message = f"{other} is applied on top of {patch} in this file"
        return Problem(message, path=path, patch=patch, hint=f"revert {other} as well")
    message = f"{patch} is locked on top of {other}, which is not applied to this file"
    return Problem(message, path=path, patch=patch, hint=f"select {other} as well")


def _modified(sources: Sources, target: str, file: FileReport, found: Survey) -> Problem:
    """Explain a modified file by the hunks that are not as they would be."""
    path, content, restore = file.path, found.contents[file.path], found.restore(file.path)
    message = f"the file is neither {target}'s nor a patched one (blob {file.found})"
    if content is not None and len(content) > LARGEST_SOURCE:
        detail = f"it is larger than {LARGEST_SOURCE >> 20} MiB, and its hunks are not looked for"
        return Problem(f"{message}: {detail}", path=path, hint=restore)
    reading = _Reading({}, ()) if content is None else _read(sources, target, path, content)
    for wanted in (State.MODIFIED, State.CLEAN, State.APPLIED):
        odd = [(name, hunk) for name, hunk in reading.odd if reading.states[name][hunk] is wanted]
        if not odd:
            continue
        name, hunk = odd[0]
        hunks = [other for patch, other in odd if patch == name]
        if wanted is State.MODIFIED:
            detail = f"the text of {_named(hunks)} is neither the release's nor the patch's"
        else:
            applied, clean = (
                [other for other, state in reading.states[name].items() if state is which]
                for which in (State.APPLIED, State.CLEAN)
            )
            detail = f"{_named(applied)} applied, {_named(clean)} not"
            hunk = clean[0]
        return Problem(f"{message}: {detail}", path=path, hunk=hunk, patch=name, hint=restore)
    return Problem(f"{message}: it was changed outside the hunks of the series", path=path, hint=restore)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A file taken for the text after some patches, with changes by somebody else."""

    states: dict[str, dict[str, State]]
    """State of each hunk by patch."""
    odd: tuple[tuple[str, str], ...]
    """Patch and id of the hunks that are not as they would be; first those that may hide others."""


@lru_cache(maxsize=16)
def _read(sources: Sources, target: str, path: str, content: bytes) -> _Reading:
    """Return the reading that leaves the fewest hunks odd; of equals, the one with the most patches."""
    locked = sources.lock.targets[target]
    patches = [sources.series.patch(name) for name, lock in locked.patches.items() if path in lock.files]
    files = [
        (patch, file) for patch in patches if (variant := variant_of(patch, locked)) and (file := variant.file(path))
    ]
    readings = [_read_as(files[:count], files[count:], content) for count in range(len(files), -1, -1)]
    return min(readings, key=lambda reading: len(reading.odd))


def _read_as(
    below: list[tuple[SeriesPatch, FilePatch]], above: list[tuple[SeriesPatch, FilePatch]], content: bytes
) -> _Reading:
    """Read ``content`` as the text after the patches ``below`` and before those ``above``.

    A hunk is looked for in the text that its own patch made or was made for, as a later one may have changed its
    context. So patches are taken out from the last one down, and put in from the next one up.
    """
    states: dict[str, dict[str, State]] = {}
    odd: list[tuple[str, Hunk, State]] = []
    for files, expected in ((below[::-1], State.APPLIED), (above, State.CLEAN)):
        text = content
        for patch, file in files:
            found = states[patch.name] = hunk_states(file, text, patch.scopes)
            odd += [(patch.name, hunk, expected) for hunk in file.hunks if found[hunk.id] is not expected]
            hunks = tuple(hunk for hunk in file.hunks if found[hunk.id] is expected)
            rest = FilePatch(file.old_path, file.new_path, hunks)
            moved = place_file(rest.reversed() if expected is State.APPLIED else rest, text, patch.scopes)
            text = (moved.content if isinstance(moved, FilePlaced) else None) or text

    def beside(name: str, hunk: Hunk, expected: State) -> bool:
        """Its own lines are there: what somebody changed is next to it."""
        return states[name][hunk.id] is State.MODIFIED and _has_lines(content, hunk, expected)

    changed = [entry for entry in odd if not beside(*entry)]
    for name, hunk, expected in odd if changed else ():
        if beside(name, hunk, expected):
            states[name][hunk.id] = expected
    return _Reading(states, tuple((name, hunk.id) for name, hunk, _ in changed or odd))


def _has_lines(content: bytes, hunk: Hunk, expected: State) -> bool:
    """Tell whether the lines by which a hunk shows are in ``content``: those that it adds, or those that it removes."""
    kind = LineKind.ADDED if expected is State.APPLIED else LineKind.REMOVED
    runs = [
        b"".join(line.text for line in run) for of, run in groupby(hunk.lines, lambda line: line.kind) if of is kind
    ]
    return bool(runs) and all(run in content for run in runs)


def _half_patched(sources: Sources, target: str, report: PatchReport) -> list[Problem]:
    has = next(file.path for file in report.files if file.state == State.APPLIED.value)
    variant = variant_of(sources.series.patch(report.name), sources.lock.targets[target])
    problems: list[Problem] = []
    for file in report.files:
        file_patch = variant.file(file.path) if variant else None
        if file.state != State.CLEAN.value or file_patch is None:
            continue
        hunks = [hunk.id for hunk in file_patch.hunks]
        problems.append(
            Problem(
                f"half patched: {_named(hunks)} not applied here, while {has} has the patch",
                path=file.path,
                hunk=hunks[0],
                patch=report.name,
                hint="restore the files of this patch, then apply",
            )
        )
    return problems


def _named(hunks: list[str]) -> str:
    return ("hunk " if len(hunks) == 1 else "hunks ") + ", ".join(hunks)
