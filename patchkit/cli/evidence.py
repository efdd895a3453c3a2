"""What `patchkit evidence` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from patchkit.cli.rendering.printable import one_line
from patchkit.core.evidence import EvidenceReport, Judged, Standing
from patchkit.tms.fingerprints import known_builds


@dataclass(frozen=True, slots=True)
class Shown:
    """A report, and what its cases show."""

    place: str
    """Its path, as it was given."""
    report: EvidenceReport
    cases: tuple[Judged, ...]

    @property
    def ok(self) -> bool:
        """Whether there is a case, and each is as it should be."""
        return bool(self.cases) and all(case.good for case in self.cases)


Line = tuple[str, ...]

MATRIX: Line = ("megatron-core", "torch_memory_saver", "hook", "flags", "ranks", "as it should be")
FIGURES: Line = (
    "case", "pause s", "resume s", "device freed", "predicted", "host taken", "predicted"
)  # fmt: skip


def known_libraries() -> dict[str, tuple[str, str]]:
    """Return release and name of every library in a wheel of the index, by its SHA-256."""
    return {
        digest: (release, name) for release, build in known_builds().items() for digest, name in build.libraries.items()
    }


def as_text(shown: Sequence[Shown]) -> Iterator[str]:
    """Yield the lines for a terminal."""
    for each in shown:
        yield f"{each.place}: {_machine(each.report)}"
        yield from _aligned(_matrix(each.cases))
        figures = list(_figures(each.cases))
        if len(figures) > 1:
            yield from _aligned(figures)
        for case in _bad(each.cases):
            yield from (f"  {case.case.id}: {case.standing.value}: {one_line(why, 300)}" for why in case.reasons)
    yield _summary([case for each in shown for case in each.cases])


def as_markdown(shown: Sequence[Shown]) -> Iterator[str]:
    """Yield the lines for a document."""
    for each in shown:
        yield from ("", f"## {Path(each.place).name}", "", f"{_machine(each.report)}.", "")
        yield from _piped(_matrix(each.cases))
        figures = list(_figures(each.cases))
        if len(figures) > 1:
            yield ""
            yield from _piped(figures)
        bad = [(case, why) for case in _bad(each.cases) for why in case.reasons]
        yield from ("",) * bool(bad)
        yield from (f"- `{case.case.id}`: {case.standing.value}: {one_line(why, 300)}" for case, why in bad)
    yield from ("", _summary([case for each in shown for case in each.cases]))


def as_data(shown: Sequence[Shown]) -> dict[str, Any]:
    """Return what JSON has: each report's machine, and standing and reasons of each case."""
    return {
        "ok": all(each.ok for each in shown),
        "reports": [
            {
                "file": each.place,
                "ok": each.ok,
                "series": each.report.series,
                "cases": [
                    {
                        "id": case.case.id,
                        "standing": case.standing.value,
                        "reasons": case.reasons,
                        "figures": msgspec.to_builtins(case.case.figures),
                    }
                    for case in each.cases
                ],
            }
            for each in shown
        ],
    }


def _machine(report: EvidenceReport) -> str:
    gpus = f"{report.gpus} x {report.gpu}" if report.gpus > 1 else report.gpu
    digest = report.series.removeprefix("sha256:")[:12]
    return f"{gpus}, driver {report.driver}, torch {report.torch}, {report.date}, series {digest}"


def _matrix(cases: Sequence[Judged]) -> list[Line]:
    """How many of each kind are as they should be."""
    groups: dict[Line, list[Judged]] = {}
    for each in cases:
        case = each.case
        key: Line = (case.megatron, case.saver or "-", case.hook, case.flags, str(case.ranks))
        groups.setdefault(key, []).append(each)
    rows: list[Line] = [(*key, f"{sum(each.good for each in groups[key])} of {len(groups[key])}") for key in groups]
    return [MATRIX, *sorted(rows, key=_by_version)]


def _by_version(row: Line) -> tuple[Any, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in row[0].split(".")), row[1:]


def _figures(cases: Sequence[Judged]) -> Iterator[Line]:
    """Bytes predicted and measured, of the cases whose model is large enough to say something."""
    yield FIGURES
    for each in cases:
        found = each.case.figures
        if each.case.settings.get("size") == "small" or "device predicted" not in found:
            continue
        yield (
            each.case.id,
            f"{found['pause seconds']:.2f}",
            f"{found['resume seconds']:.2f}",
            *(_mib(found, name) for name in ("device freed", "device predicted", "host taken", "host predicted")),
        )


def _mib(figures: Mapping[str, float], name: str) -> str:
    return f"{figures[name] / (1 << 20):.1f} MiB"


def _bad(cases: Iterable[Judged]) -> Iterator[Judged]:
    return (case for case in cases if not case.good)


def _summary(cases: Sequence[Judged]) -> str:
    counts = [(standing, sum(case.standing is standing for case in cases)) for standing in Standing]
    said = ", ".join(f"{count} {standing.value}" for standing, count in counts if count) or "none"
    bad = any(not case.good for case in cases) or not cases
    return f"{len(cases)} cases: {said}" + ("; this does not verify the series" if bad else "")


def _aligned(rows: Sequence[Line]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _piped(rows: Sequence[Line]) -> Iterator[str]:
    for at, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if at == 0:
            yield f"|{' --- |' * len(row)}"
