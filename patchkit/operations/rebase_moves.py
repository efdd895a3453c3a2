"""Adding to an answer where a class or function went that is gone from the file a hunk was made for."""

from __future__ import annotations

from msgspec.structs import replace

from patchkit.core.carry import Verdict
from patchkit.core.lines import split_lines
from patchkit.core.merging.relocate import moved_to
from patchkit.core.merging.surroundings import Outline
from patchkit.core.rebasing.rebased import HunkRebase, PatchRebase
from patchkit.core.scopes import MODULE
from patchkit.operations.rebase_carry import CarriedPatch, Texts
from patchkit.trees.interface import SourceTree

_WANTED = frozenset({Verdict.CONFLICT.value, Verdict.OBSOLETE.value})


def with_moves(report: PatchRebase, carried: CarriedPatch, tree: SourceTree) -> PatchRebase:
    """Return the answer with the new path and name of a definition in the reason of the hunks that stood in it.

    Only hunks without a place are asked about, and only when the target's file has no such class or function; the other
    Python files of the target's package are read then.
    """
    files = {file.path: file.texts for file in carried.files}
    known: dict[tuple[str, str], tuple[str, str] | None] = {}
    hunks: list[HunkRebase] = []
    for hunk in report.hunks:
        scope = hunk.old.scope if hunk.old is not None else MODULE
        place = (hunk.path, scope)
        if hunk.verdict in _WANTED and scope != MODULE and hunk.path.endswith(".py"):
            if place not in known:
                known[place] = _where(files[hunk.path], scope, tree)
            found = known[place]
            if found is not None:
                hunk = replace(hunk, reason=f"{hunk.reason}; {scope} is {found[1]} in {found[0]} now")  # noqa: PLW2901 - the same hunk with more said
        hunks.append(hunk)
    return replace(report, hunks=tuple(hunks))


def _where(texts: Texts, scope: str, tree: SourceTree) -> tuple[str, str] | None:
    base = split_lines(texts.base or b"")
    if texts.before is not None and Outline(split_lines(texts.before)).has(scope):
        return None
    text = Outline(base).text(scope)
    if text is None:
        return None
    name = scope.rpartition(".")[2].encode()
    others: dict[str, str] = {}
    for path in tree.paths(texts.path.split("/")[0]):
        if not path.endswith(".py") or path == texts.path:
            continue
        content = tree.read(path) or b""
        if name in content:
            others[path] = content.decode("utf-8", "replace")
    return moved_to(text.decode("utf-8", "replace"), others)
