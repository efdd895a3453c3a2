"""What a torch_memory_saver can be, and which known defects it then has: pure functions over evidence and records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import msgspec

from patchkit.tms.fingerprints import Fingerprint

MINIMUM = "double-release"
"""The defect that the series needs gone: a paused buffer must be able to be freed (0.0.10, b5588e83d)."""

_FORKS: Mapping[str, str] = {"tms_cuMemCreate": "8d30c59ca12a68d9deccbc9c6599076a1218cbc5"}
"""Symbols that only a fork has, and the commit of it that is recorded."""


class PresentIn(Protocol):
    """Where a defect is known to be."""

    @property
    def releases(self) -> Sequence[str]:
        """Versions."""

    @property
    def commits(self) -> Sequence[str]:
        """Ids, possibly abbreviated."""


class FixedIn(Protocol):
    """Where a defect is gone."""

    @property
    def release(self) -> str | None:
        """The first version without it."""

    @property
    def commit(self) -> str | None:
        """The commit that removed it."""


class DefectRecord(Protocol):
    """A defect, as upstream_versions.yaml records it."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def title(self) -> str:
        """One line."""

    @property
    def symptom(self) -> str:
        """What a user sees."""

    @property
    def only_on(self) -> str | None:
        """``cuda`` or ``rocm``, when only a build for that can have it."""

    @property
    def present_in(self) -> PresentIn:
        """Where it is."""

    @property
    def fixed_in(self) -> FixedIn | None:
        """Where it is gone; None when nothing is known to fix it."""


class CommitRecord(Protocol):
    """A commit, as upstream_versions.yaml records it."""

    @property
    def id(self) -> str:
        """Its id, possibly abbreviated."""


class SaverRecords(Protocol):
    """The part of upstream_versions.yaml that is about torch_memory_saver."""

    @property
    def commits(self) -> Sequence[CommitRecord]:
        """Oldest first."""

    @property
    def defects(self) -> Sequence[DefectRecord]:
        """All that are known."""


class Standing(str, Enum):
    """Whether a build has a defect."""

    PRESENT = "present"
    POSSIBLE = "possible"
    """Some of what it can be have it."""
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of a torch_memory_saver without running it, and of its behaviour if it was run."""

    version: str | None
    commit: str | None
    """From direct_url.json."""
    exports: frozenset[str]
    """Its own C functions; see fingerprints.interface_of. Empty without a library."""
    all_exports: frozenset[str]
    markers: tuple[str, ...]
    python: Mapping[str, str]
    digests: frozenset[str]
    """SHA-256 of its libraries."""
    platforms: frozenset[str] = frozenset()
    """What the libraries are linked against, ``cuda`` or ``rocm``; empty when that is not known."""
    free_while_paused: bool | None = None
    """Whether a paused allocation could be freed; None when it was not tried."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What it can be."""

    candidates: tuple[str, ...]
    """Releases and full commit ids that agree with what was seen; empty when nothing known does."""
    reasons: tuple[str, ...]
    """Why these, and what does not agree; one sentence each."""


class DefectStanding(msgspec.Struct, frozen=True, rename="kebab"):
    """A defect, and whether the build has it."""

    id: str
    title: str
    standing: Standing
    fixed_in: str | None
    """Release or commit to go to; None when nothing fixes it."""


def judge(evidence: Evidence, builds: Mapping[str, Fingerprint], records: SaverRecords) -> Verdict:
    """Return what the evidence allows, most telling evidence first."""
    found = _by_digest(evidence, builds) or _by_commit(evidence, builds, records) or _by_traits(evidence, builds)
    return _by_behaviour(found, evidence, records)


def _by_digest(evidence: Evidence, builds: Mapping[str, Fingerprint]) -> Verdict | None:
    """Files of a wheel on the index are known to the byte; what pip wrote beside them does not matter then."""
    releases = [name for name, build in builds.items() if build.libraries.keys() & evidence.digests]
    if len(releases) != 1 or not evidence.digests <= builds[releases[0]].libraries.keys():
        return None
    reasons = [f"every library is byte for byte one of the wheels of {releases[0]}"]
    if evidence.commit:
        reasons.append(f"direct_url.json names commit {evidence.commit[:9]}, but the libraries are not built from it")
    if evidence.python and dict(builds[releases[0]].python) != dict(evidence.python):
        reasons.append(f"the Python files are not those of {releases[0]}")
    return Verdict((releases[0],), tuple(reasons))


def _by_commit(evidence: Evidence, builds: Mapping[str, Fingerprint], records: SaverRecords) -> Verdict | None:
    if not evidence.commit:
        return None
    named = [item.id for item in records.commits if evidence.commit.startswith(item.id[:40])]
    build = builds.get(named[0]) if named else None
    if not named or (build is not None and not _has_traits(evidence, build)):
        return None
    return Verdict((named[0],), (f"direct_url.json says so: pip built it from commit {evidence.commit[:9]}",))


def _has_traits(evidence: Evidence, build: Fingerprint) -> bool:
    same_interface = not evidence.exports or evidence.exports == frozenset(build.exports)
    return same_interface and (not evidence.exports or evidence.markers == build.markers)


