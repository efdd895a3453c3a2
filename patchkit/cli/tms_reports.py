"""What `patchkit tms` answers as JSON: the envelope of every report around what patchkit.tms found."""

# No postponed annotations here: msgspec would compile each one again at every start.
from collections.abc import Mapping, Sequence

import msgspec

from patchkit import __version__
from patchkit.core.report import REPORT_SCHEMA, Item
from patchkit.tms.build import Need
from patchkit.tms.cycle.rows import Row, Touched, Way
from patchkit.tms.identity import Identity, LibraryIdentity
from patchkit.tms.probe import Probed, Trial
from patchkit.tms.triage import Triage
from patchkit.tms.verdict import DefectStanding, Verdict


def _tool() -> str:
    """Which patchkit says so; a function, so that the schemas do not name the version that they were made with."""
    return __version__


class IdentifyReport(Item, frozen=True, kw_only=True):
    """The answer of `tms identify`."""

    schema: int = REPORT_SCHEMA
    tool: str = msgspec.field(default_factory=_tool)
    command: str = "tms identify"
    ok: bool
    """Whether it is known to be good enough for the series."""
    label: str
    version: str | None
    origin: str
    build: str
    libraries: tuple[LibraryIdentity, ...]
    verdict: Verdict
    defects: tuple[DefectStanding, ...]
    meets_minimum: bool | None
    notes: tuple[str, ...]


class ProbeReport(Item, frozen=True, kw_only=True):
    """The answer of `tms probe`."""

    schema: int = REPORT_SCHEMA
    tool: str = msgspec.field(default_factory=_tool)
    command: str = "tms probe"
    ok: bool
    """Whether everything works that training with the series relies on."""
    label: str
    version: str | None
    major: int
    """Of the CUDA that was simulated."""
    libraries: Mapping[str, str]
    """Path by hook mode."""
    trials: tuple[Trial, ...]


class LogReport(Item, frozen=True, kw_only=True):
    """What one log says."""

    log: str
    fatal: bool
    triage: Triage


class TriageReport(Item, frozen=True, kw_only=True):
    """The answer of `tms triage`."""

    schema: int = REPORT_SCHEMA
    tool: str = msgspec.field(default_factory=_tool)
    command: str = "tms triage"
    ok: bool
    """Whether no log has something fatal."""
    logs: tuple[LogReport, ...]


class BuildEnvReport(Item, frozen=True, kw_only=True):
    """The answer of `tms build-env`."""

    schema: int = REPORT_SCHEMA
    tool: str = msgspec.field(default_factory=_tool)
    command: str = "tms build-env"
    ok: bool
    """Whether nothing is missing that no variable sets."""
    needs: tuple[Need, ...]


class RowReport(Item, frozen=True, kw_only=True):
    """One way to train, and what came of it; see patchkit.tms.cycle.rows.Row."""

    way: Way
    equal: bool | None
    predicted: int | None
    measured: tuple[int, ...]
    saved: int | None
    touched: Touched
    problems: tuple[str, ...]
    ok: bool


class TableReport(Item, frozen=True, kw_only=True):
    """One Megatron with one torch_memory_saver; see patchkit.cli.cycles.Cycled."""

    megatron: str
    state: str
    saver: str
    cuda: int
    python: str
    torch: str
    rows: tuple[RowReport, ...]
    ok: bool


class CycleReport(Item, frozen=True, kw_only=True):
    """The answer of `tms cycle`."""

    schema: int = REPORT_SCHEMA
    tool: str = msgspec.field(default_factory=_tool)
    command: str = "tms cycle"
    ok: bool
    """Whether every row of every table is good."""
    cycles: tuple[TableReport, ...]


def identify_report(found: Identity) -> IdentifyReport:
    """Return the report of an identity."""
    return IdentifyReport(ok=bool(found.meets_minimum), **msgspec.structs.asdict(found))


def probe_report(found: Probed) -> ProbeReport:
    """Return the report of what was tried out."""
    return ProbeReport(
        ok=found.good_enough,
        label=found.label,
        version=found.version,
        major=found.major,
        libraries=found.libraries,
        trials=found.trials,
    )


def triage_report(found: Sequence[tuple[str, Triage]]) -> TriageReport:
    """Return the report of logs by their names."""
    logs = tuple(LogReport(log=name, fatal=item.fatal, triage=item) for name, item in found)
    return TriageReport(ok=not any(each.fatal for each in logs), logs=logs)


def row_report(row: Row) -> RowReport:
    """Return the report of a row."""
    return RowReport(
        way=row.way,
        equal=row.equal,
        predicted=row.predicted,
        measured=row.measured,
        saved=row.saved,
        touched=row.touched,
        problems=row.problems,
        ok=row.ok,
    )
