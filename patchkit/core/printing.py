"""Text from elsewhere, without what does not print."""

from __future__ import annotations


def printable(text: str, *, but: str = "") -> str:
    """Return text with everything that does not print as a Python escape: controls, direction marks, surrogates.

    The characters in ``but`` stay.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in but else each.encode("unicode_escape").decode() for each in text
    )
