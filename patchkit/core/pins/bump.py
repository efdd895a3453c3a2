"""Which pins of torch_memory_saver have to move for a fix, where to, and which characters of the file that changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from patchkit.core.memory_saver import Defect, MemorySaver
from patchkit.core.pins.findings import BumpReport, Verdict
from patchkit.core.pins.known import History, fixable, smallest_commit, smallest_release, standing_of, where_to_look
from patchkit.core.pins.model import Pin, PinKind
from patchkit.core.pins.reading import Reading
from patchkit.errors import UsageError

ALIASES = {"free-while-paused": "double-release", "nested-regions": "nested-region-assert"}
"""What `tms probe` calls the scenario in which a defect shows."""

Edit = tuple[int, int, str]
"""0-based start and end of the characters to be replaced, and what by."""


@dataclass(frozen=True, slots=True)
class Bump:
    """What becomes of one pin."""

    report: BumpReport
    edit: Edit | None


def asked_fixes(names: Sequence[str], records: MemorySaver) -> tuple[Defect, ...]:
    """Return the defects called ``names``. Raises UsageError for an unknown one, and for one that nothing fixes."""
    known = {each.id: each for each in records.defects}
    found = []
    for name in names:
        defect = known.get(ALIASES.get(name, name))
        if defect is None:
            fixed = ", ".join(each.id for each in records.defects if each.fixed_in)
            raise UsageError(f"unknown defect {name!r}", hint=f"fixed ones: {fixed}")
        if defect.fixed_in is None:
            raise UsageError(f"no release or commit is known that fixes {defect.id}: {defect.title}")
        found.append(defect)
    return tuple(found)


def plan_bumps(reading: Reading, fixes: Sequence[Defect], records: MemorySaver, history: History) -> tuple[Bump, ...]:
    """Return what becomes of each pin of torch_memory_saver in a file."""
    # One place can be installed several times: an array, a variable, a loop.
    return tuple(
        dict.fromkeys(_bump(reading, pin, fixes, records, history) for pin in reading.pins if pin.package == "tms")
    )


def edited(text: str, bumps: Sequence[Bump]) -> str:
    """Return the text with the edits made, each place once."""
    for start, end, new in sorted({bump.edit for bump in bumps if bump.edit}, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _bump(reading: Reading, pin: Pin, fixes: Sequence[Defect], records: MemorySaver, history: History) -> Bump:
    standing = standing_of(pin, records, history)
    if standing is None:
        return _refused(reading, pin, _why_unknown(pin, fixes, records, history))
    missing = [each for each in fixes if each in standing.defects]
    if not missing:
        left = tuple(each.id for each in fixable(standing))
        return Bump(_report(reading, pin, None, "has-it", reason=f"it has the fix ({standing.how})", left=left), None)
    names = ", ".join(each.id for each in missing)
    if pin.kind is PinKind.RELEASE:
        new = smallest_release(fixes, records)
        kind = "release"
    else:
        new, kind = _commit(fixes, records, history), "commit"
        if not _same_repository(pin.repository, records.repository):
            return _refused(
                reading, pin, f"{names}: {pin.repository} is another repository, and its fixes are not known"
            )
    if new is None:
        return _refused(
            reading, pin, f"{names}: no {kind} that has the fix is known here{_instead(pin, fixes, records)}"
        )
    if pin.span is None:
        return _refused(reading, pin, f"{names}: the pin does not stand in one place of the file; write {new}")
    after = Pin("tms", PinKind.RELEASE if kind == "release" else PinKind.COMMIT, new, None, 0)
    there = standing_of(after, records, history)
    left = tuple(each.id for each in fixable(there)) if there else ()
    reason = f"the smallest {kind} with the fix of {', '.join(each.id for each in fixes)}"
    return Bump(_report(reading, pin, new, "bump", reason=reason, left=left), (*pin.span, new))


def _commit(fixes: Sequence[Defect], records: MemorySaver, history: History) -> str | None:
    """Return the fix that has all others in its history: by ancestry where a clone is at hand, else by the records."""
    commits = [each.fixed_in.commit for each in fixes if each.fixed_in and each.fixed_in.commit]
    if len(commits) == len(fixes):
        for commit in commits:
            if all(history.contains(commit, other) for other in commits):
                return commit
    return smallest_commit(fixes, records)


def _instead(pin: Pin, fixes: Sequence[Defect], records: MemorySaver) -> str:
    release = smallest_release(fixes, records)
    return f"; release {release} has it" if release and pin.kind is PinKind.COMMIT else ""


def _why_unknown(pin: Pin, fixes: Sequence[Defect], records: MemorySaver, history: History) -> str:
    wanted = smallest_release(fixes, records) if pin.repository is None else smallest_commit(fixes, records)
    sign = "==" if pin.repository is None else "@"
    match pin.kind:
        case PinKind.NOTHING | PinKind.BRANCH | PinKind.RANGE:
            return f"it is not pinned, so there is nothing to move; write {sign}{wanted}"
        case PinKind.UNKNOWN:
            return f"the value of {pin.value} is not in this file"
        case _:
            # Only a commit is looked up in a clone.
            instead = where_to_look(pin, history) if pin.kind is PinKind.COMMIT else f"write {sign}{wanted}"
            return f"it is none of the recorded ones; {instead}"


def _same_repository(url: str | None, recorded: str) -> bool:
    if url is None:
        return True
    names = [each.removesuffix("/").removesuffix(".git").replace(":", "/").split("/")[-2:] for each in (url, recorded)]
    return names[0] == names[1]


def _refused(reading: Reading, pin: Pin, reason: str) -> Bump:
    return Bump(_report(reading, pin, None, "refused", reason=reason), None)


def _report(
    reading: Reading, pin: Pin, after: str | None, verdict: Verdict, *, reason: str, left: tuple[str, ...] = ()
) -> BumpReport:
    place = pin.span[0] if pin.span else pin.at
    return BumpReport(
        path=reading.path,
        line=reading.line(place),
        before=pin.value or "not pinned",
        after=after,
        verdict=verdict,
        reason=reason,
        left=left,
    )
