"""How verdicts look: a letter, a colour that colour-blind people tell from the others, a word of explanation."""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """How one verdict is shown."""

    letter: str
    """A capital for what is bad."""
    colour: str
    """Of the palette of Okabe and Ito, made for every kind of colour vision."""
    ink: str
    """Of a letter on it."""
    bad: bool
    meaning: str


LOOKS = {
    "exact": Look("e", "#009e73", "#000", bad=False, meaning="fits, same line"),
    "moved": Look("m", "#56b4e9", "#000", bad=False, meaning="fits, another line"),
    "merged": Look("g", "#0072b2", "#fff", bad=False, meaning="lines nearby changed"),
    "restructured": Look("r", "#cc79a7", "#000", bad=False, meaning="same lines changed, told apart"),
    "upstreamed": Look("u", "#999999", "#000", bad=False, meaning="upstream has it"),
    "superseded": Look("v", "#000000", "#fff", bad=False, meaning="upstream's version is higher"),
    "obsolete": Look("O", "#e69f00", "#000", bad=True, meaning="its code is gone"),
    "conflict": Look("C", "#d55e00", "#000", bad=True, meaning="cannot be brought together"),
    "alarm": Look("A", "#f0e442", "#000", bad=True, meaning="fits, and a gate fired"),
}
UNKNOWN = Look("?", "#ffffff", "#000", bad=True, meaning="unknown")


def look(shown: str) -> Look:
    """Return how a verdict looks."""
    return LOOKS.get(shown, UNKNOWN)
