"""What explain answers: both sides of a hunk on a target, and what can be made of them."""

# No postponed annotations here: msgspec would compile each one again at every start.
from patchkit.core.panes import PaneRow
from patchkit.core.report import REPORT_SCHEMA, Item
from patchkit.core.upstream_report import HunkAnswer


class Proposal(Item, frozen=True, kw_only=True):
    """A text for what is in conflict that somebody wrote for the same conflict before."""

    key: str
    """Of the remembered resolution."""
    author: str
    reason: str
    text: str


class HunkExplained(Item, frozen=True, kw_only=True):
    """One hunk."""

    hunk: HunkAnswer
    """With its verdict, reason, drift, alarms, commits and diff on the target."""
    scope: str
    """Qualified name of the class or function around it in the base."""
    old_signature: str
    new_signature: str
    """As source on one line; empty at module level, in other text than Python, and where the scope is gone."""
    rows: tuple[PaneRow, ...]
    """Base, patch and target with the patches below, around the hunk; a row without lines stands for others."""
    proposals: tuple[Proposal, ...] = ()


class Explained(Item, frozen=True, kw_only=True):
    """The answer of explain."""

    schema: int = REPORT_SCHEMA
    tool: str
    command: str = "explain"
    ok: bool = True
    series: str
    patch: str
    base: str
    """Title of the target whose variant was carried."""
    target: str
    verdict: str
    """Of the whole patch, as check-upstream says."""
    reason: str = ""
    variant: str | None = None
    """File name of the variant that gives the text for the target: there already, or to be made."""
    hunks: tuple[HunkExplained, ...] = ()
    review: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
