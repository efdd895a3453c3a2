"""What the records, and a clone where there is one, say of a pin of torch_memory_saver."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from patchkit.core.memory_saver import Defect, MemorySaver
from patchkit.core.pins.findings import KnownDefect
from patchkit.core.pins.model import Pin, PinKind


class History(Protocol):
    """Clones of the repositories."""

    @property
    def clones(self) -> tuple[str, ...]:
        """What they are called; empty when there is none."""

    def contains(self, revision: str, commit: str) -> bool | None:
        """Tell whether ``commit`` is in the history of ``revision``; None when no clone has both."""

    def blob(self, revision: str, path: str) -> str | None:
        """Return the blob id of a path in a revision; empty for no such file, None when no clone has the revision."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a pin of torch_memory_saver is."""

    defects: tuple[Defect, ...]
    """Those that it has, fixed later or not."""
    how: str
    """How that is known, for people."""


def standing_of(pin: Pin, records: MemorySaver, history: History) -> Standing | None:
    """Return what is known of a pin to one release or commit; None when nothing is."""
    if pin.kind is PinKind.RELEASE:
        version = pin.value.removeprefix("v")
        if version not in {release.version for release in records.releases}:
            return None
        return Standing(tuple(each for each in records.defects if version in each.present_in.releases), "recorded")
    if pin.kind is not PinKind.COMMIT:
        return None
    commit = pin.value.lower()
    if same := next((each.id for each in records.commits if _same(each.id, commit)), None):
        return Standing(_defects_of(same, records.defects), "recorded")
    return _by_ancestry(commit, records, history)


def _by_ancestry(commit: str, records: MemorySaver, history: History) -> Standing | None:
    """A commit between recorded ones has the defects of the newest before it, less those whose fix it contains."""
    before = next((each.id for each in reversed(records.commits) if history.contains(commit, each.id)), None)
    if before is None:
        return None
    left = tuple(
        each
        for each in _defects_of(before, records.defects)
        if not (each.fixed_in and each.fixed_in.commit and history.contains(commit, each.fixed_in.commit))
    )
    return Standing(left, f"by ancestry: it comes after {before[:9]}")


def where_to_look(pin: Pin, history: History) -> str:
    """Return which clone would tell more of a pin that is not known."""
    if not history.clones:
        return "give a clone that has it with --git REPO"
    names = ", ".join(history.clones)
    if history.contains(pin.value, pin.value):
        return f"it is in {names}, where no recorded commit is in its history"
    return f"it is not in {names}: fetch it there, or give a clone that has it"


def _same(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _defects_of(commit: str, defects: Iterable[Defect]) -> tuple[Defect, ...]:
    return tuple(each for each in defects if any(_same(commit, prefix) for prefix in each.present_in.commits))


def fixable(standing: Standing) -> tuple[Defect, ...]:
    """Return the defects that a later build does not have."""
    return tuple(each for each in standing.defects if each.fixed_in)


def known_defect(defect: Defect) -> KnownDefect:
    """Return a defect as reports have it."""
    fixed = (defect.fixed_in.release, defect.fixed_in.commit) if defect.fixed_in else ()
    return KnownDefect(defect.id, defect.title, defect.symptom, tuple(each for each in fixed if each))


def smallest_release(defects: Sequence[Defect], records: MemorySaver) -> str | None:
    """Return the oldest release that has the fixes of all ``defects``; None when there is none."""
    fixes = {each.fixed_in.release for each in defects if each.fixed_in}
    order = [release.version for release in records.releases]
    if None in fixes or not fixes or not fixes <= set(order):
        return None
    newest = max(order.index(version) for version in fixes if version)
    return next(
        (version for version in order[newest:] if not any(version in each.present_in.releases for each in defects)),
        None,
    )


def smallest_commit(defects: Sequence[Defect], records: MemorySaver) -> str | None:
    """Return the oldest recorded commit of the main repository that has the fixes of all ``defects``."""
    order = [each.id for each in records.commits]
    fixes = [each.fixed_in.commit for each in defects if each.fixed_in]
    if not fixes or None in fixes:
        return None
    places = [at for fix in fixes for at, commit in enumerate(order) if fix and _same(commit, fix)]
    if len(places) < len(fixes):
        return None
    return order[max(places)]
