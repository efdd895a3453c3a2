"""Times of commits as git tells them: whoever makes a commit writes any number there, or none."""

from __future__ import annotations

import re
from datetime import datetime, timezone

UNKNOWN = 0
"""The time of a commit whose time is not known."""
_NUMBER = re.compile(r"[0-9]{1,10}")
_END = 4_102_444_800
"""The year 2100: a picture of a history has a mark for each month."""


def seconds(told: str) -> int:
    """Return a time in seconds since 1970; UNKNOWN for what is no number, and for one of another age than ours."""
    found = int(told) if _NUMBER.fullmatch(told) else UNKNOWN
    return found if found < _END else UNKNOWN


def day(time: int) -> str:
    """Return the UTC day of a time as ``seconds`` has it, YYYY-MM-DD; empty where it is not known."""
    if time == UNKNOWN:
        return ""
    return datetime.fromtimestamp(time, tz=timezone.utc).strftime("%Y-%m-%d")
