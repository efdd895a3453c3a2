"""What `patchkit tms cycle` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patchkit.cli.rendering.printable import one_line
from patchkit.cli.tms_reports import CycleReport, TableReport, row_report
from patchkit.tms.cycle.rows import Row, Touched


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycled:
    """One Megatron with one torch_memory_saver."""

    megatron: str
    """The target, or how the tree was named."""
    state: str
    """What was done or found there: applied, already-applied, modified ..."""
    saver: str
    """Its version, or how it was named."""
    cuda: int
    """The major that was simulated."""
    python: str
    torch: str
    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        """Whether every row is."""
        return all(row.ok for row in self.rows)


HEADER = ("flags", "optimizer", "ranks", "bits", "host predicted", "measured", "touched", "verdict")


def cycled_lines(found: Cycled) -> Iterator[str]:
    """Yield a table of the ways to train, then what is not as it should be."""
    saver = f"torch_memory_saver {found.saver}, CUDA {found.cuda} simulated"
    yield f"megatron-core {found.megatron} ({found.state}), {saver}, torch {found.torch}, Python {found.python}"
    cells = [HEADER, *map(_cells, found.rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(HEADER))]
    for line in cells:
        yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
    # Older builds fail all rows of a kind in the same way.
    rows: dict[str, list[Row]] = {}
    for row in found.rows:
        for problem in row.problems:
            rows.setdefault(problem, []).append(row)
    for problem, alike in rows.items():
        yield f"{'; '.join(map(_named, alike))}: {one_line(problem, 300)}"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        "on" if row.way.flags else "off",
        "distributed" if row.way.sharded else "plain",
        str(row.way.ranks),
        {True: "equal", False: "differ", None: "-"}[row.equal],
        "-" if row.predicted is None else str(row.predicted),
        " ".join(map(str, dict.fromkeys(row.measured))) or "-",
        "-" if row.touched is Touched.UNKNOWN else row.touched.value,
        "good" if row.ok else "not good",
    )


def _named(row: Row) -> str:
    """Name a row in one phrase."""
    flags, optimizer, ranks, *_ = _cells(row)
    return f"flags {flags}, {optimizer}" + (f", {ranks} ranks" if row.way.ranks > 1 else "")


def cycle_report(found: Sequence[Cycled]) -> CycleReport:
    """Return what JSON has: the tables with a verdict on each row, each table and all."""
    tables = tuple(
        TableReport(
            megatron=item.megatron,
            state=item.state,
            saver=item.saver,
            cuda=item.cuda,
            python=item.python,
            torch=item.torch,
            rows=tuple(map(row_report, item.rows)),
            ok=item.ok,
        )
        for item in found
    )
    return CycleReport(ok=all(item.ok for item in found), cycles=tables)
