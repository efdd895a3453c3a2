"""What came of a case."""

from __future__ import annotations

from typing import Final, NamedTuple

SAME: Final = "same"
"""No difference: the same bytes, or refused by all."""

RULES: Final = {
    "edit": (SAME, "hunks-overlap"),
    "drift": (SAME, "edge-of-git", "edge-of-patch", "joined-lines", "not-unique", "order"),
    "merge": (
        SAME,
        "statements",
        "statements-apart",
        "same-meaning",
        "blank-lines",
        "insertion-order",
        "no-python",
        "binary-one-side",
        "binary-late",
        "line-endings",
        "markers",
        "other-alignment",
    ),
    "damaged": (SAME, "repaired", "forgives-nothing", "refused", "edge-of-git"),
    "tree": (SAME, "modes", "names"),
}
"""By family the differences that are meant; docs/conformance.md says what each is and why."""


class Outcome(NamedTuple):
    """One case, compared."""

    family: str
    number: int
    """With the seed it makes the case again."""
    rule: str
    """Name of the rule by which the two differ; empty when no rule says so."""
    disagreement: str = ""
    """What differs without a rule that says so; empty when there is no such thing."""
    kinds: frozenset[str] = frozenset()
    """What is odd about its texts and files (``kinds``)."""