def _by_traits(evidence: Evidence, builds: Mapping[str, Fingerprint]) -> Verdict:
    reasons = []
    if evidence.commit:
        reasons.append(
            f"direct_url.json names commit {evidence.commit[:9]}, which is not recorded, or whose symbols are others;"
            " a commit between two recorded ones counts as the older"
        )
    fork = next((commit for mark, commit in _FORKS.items() if mark in evidence.all_exports), None)
    if fork:
        reasons.append(f"it exports what only the fork at {fork[:9]} has; another commit of the fork is possible")
        return Verdict((fork,), tuple(reasons))
    if not evidence.exports:
        # Python files alone: nothing is tracked, whatever they are.
        names = tuple(name for name, build in builds.items() if dict(build.python) == dict(evidence.python))
        without = "the library exports no function of torch_memory_saver" if evidence.digests else "there is no library"
        return Verdict(names, (*reasons, f"{without}: only the Python files could be compared"))
    names = tuple(name for name, build in builds.items() if _has_traits(evidence, build))
    if not names:
        return Verdict((), (*reasons, "no recorded build has these symbols: a fork, or newer than the records"))
    reasons.append("the symbols of the library allow it")
    narrowed = tuple(name for name in names if dict(builds[name].python) == dict(evidence.python))
    if narrowed:
        return Verdict(narrowed, (*reasons, "the Python files are the same, byte for byte"))
    if evidence.python:
        reasons.append("the Python files are those of no recorded build with these symbols")
    called = tuple(name for name in names if builds[name].version == evidence.version)
    if called and called != names:
        return Verdict(called, (*reasons, f"it calls itself {evidence.version}"))
    return Verdict(names, tuple(reasons))


def _by_behaviour(found: Verdict, evidence: Evidence, records: SaverRecords) -> Verdict:
    defect = next((item for item in records.defects if item.id == MINIMUM), None)
    if evidence.free_while_paused is None or defect is None:
        return found
    agree = tuple(name for name in found.candidates if has_defect(name, defect) != evidence.free_while_paused)
    seen = "could be freed" if evidence.free_while_paused else "could not be freed"
    if found.candidates and not agree:
        reason = f"tried out, a paused allocation {seen}, which none of {', '.join(found.candidates)} should do"
        return Verdict((), (*found.reasons, reason))
    if agree == found.candidates:
        return found
    return Verdict(agree, (*found.reasons, f"tried out, a paused allocation {seen}"))


def has_defect(build: str, defect: DefectRecord) -> bool:
    """Tell whether a release or a commit, by its full id, is recorded as having a defect."""
    return build in defect.present_in.releases or any(build.startswith(prefix) for prefix in defect.present_in.commits)


def standings(
    verdict: Verdict, evidence: Evidence, builds: Mapping[str, Fingerprint], records: SaverRecords
) -> tuple[DefectStanding, ...]:
    """Return every recorded defect, and whether the build has it.

    Of an unknown build a defect is absent only when a symbol shows that the fix is in its history.
    """
    return tuple(
        DefectStanding(defect.id, defect.title, _standing(defect, verdict, evidence, builds), _fix(defect))
        for defect in records.defects
    )


def _standing(
    defect: DefectRecord, verdict: Verdict, evidence: Evidence, builds: Mapping[str, Fingerprint]
) -> Standing:
    if defect.only_on and evidence.platforms and defect.only_on not in evidence.platforms:
        return Standing.ABSENT
    if defect.id == MINIMUM and evidence.free_while_paused is not None:
        return Standing.ABSENT if evidence.free_while_paused else Standing.PRESENT
    if not verdict.candidates:
        fixed = defect.fixed_in.commit if defect.fixed_in else None
        return Standing.ABSENT if fixed and _reached(fixed, evidence.exports, builds) else Standing.POSSIBLE
    having = [name for name in verdict.candidates if has_defect(name, defect)]
    if not having:
        return Standing.ABSENT
    return Standing.PRESENT if len(having) == len(verdict.candidates) else Standing.POSSIBLE


def _reached(commit: str, exports: Collection[str], builds: Mapping[str, Fingerprint]) -> bool:
    """Tell whether a symbol came with ``commit`` or after it; commits are recorded oldest first."""
    order = [name for name in builds if len(name) == 40]
    if commit not in order:
        return False
    firsts = [next((at for at, name in enumerate(order) if symbol in builds[name].exports), -1) for symbol in exports]
    return max(firsts, default=-1) >= order.index(commit)


def _fix(defect: DefectRecord) -> str | None:
    if defect.fixed_in is None:
        return None
    return defect.fixed_in.release or defect.fixed_in.commit


def meets_minimum(found: Iterable[DefectStanding]) -> bool | None:
    """Tell whether it is good enough for the series; None when only trying it out can tell."""
    standing = next((item.standing for item in found if item.id == MINIMUM), Standing.POSSIBLE)
    return {Standing.ABSENT: True, Standing.PRESENT: False, Standing.POSSIBLE: None}[standing]
