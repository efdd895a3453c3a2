"""Version ranges as patch.yaml writes them, cut where a new variant begins."""

from __future__ import annotations

import re

_CLAUSE = re.compile(r"(>=|<=|<|>)\s*(\d+(?:\.\d+)*)")


def split(specifier: str, version: str) -> tuple[str, str] | None:
    """Return the parts of a range below ``version`` and from it on.

    None where that cannot be said by bounds alone (``!=``, ``~=``, ``==``), and where nothing would be left below.
    """
    lower: list[tuple[str, str]] = []
    upper: list[tuple[str, str]] = []
    for clause in filter(None, (part.strip() for part in specifier.split(","))):
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            return None
        (lower if match[1] in (">", ">=") else upper).append((match[1], match[2]))
    if any(_numbers(bound) >= _numbers(version) for _, bound in lower):
        return None
    kept = [f"{sign}{bound}" for sign, bound in upper]
    return ",".join([*(f"{sign}{bound}" for sign, bound in lower), f"<{version}"]), ",".join([f">={version}", *kept])


def lower_bound(specifier: str) -> str | None:
    """Return the version from which on a range holds, or None when it has no such bound."""
    bounds = [
        match[2]
        for clause in specifier.split(",")
        if (match := _CLAUSE.fullmatch(clause.strip())) and match[1] in (">", ">=")
    ]
    return max(bounds, key=_numbers, default=None)


def is_open(specifier: str) -> bool:
    """Tell whether a range has a lower bound and nothing else: it holds for whatever comes later."""
    clauses = [_CLAUSE.fullmatch(clause.strip()) for clause in specifier.split(",")]
    return all(match is not None and match[1] in (">", ">=") for match in clauses)


def narrowed(specifier: str, clause: str) -> str:
    """Return a range with one clause more; one that the range has already is not repeated."""
    clauses = [part.strip() for part in specifier.split(",") if part.strip()]
    return ",".join(clauses if clause in clauses else [*clauses, clause])


def is_before(one: str, two: str) -> bool:
    """Tell whether the final release ``one`` comes before ``two``."""
    return _numbers(one) < _numbers(two)


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".") if part.isdigit()]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
