"""Line endings that an editor changed: where it saved a whole file with others, every line of it looks edited."""

from __future__ import annotations


def new_ending(before: bytes, after: bytes) -> str:
    """Return the name of the line ending that lines of ``after`` have and none of ``before`` has; empty for none."""
    known = _endings(before)
    # A text of one line without an end says nothing about how lines end in it.
    new = _endings(after) - known if known else frozenset()
    return next(iter(sorted(new)), "")


def _endings(content: bytes) -> frozenset[str]:
    cr_lf = content.count(b"\r\n")
    found = {"CR LF"} if cr_lf else set()
    return frozenset(found | {"LF"} if content.count(b"\n") > cr_lf else found)
