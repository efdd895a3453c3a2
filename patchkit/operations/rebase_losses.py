"""Saying which lines of which hunk a person has taken out of an edited file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from patchkit.core.rebasing.losses import Loss, losses
from patchkit.core.report import Problem
from patchkit.operations.rebase_carried import CarriedFile

_SHOWN = 5
"""Lines that are quoted."""


def lost_lines(file: CarriedFile, edited: bytes) -> tuple[Loss, ...]:
    """Return what hunks of ``file`` have lost in its edited text, conflicts aside."""
    before, after = file.texts.before or b"", file.after() or b""
    runs = file.lineage().label(before, after, file.traced)
    return losses(runs, before, file.parts or (), edited)


def problem_of(loss: Loss, patch: str, where: Path) -> Problem:
    """Say what was lost in the edited file ``where``, and what there is to do about it."""
    hunk = loss.ids[0]
    said = []
    if loss.gone:
        said.append(f"{counted(len(loss.gone))} that it adds {_are(loss.gone)} gone: {_quoted(loss.gone)}")
    if loss.back:
        said.append(f"{counted(len(loss.back))} that it takes out {_are(loss.back)} back: {_quoted(loss.back)}")
    hint = "put it right, or say that it is meant with " + " ".join(f"--accept-loss {name}" for name in loss.ids)
    return Problem("; ".join(said), str(where), hunk=hunk, line=loss.line, patch=patch, hint=hint)


def counted(count: int) -> str:
    """Return a number of lines in words."""
    return "1 line" if count == 1 else f"{count} lines"


def _are(lines: Sequence[bytes]) -> str:
    return "is" if len(lines) == 1 else "are"


def _quoted(lines: Sequence[bytes]) -> str:
    shown = [line.strip().decode("utf-8", "replace") for line in lines[:_SHOWN]]
    rest = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return ", ".join(f"`{text}`" for text in shown) + rest
