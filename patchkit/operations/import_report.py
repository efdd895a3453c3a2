"""What import answers."""

# No postponed annotations here: msgspec would compile each one again at every start.
from patchkit import __version__
from patchkit.core.foreign.diffs import Repair
from patchkit.core.model import LineKind
from patchkit.core.report import REPORT_SCHEMA, Item, Problem
from patchkit.operations.import_base import Base
from patchkit.operations.import_units import Unit


class BaseReport(Item, frozen=True):
    """What the patch was made for."""

    target: str
    commit: str | None
    how: str
    matching: int
    """Files whose index line names the base's text."""
    of: int
    """Files that have an index line."""


class ProposedPatch(Item, frozen=True):
    """A patch of the series that was made, or would be."""

    name: str
    hunks: tuple[str, ...]
    files: tuple[str, ...]
    added: int
    """Lines."""
    removed: int
    reason: str
    depends: tuple[str, ...]


class Imported(Item, frozen=True, kw_only=True):
    """The answer of import."""

    schema: int = REPORT_SCHEMA
    tool: str = __version__
    command: str = "import"
    ok: bool
    verdict: str
    """imported, would-import, refused."""
    series: str
    """Folder of the series."""
    base: BaseReport
    files: int
    hunks: int
    repairs: tuple[Repair, ...]
    patches: tuple[ProposedPatch, ...] = ()
    """What was written, or would be."""
    proposed: tuple[ProposedPatch, ...] = ()
    """How the patch could be split, when it was not asked for."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


def base_report(base: Base) -> BaseReport:
    """Return what there is to say about a base."""
    commit = getattr(base.tree, "commit", None)
    return BaseReport(base.target.title, commit, base.how, base.matching, base.of)


def shown(unit: Unit) -> ProposedPatch:
    """Return what there is to say about a new patch."""
    lines = [line.kind for scoped in unit.scoped.values() for line in scoped.hunk.lines]
    return ProposedPatch(
        name=unit.proposal.name,
        hunks=tuple(unit.scoped),
        files=tuple(sorted({file.path for file in unit.files})),
        added=lines.count(LineKind.ADDED),
        removed=lines.count(LineKind.REMOVED),
        reason=unit.proposal.reason,
        depends=unit.proposal.depends,
    )
