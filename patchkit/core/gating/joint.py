"""What the gates say of the parts of a result that both sides had a hand in: see ``patchkit.core.gating.merged``."""

from __future__ import annotations

from collections.abc import Iterator

from patchkit.core.gating.alarm import Alarm, Rule
from patchkit.core.gating.clauses import stray_clauses
from patchkit.core.gating.compiled import uncompilable
from patchkit.core.gating.fields import misplaced_fields
from patchkit.core.gating.merged import Merged
from patchkit.core.gating.unreachable import unreachable


def joint_alarms(base: bytes, changed: bytes, target: bytes, result: bytes) -> Iterator[Alarm]:
    """Yield what is wrong in parts of ``result`` that neither ``changed`` nor ``target`` has, and wrong on no side."""
    merged = Merged(base, changed, target, result)
    error = uncompilable(merged)
    if error is not None:
        line, message = error
        yield Alarm(Rule.SYNTAX, line, message, f"the result is no Python: {message}")
    for stray in stray_clauses(merged):
        message = f"this {stray.word} in {stray.scope} belongs to another statement than on the side that it is from"
        yield Alarm(Rule.MISPLACED, stray.line, stray.word, message)
    for field in misplaced_fields(merged):
        message = f"{field.name} has no default and stands behind a field of {field.scope} that has one"
        yield Alarm(Rule.MISPLACED, field.line, field.name, message)
    for dead in unreachable(merged):
        message = f"this statement in {dead.scope} stands behind {dead.word} in its block, and is not run"
        yield Alarm(Rule.UNREACHABLE, dead.line, dead.word, message)
