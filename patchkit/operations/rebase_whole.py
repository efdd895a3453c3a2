"""Carrying a file that one side makes or removes, so that there are no three texts to be merged."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from patchkit.core.carry import CarriedHunk, Conflict, Place, Verdict
from patchkit.core.lines import split_lines
from patchkit.core.merging.surroundings import Outline
from patchkit.core.rebasing.rebased import HunkRebase, one_hunk
from patchkit.core.rebasing.renames import Rename
from patchkit.core.rebasing.spots import Spot
from patchkit.core.scopes import MODULE
from patchkit.operations.rebase_carried import CarriedFile, Met, Texts

_WHOLE = "<whole file>"


def whole_file(texts: Texts, ids: Sequence[str], rename: Rename | None, *, sought: bool) -> CarriedFile | None:
    """Answer for a file that one side makes or removes; None when all three are there.

    ``rename`` is where the target has a file that it has not at its old path; ``sought`` whether anybody has looked.
    """
    base, changed, before = texts.base, texts.changed, texts.before
    if base is not None and changed is not None and before is not None:
        return None
    if base is not None and before is None and rename is not None:
        return _gone(texts, ids, Verdict.CONFLICT, f"the target has no such file: {rename.told()}")
    if base is not None and before is None and changed is not None:
        reason = "the target has no such file" + (", and no new one like it" if sought else "")
        return _gone(texts, ids, Verdict.OBSOLETE, reason)
    parts: tuple[bytes | Conflict, ...] | None = None if changed is None else (changed,)
    conflict: Conflict | None = None
    if base is None and before is None:
        verdict, reason = Verdict.EXACT, "the file is made"
    elif changed is None and before == base:
        verdict, reason = Verdict.EXACT, "the file is removed"
    elif before == changed:
        verdict, reason = Verdict.UPSTREAMED, f"the target has {'this file' if changed is not None else 'no such file'}"
    else:
        conflict = Conflict(base or b"", changed or b"", before or b"")
        parts = (conflict,)
        verdict = Verdict.CONFLICT
        reason = "the target has another file there" if base is None else "the target changed the file to remove"
    old = _all_of(base or b"")
    new = None if before is None else _all_of(before)
    carried = CarriedHunk(0, verdict, old, new, reason, conflict=conflict)
    hunks = tuple(one_hunk(name or _WHOLE, texts.path, [carried]) for name in ids or [_WHOLE])
    met: tuple[Met, ...] = ()
    if conflict is not None:
        met = (Met(Spot(conflict, (0, old.last), (0, new.last if new else 0)), tuple(ids), lambda: None),)
    return CarriedFile(texts, parts, (), met, hunks, ())


def obstructed(texts: Texts, ids: Sequence[str], reason: str) -> CarriedFile:
    """Answer for a file that cannot be made, for ``reason``: a person has to decide where its hunks go."""
    return replace(_gone(texts, ids, Verdict.CONFLICT, reason), obstructed=True)


def _gone(texts: Texts, ids: Sequence[str], verdict: Verdict, reason: str) -> CarriedFile:
    """Answer for a file that the target has not, each hunk with its place in the base."""
    outline = Outline(split_lines(texts.base or b"")) if texts.path.endswith((".py", ".pyi")) else None
    hunks: list[HunkRebase] = []
    for name in ids or [_WHOLE]:
        places = [
            Place(outline.scope(*run.old) if outline else MODULE, run.old[0] + 1, run.old[1])
            for run in texts.runs
            if name in run.ids
        ]
        carried = [CarriedHunk(0, verdict, place, None, reason) for place in places or [_all_of(texts.base or b"")]]
        hunks.append(one_hunk(name or _WHOLE, texts.path, carried))
    elsewhere = frozenset(hunk.id for hunk in hunks if verdict is Verdict.CONFLICT)
    return CarriedFile(texts, None, (), (), tuple(hunks), (), elsewhere)


def _all_of(content: bytes) -> Place:
    return Place(MODULE, 1, len(split_lines(content)))
