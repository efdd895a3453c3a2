"""What the compiler refuses although it can be parsed, where both sides had a hand in it."""

from __future__ import annotations

import re
from typing import Final

from patchkit.core.gating.merged import Merged
from patchkit.core.gating.parsing import compile_error

# What has a place where it may stand. Below a star: two of them on the left of one assignment. Of return, break and
# continue outside of a function or loop other rules know.
_PLACED: Final = re.compile(
    rb"\b(?:await|async|yield|nonlocal|global|case|__future__|__debug__|__class__)\b|\bexcept[ \t]*:"
    rb"|^[^=\n(]*\*\w[^=\n]*=(?!=)",
    re.MULTILINE,
)
_RETURN: Final = re.compile(rb"\breturn\b")


def uncompilable(merged: Merged) -> tuple[int, str] | None:
    """Return the 1-based line and the message of what cannot be compiled in the result, and could on both sides."""
    # A header that the other side took out, with a word in it, is among the edits as well.
    if not (merged.chunks and (_edits(merged, _PLACED) or (_edits(merged, _RETURN) and _has_async_generator(merged)))):
        return None
    if not any(map(compile_error, merged.texts)):
        return None
    error = compile_error(merged.result)
    if error is None:
        return None
    known = (compile_error(text) for text in (merged.changed, merged.target))
    return None if any(each is not None and each[1] == error[1] for each in known) else error


def _edits(merged: Merged, pattern: re.Pattern[bytes]) -> bool:
    return any(pattern.search(text) for side in merged.edits for text in side)


def _has_async_generator(merged: Merged) -> bool:
    """Tell whether there may be one, in which no value is returned."""
    return any(b"async " in text and b"yield" in text for text in merged.texts)
