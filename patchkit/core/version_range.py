"""Whether a version lies in a range, as PEP 440 writes them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from patchkit.core.series import Specifier


def in_range(version: str, specifier: Specifier) -> bool:
    """Tell whether ``version`` meets ``specifier`` (empty: always); a pre-release counts like any version."""
    if not specifier:
        return True
    if _PLAIN_VERSION.fullmatch(version) and _PLAIN_SPECIFIER.fullmatch(specifier):
        return all(_meets(version, clause) for clause in specifier.split(","))
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - 15 ms that plain numbers do without

    return SpecifierSet(specifier).contains(version, prereleases=True)


_PLAIN_VERSION = re.compile(r"\d+(\.\d+)*")
_PLAIN_SPECIFIER = re.compile(r"\s*(>=|<=|<|>)\s*\d+(\.\d+)*\s*(,\s*(>=|<=|<|>)\s*\d+(\.\d+)*\s*)*")
_COMPARE: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def _meets(version: str, clause: str) -> bool:
    """Compare final releases, which PEP 440 orders by their numbers, missing ones being 0."""
    text = clause.strip()
    sign = text[:2] if text[:2] in _COMPARE else text[:1]
    one, two = (_numbers(part) for part in (version, text.removeprefix(sign)))
    width = max(len(one), len(two))
    return _COMPARE[sign](one + (0,) * (width - len(one)), two + (0,) * (width - len(two)))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.strip().split("."))
