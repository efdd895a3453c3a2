"""The scope that a hunk belongs to: the innermost class or function around all its changed lines, before and after."""

from __future__ import annotations

from patchkit.core.lines import split_lines
from patchkit.core.model import Hunk, LineKind
from patchkit.core.scopes import MODULE, Scope, scopes


def enclosing_scopes(path: str, before: bytes | None, after: bytes | None, hunks: tuple[Hunk, ...]) -> list[str]:
    """Return the scope of each hunk of ``path``; the hunks fit ``before`` exactly and give ``after``.

    A scope must be there before and after under the same name. A method added behind another one touches the end of
    that one in the old text only, so that its scope is the class.
    """
    if not path.endswith((".py", ".pyi")) or before is None or after is None:
        return [MODULE for _ in hunks]
    old_scopes, new_scopes = scopes(before), scopes(after)
    new_lines = split_lines(after)
    return [_scope(hunk, old_scopes, new_scopes, new_lines) for hunk in hunks]


def _scope(hunk: Hunk, old: tuple[Scope, ...], new: tuple[Scope, ...], new_lines: list[bytes]) -> str:
    place = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
    spots = [(place + start, place + end) for start, end in hunk.touched]
    added = [at for at in _added(hunk) if new_lines[at].strip()]
    first, last = (added[0], added[-1]) if added else (len(new_lines), 0)
    kept = {scope.name for scope in new if scope.name == MODULE or (scope.first <= first and last <= scope.last)}
    around = [scope for scope in old if scope.name in kept and all(scope.holds(start, end) for start, end in spots)]
    # The module is always among them; of equal spans the later one is the inner.
    inner = min(range(len(around)), key=lambda at: (around[at].last - around[at].first, -at))
    return around[inner].name


def _added(hunk: Hunk) -> list[int]:
    """Return the 0-based lines that the hunk adds, in the new text."""
    at = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
    found: list[int] = []
    for line in hunk.lines:
        if line.kind is LineKind.ADDED:
            found.append(at)
        at += line.kind is not LineKind.REMOVED
    return found
