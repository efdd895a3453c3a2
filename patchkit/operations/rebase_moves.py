"""Saying where a file, class or function went that is gone from where a hunk was made for it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec.structs import replace

from patchkit.core.carry import Verdict
from patchkit.core.lines import split_lines
from patchkit.core.merging.obsolete import OFFER
from patchkit.core.merging.relocate import moved_to
from patchkit.core.merging.surroundings import Outline
from patchkit.core.rebasing.rebased import HunkRebase
from patchkit.core.rebasing.renames import Rename, renamed
from patchkit.core.scopes import MODULE
from patchkit.operations.rebase_carried import CarriedFile, CarriedPatch, Texts
from patchkit.trees.interface import SourceTree

_WANTED = frozenset({Verdict.CONFLICT.value, Verdict.OBSOLETE.value})


def find_renames(paths: Iterable[str], old: SourceTree, new: SourceTree) -> dict[str, Rename]:
    """Return where each of ``paths`` went that is in ``old`` and not in ``new``.

    Asked about are the files of the same kind that only ``new`` has.
    """
    found: dict[str, Rename] = {}
    for path in paths:
        text = old.read(path)
        if text is None or new.read(path) is not None:
            continue
        suffix = PurePosixPath(path).suffix
        others = (other for other in sorted({*new.paths()} - {*old.paths()}) if PurePosixPath(other).suffix == suffix)
        rename = renamed(path, text, ((other, new.read(other) or b"") for other in others))
        if rename is not None:
            found[path] = rename
    return found


def with_moves(carried: CarriedPatch, tree: SourceTree) -> CarriedPatch:
    """Return the answer with the new path and name of a definition in the reason of the hunks that stood in it.

    What stood in one is in conflict then, and not obsolete: what it changes is still there. Only hunks without a place
    are asked about, and only when the target's file has no such class or function; the other Python files of the
    target's package are read then.
    """
    return replace(carried, files=tuple(_with_moves(file, tree) for file in carried.files))


def _with_moves(file: CarriedFile, tree: SourceTree) -> CarriedFile:
    known: dict[str, tuple[str, str, str] | None] = {}
    hunks: list[HunkRebase] = []
    elsewhere = set(file.elsewhere)
    open_ids = {name for met in file.met for name in met.ids}
    for hunk in file.hunks:
        scope = hunk.old.scope if hunk.old is not None else MODULE
        if hunk.verdict in _WANTED and hunk.id not in elsewhere and scope != MODULE and hunk.path.endswith(".py"):
            if scope not in known:
                known[scope] = _where(file.texts, scope, tree)
            found = known[scope]
            if found is not None:
                hunk = _moved(hunk, *found)  # noqa: PLW2901 - the same hunk with more said
                if hunk.id not in open_ids:
                    elsewhere.add(hunk.id)
        hunks.append(hunk)
    return replace(file, hunks=tuple(hunks), elsewhere=frozenset(elsewhere))


def _moved(hunk: HunkRebase, scope: str, path: str, name: str) -> HunkRebase:
    reason = f"{hunk.reason.removesuffix(OFFER)}; {scope} is {name} in {path} now"
    review = tuple(line for line in hunk.review if not line.startswith(f"{Verdict.OBSOLETE.value}:"))
    return replace(hunk, verdict=Verdict.CONFLICT.value, reason=reason, review=review)


def _where(texts: Texts, scope: str, tree: SourceTree) -> tuple[str, str, str] | None:
    """Return which definition went, to which path and name: that of the scope, or else the class around it."""
    base, there = Outline(split_lines(texts.base or b"")), Outline(split_lines(texts.before or b""))
    while scope and not there.has(scope):
        text = base.text(scope)
        found = None if text is None else _find(text.decode("utf-8", "replace"), scope, texts.path, tree)
        if found is not None:
            return scope, *found
        scope = scope.rpartition(".")[0]
    return None


def _find(definition: str, scope: str, own: str, tree: SourceTree) -> tuple[str, str] | None:
    name = scope.rpartition(".")[2].encode()
    others: dict[str, str] = {}
    for path in tree.paths(own.split("/", maxsplit=1)[0]):
        if not path.endswith(".py") or path == own:
            continue
        content = tree.read(path) or b""
        if name in content:
            others[path] = content.decode("utf-8", "replace")
    return moved_to(definition, others)
