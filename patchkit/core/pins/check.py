"""All rules over all files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from patchkit.core.pins.base_rules import base_findings
from patchkit.core.pins.findings import Finding, PinReport
from patchkit.core.pins.image_rules import image_findings
from patchkit.core.pins.judging import Knowledge, finding
from patchkit.core.pins.model import NAMES, Pin, PinKind
from patchkit.core.pins.patch_rules import patch_findings
from patchkit.core.pins.pin_rules import pin_findings, same_pin
from patchkit.core.pins.reading import Reading

_OPEN = frozenset({PinKind.NOTHING, PinKind.RANGE})
_PASSWORD = re.compile(r"//[^/@]*@")
_NAMES = {"dockerfile": "Dockerfile", "pyproject": "TOML", "conda": "YAML"}


def judge(readings: Sequence[Reading], known: Knowledge) -> tuple[Finding, ...]:
    """Return every finding, by file in the order given and by line."""
    found: list[Finding] = []
    between = list(_disagreements(readings, known))
    for reading in readings:
        own = [
            *_not_understood(reading),
            *pin_findings(reading, known),
            *patch_findings(reading),
            *base_findings(reading, known),
            *image_findings(reading),
            *(each for each in between if each.path == reading.path),
        ]
        found.extend(sorted(own, key=lambda each: (each.line, each.level != "wrong", each.rule)))
    return tuple(dict.fromkeys(found))


def pins_of(readings: Sequence[Reading]) -> tuple[PinReport, ...]:
    """Return every pin that was found, as reports have it."""
    return tuple(
        PinReport(
            path=reading.path,
            line=reading.line(pin.at),
            package=NAMES[pin.package],
            kind=pin.kind.value,
            value=pin.value,
            repository=None if pin.repository is None else _PASSWORD.sub("//", pin.repository),
        )
        for reading in readings
        for pin in reading.pins
    )


def _not_understood(reading: Reading) -> Iterator[Finding]:
    if reading.broken is not None:
        at, problem = reading.broken
        yield finding(
            reading,
            at,
            "does-not-parse",
            "wrong",
            message=problem,
            why="what stands there was not checked, and no build takes it",
            advice=f"correct the {_NAMES.get(reading.kind.value, 'text')}, then check again",
        )
    for at, problem in reading.problems:
        yield finding(
            reading,
            at,
            "not-read",
            "look",
            message=problem,
            why="pins and patches in it were not checked",
            advice="look at it yourself, or write it more plainly",
        )


def _disagreements(readings: Sequence[Reading], known: Knowledge) -> Iterator[Finding]:
    """Yield where files that are given together end up with different pins."""
    for package in ("megatron", "tms"):
        last = [(reading, pin) for reading in readings if (pin := _effective(reading, package)) is not None]
        for reading, pin in last[1:]:
            first, other = last[0]
            if same_pin(other, pin, known) and _same_place(other, pin):
                continue
            if first.constraint is not reading.constraint and _OPEN.intersection((other.kind, pin.kind)):
                continue  # Whether the constraint is in the range pip finds out.
            platforms = (
                f" ({_platform(reading)} against {_platform(first)})" if reading.is_rocm != first.is_rocm else ""
            )
            yield finding(
                reading,
                pin.at,
                "files-disagree",
                "wrong",
                message=f"{pin.title} here, {other.title} in {first.path}:{first.line(other.at)}{platforms}",
                why="a bug that one image has is not found in the other, and a patch fits one of them at most",
                advice="pin the same in both, or check them one at a time when they differ on purpose",
            )


def _platform(reading: Reading) -> str:
    return "ROCm" if reading.is_rocm else "CUDA"


def _same_place(one: Pin, other: Pin) -> bool:
    """An unpinned installation is the same as another one from the same place only."""
    if one.kind not in (PinKind.NOTHING, PinKind.BRANCH):
        return True
    return (one.repository or "").removesuffix(".git") == (other.repository or "").removesuffix(".git")


def _effective(reading: Reading, package: str) -> Pin | None:
    pins = [pin for pin in reading.pins if pin.package == package and pin.kind is not PinKind.UNKNOWN]
    return pins[-1] if pins else None
