"""Whom and which day a commit of git can have as its author."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_CRUD: Final = "".join(map(chr, range(33))) + ".,:;<>\"\\'"
"""What git takes off both ends of a name (ident.c, ``crud``)."""
_DAY: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MONTHS: Final = 12
_YEARS: Final = range(1970, 2100)
"""Those of which git reads a date (date.c, ``tm_to_time_t``)."""


class Objection(NamedTuple):
    """What keeps git from making a commit of a patch."""

    key: str
    """Of patch.yaml."""
    message: str
    hint: str


def objections(author: str, day: str) -> Iterator[Objection]:
    """Yield why git makes no commit of a patch by ``author`` that was last changed on ``day``."""
    if not names_somebody(author):
        hint = "git takes signs from both ends of a name, and nothing is left; say who wrote the patch"
        yield Objection("author", f"no author of a commit: {author!r}", hint)
    if not is_day(day):
        yield Objection("last-update", f"no date of a commit: {day}", "git reads days of the years 1970 to 2099")


def names_somebody(author: str) -> bool:
    """Tell whether git leaves anything of a name, blanks of all kinds taken for blanks."""
    return "".join(author.split()).strip(_CRUD) != ""


def is_day(day: str) -> bool:
    """Tell whether ``day`` (YYYY-MM-DD) is in the calendar, in a year that git reads."""
    found = _DAY.fullmatch(day)
    year, month, number = map(int, found.groups()) if found else (0, 0, 0)
    return year in _YEARS and 1 <= month <= _MONTHS and 1 <= number <= calendar.monthrange(year, month)[1]
