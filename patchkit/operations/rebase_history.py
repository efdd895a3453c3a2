"""Adding to an answer which upstream commits touched the lines of hunks in conflict, upstreamed or gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from patchkit.core.blobs import blob_id_if_any
from patchkit.core.carry import Verdict
from patchkit.core.lines import split_lines
from patchkit.core.merging.alignment import edits
from patchkit.core.rebasing.rebased import LEFT_OUT, HunkRebase, PatchRebase
from patchkit.core.rebasing.spots import mapped
from patchkit.core.upstream import Target
from patchkit.errors import RevisionNotFoundError, TreeError
from patchkit.operations.provenance import Touched, brought_by, edges_between
from patchkit.operations.rebase_carried import CarriedFile, CarriedPatch
from patchkit.trees.interface import SourceTree

if TYPE_CHECKING:
    from patchkit.trees.git import GitTree
    from patchkit.trees.git_program import GitProgram

_AROUND = 3
"""Lines on each side of a place that are asked about when nothing of the target's stands there."""


class Named(NamedTuple):
    """An answer with upstream's commits."""

    report: PatchRebase
    notes: Sequence[str] = ()
    """What there is to say about looking for them."""
    lasting: bool = True
    """Whether another clone, or another day, would name no more."""


def with_history(
    report: PatchRebase,
    carried: CarriedPatch,
    repository: GitProgram,
    target: Target,
    tree: SourceTree,
    *,
    base_tree: SourceTree | None = None,
    instead: Sequence[Target] = (),
    every: bool = False,
) -> Named:
    """Return the answer with upstream's commits, and what there is to say about looking for them.

    Asked about are the hunks that are in conflict or left out; with ``every`` all. Of a base or a target without a
    commit, such as a release that nobody has tagged, the history of a file is that of one of the releases ``instead``
    which has the same text; of a base that text is in ``base_tree``.
    """
    wanted = {hunk.id for hunk in report.hunks if every or hunk.verdict in (*LEFT_OUT, Verdict.CONFLICT.value)}
    if not wanted:
        return Named(report)
    base = carried.base
    try:
        olds, news = _revisions(repository, (base, target), instead)
    except TreeError as error:
        lacks = isinstance(error, RevisionNotFoundError) and repository.shallow
        why_not = f"{error.message}{', and is shallow' if lacks else ''}"
        return Named(report, [f"upstream's commits are not named: {why_not}"], lasting=False)
    edges: dict[tuple[str, str], frozenset[str]] = {}
    files = {file.path: file for file in carried.files}
    hunks: list[HunkRebase] = []
    unnamed: dict[str, list[str]] = {}
    for hunk in report.hunks:
        if hunk.id in wanted:
            old = olds[0] if base.commit is not None else _same_text(olds, hunk.path, base_tree)
            new = news[0] if target.commit is not None else _same_text(news, hunk.path, tree)
            unknown = base if old is None else target
            why_not = f"the commit of {unknown.title} is not known, and no release with one has the same text"
            if old is not None and new is not None:
                span = old.commit, new.commit
                if span not in edges:
                    edges[span] = edges_between(old, new)
                asked = _touched(files[hunk.path], hunk, tree)
                commits, why_not = brought_by(old, new, asked, edges=edges[span])
                hunk = replace(hunk, commits=commits)  # noqa: PLW2901 - the same hunk with more said
            if why_not:
                unnamed.setdefault(why_not, []).append(hunk.id)
        hunks.append(hunk)
    notes = [f"no commits are named for {', '.join(ids)}: {why_not}" for why_not, ids in unnamed.items()]
    return Named(replace(report, hunks=tuple(hunks)), notes, lasting=not unnamed and not any(edges.values()))


def _revisions(repository: GitProgram, sides: Sequence[Target], instead: Sequence[Target]) -> list[list[GitTree]]:
    """Return the commit of each side; of one without, those of releases up to it that the clone has, newest first.

    Raises TreeError when the clone lacks the commit of a side itself.
    """
    from patchkit.trees.git import GitTree  # noqa: PLC0415 - git only where it is asked for

    wanted = [[side.commit] if side.commit is not None else _earlier(side, instead) for side in sides]
    found = {tree.revision: tree for tree in GitTree.several(repository, [name for names in wanted for name in names])}
    for side in sides:
        if side.commit is not None and side.commit not in found:
            # There is something to say about it.
            found[side.commit] = GitTree(repository, side.commit)
    return [[found[name] for name in names if name in found] for names in wanted]


def _earlier(side: Target, instead: Sequence[Target]) -> list[str]:
    """Return the commits of those releases of ``instead`` that are no younger than ``side``, newest first."""
    from packaging.version import Version  # noqa: PLC0415 - 15 ms that other commands do without

    limit = Version(side.as_of)
    earlier = [other for other in instead if other.release and Version(other.as_of) <= limit]
    earlier.sort(key=lambda other: Version(other.as_of), reverse=True)
    return [other.commit for other in earlier if other.commit]


def _same_text(revisions: Sequence[GitTree], path: str, tree: SourceTree | None) -> GitTree | None:
    """Return the first revision whose file is that of ``tree``, or that has none where ``tree`` has none."""
    if tree is None:
        return None
    blob = blob_id_if_any(tree.read(path))
    return next((revision for revision in revisions if revision.blob_id(path) == blob), None)


def _touched(file: CarriedFile, hunk: HunkRebase, tree: SourceTree) -> Touched:
    """Return what to ask history about: the hunk's place in upstream's text, and what is gone from it."""
    before = split_lines(file.texts.before or b"")
    upstream = split_lines(tree.read(file.path) or b"")
    base = split_lines(file.texts.base or b"")
    lines = [met.spot.target for met in file.met if hunk.id in met.ids]
    gone: list[bytes] = []
    for run in file.texts.runs:
        if hunk.id not in run.ids:
            continue
        gone += [line for line in base[slice(*run.old)] if line not in before]
        if not lines and hunk.verdict == Verdict.UPSTREAMED.value:
            lines += _standing(split_lines(file.texts.changed or b"")[slice(*run.new)], before)
    if hunk.new is not None and not any(first < end for first, end in lines):
        # Nothing of the target's is in conflict: it changed what is around.
        lines.append((max(0, hunk.new.first - 1 - _AROUND), min(len(before), hunk.new.last + _AROUND)))
    place = None
    if lines:
        # Upstream's own text is what git knows; patches below ours have moved the lines.
        changed = edits(upstream, before)
        first, end = min(first for first, _ in lines), max(end for _, end in lines)
        place = mapped(changed, first) + 1, mapped(changed, end - 1) + 1 if end > first else mapped(changed, first)
    return Touched(file.path, place, tuple(gone))


def _standing(added: Sequence[bytes], before: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return where the longest of the lines that a hunk adds stands in the target, if it does once."""
    wanted = max((line.strip() for line in added), key=len, default=b"")
    places = [at for at, line in enumerate(before) if wanted and line.strip() == wanted]
    return [(places[0], places[0] + 1)] if len(places) == 1 else []
