"""What state a tree is in, told by the blob ids of the files that the series touches.

The lock lists, for each target and file, the chain of blob ids from upstream's text to the text after the last patch. A
file whose id is on the chain is known exactly; any other id means that somebody else changed it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

import msgspec

from patchkit.core.lines import split_lines
from patchkit.core.model import FilePatch
from patchkit.core.placement import Placed, place_hunk
from patchkit.core.scopes import Scope, scopes
from patchkit.core.series import LockDocument, TargetLock

_RELEASE = re.compile(r"\d+(\.\d+)+")


class State(Enum):
    """State of a patch, a file or a hunk in a tree."""

    CLEAN = "clean"
    """As upstream has it (or as the patches below leave it)."""
    APPLIED = "applied"
    PARTLY = "partly"
    """Some files have the patch and some do not."""
    MODIFIED = "modified"
    """Neither: somebody else changed it."""
    MISSING = "missing"
    """The file is not there."""
    NOT_NEEDED = "not-needed"
    """The target has nothing for the patch to do."""


class Recognised(msgspec.Struct, frozen=True):
    """What release a tree is."""

    target: str
    """The newest target that fits."""
    same: tuple[str, ...]
    """Other targets that fit and whose locked files are the same."""


class Ambiguous(msgspec.Struct, frozen=True):
    """Several targets fit, and the series does different things to them."""

    targets: tuple[str, ...]


class Unknown(msgspec.Struct, frozen=True):
    """No target fits."""

    nearest: str | None
    """The target with the fewest strange files; None when all files are strange everywhere."""
    strange: tuple[str, ...]
    """The files that keep the tree from being the nearest target."""


def touched_paths(lock: LockDocument) -> tuple[str, ...]:
    """Return every path that the series touches on any target, sorted."""
    return tuple(sorted({path for target in lock.targets.values() for path in target.paths}))


def recognise(
    lock: LockDocument, blobs: Mapping[str, str | None], told: str | None = None
) -> Recognised | Ambiguous | Unknown:
    """Tell which target has these blob ids (None: no such file), patched or not.

    Among targets that fit alike, the one that the tree is ``told`` to be is taken, else the newest release.
    """
    order = list(lock.targets)

    def preference(name: str) -> tuple[bool, bool, int]:
        return name == told, _RELEASE.fullmatch(name) is not None, order.index(name)

    strange = {
        name: tuple(path for path in target.paths if blobs.get(path) not in target.chain(path))
        for name, target in lock.targets.items()
    }
    fits = [name for name, paths in strange.items() if not paths]
    if not fits:
        known = {name: len(lock.targets[name].paths) - len(paths) for name, paths in strange.items()}
        nearest = max(order, key=lambda name: (known[name], preference(name)), default=None)
        if nearest is None or known[nearest] == 0:
            return Unknown(None, tuple(path for path, blob in blobs.items() if blob is not None))
        return Unknown(nearest, strange[nearest])
    # A target that explains more files explains the tree better: one that touches two files fits many trees.
    most = max(len(lock.targets[name].paths) for name in fits)
    fits = [name for name in fits if len(lock.targets[name].paths) == most]
    best = max(fits, key=preference)
    if any(lock.targets[name].patches != lock.targets[best].patches for name in fits):
        return Ambiguous(tuple(fits))
    return Recognised(best, tuple(name for name in fits if name != best))


def file_state(target: TargetLock, patch: str, path: str, blob: str | None) -> State:
    """Return the state of one file of one patch, by the blob id that the tree has (None: no such file)."""
    chain = target.chain(path)
    if blob not in chain:
        return State.MISSING if blob is None else State.MODIFIED
    return State.APPLIED if chain.index(blob) > step_of(target, patch, path) else State.CLEAN


def step_of(target: TargetLock, patch: str, path: str) -> int:
    """Return how many patches of the series change ``path`` before ``patch`` does: 0 for the first."""
    step = 0
    for name, locked in target.patches.items():
        if name == patch:
            break
        step += path in locked.files
    return step


def patch_state(states: list[State]) -> State:
    """Return the state of a patch from those of its files; NOT_NEEDED when it has none."""
    if not states:
        return State.NOT_NEEDED
    distinct = set(states)
    if State.MODIFIED in distinct or State.MISSING in distinct:
        return State.MODIFIED
    return distinct.pop() if len(distinct) == 1 else State.PARTLY


def hunk_states(patch: FilePatch, content: bytes, scope_names: Mapping[str, str]) -> dict[str, State]:
    """Return the state of each hunk by itself, for a file that as a whole is neither clean nor applied."""
    lines = split_lines(content)
    all_scopes = scopes(content)

    def named(name: str) -> tuple[Scope, ...]:
        return tuple(scope for scope in all_scopes if scope.name == name)

    states: dict[str, State] = {}
    for hunk in patch.hunks:
        scope = scope_names.get(hunk.id)
        sides = [(hunk.reversed(), State.APPLIED)]
        if patch.old_path is not None:
            # A file that exists cannot lack a patch that creates it: it is another file.
            sides.append((hunk, State.CLEAN))
        # One side may be part of the other (lines removed at the end of a file): the longer one tells more.
        sides.sort(key=lambda side: len(side[0].old_lines), reverse=True)
        fits = (state for side, state in sides if isinstance(place_hunk(side, lines, scope, named), Placed))
        states[hunk.id] = next(fits, State.MODIFIED)
    return states
