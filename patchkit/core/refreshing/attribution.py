"""To which patch an edit of a patched text belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from patchkit.core.refreshing.layering import Edit, Layer
from patchkit.core.scopes import MODULE


class Owned(msgspec.Struct, frozen=True):
    """The edit belongs to one patch."""

    level: int
    """Position of the patch's layer."""
    edit: Edit
    """In the lines that this layer leaves."""


class InQuestion(msgspec.Struct, frozen=True):
    """A person must say to which patch the edit belongs."""

    edit: Edit
    """In the lines that the last layer leaves."""
    candidates: tuple[str, ...]
    """Names of patches that it may belong to; none when no patch is near."""


def attribute(
    layers: Sequence[Layer], edit: Edit, scope: str, scopes: Sequence[Mapping[str, str]]
) -> Owned | InQuestion:
    """Say to which of ``layers`` (the first is the lowest) an edit of the last one's text belongs.

    It belongs to the patch whose added or removed lines it changes or extends. If there is none, it belongs to the
    patch in whose hunk's context it stands, when it is in the hunk's scope too. More than one such patch is a question.
    ``scope`` is that of the edit, ``scopes`` are those of the hunks by id, one mapping a layer.
    """
    near: list[Owned] = []
    around: list[Owned] = []
    current: Edit | None = edit
    sound = True
    # The lowest layer at which the edit can be put: below, it may be said to belong, and a person must decide.
    puttable = len(layers)
    for level in range(len(layers) - 1, -1, -1):
        if current is None:
            break
        layer = layers[level]
        if any(run.meets(current) for run in layer.runs):
            near.append(Owned(level, current))
        elif any(
            _inside(window.new, current) and _same_scope(scope, scopes[level].get(window.hunk, MODULE))
            for window in layer.windows
        ):
            around.append(Owned(level, current))
        if sound:
            puttable = level
        sound = sound and layer.lowered(current) is not None
        current = layer.position(current)
    for found in (near, around):
        if len(found) == 1 and found[0].level >= puttable:
            return found[0]
        if found:
            return InQuestion(edit, tuple(layers[owned.level].patch for owned in reversed(found)))
    return InQuestion(edit, ())


def given(layers: Sequence[Layer], edit: Edit, level: int) -> Owned | None:
    """Return an edit as one of the layer that a person named; None when it changes lines of a patch above that one."""
    current: Edit | None = edit
    for layer in reversed(layers[level + 1 :]):
        current = None if current is None else layer.lowered(current)
    return None if current is None else Owned(level, current)


def _inside(window: tuple[int, int], edit: Edit) -> bool:
    start, end = window
    if edit.start == edit.end:
        return start < edit.start < end
    return edit.start < end and edit.end > start


def _same_scope(scope: str, hunk_scope: str) -> bool:
    if hunk_scope == MODULE:
        return scope == MODULE
    return scope == hunk_scope or scope.startswith(f"{hunk_scope}.")
