"""What a log says about torch_memory_saver: known lines counted by rank, each with its cause, and which build wrote it.

A log is read in blocks and never held as a whole. Lines that matter hold one of a few texts, for which each block is
searched; everything else is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import BinaryIO

import msgspec

from patchkit.tms.fingerprints import known_builds
from patchkit.tms.log_lines import LogLine, LogReader
from patchkit.tms.log_writers import messages, rank_of, times_of, without_terminal
from patchkit.tms.signatures import FIX, Signature, Teller, known_signatures
from patchkit.tms.tracebacks import Tracebacks
from patchkit.tms.verdict import SaverRecords, has_defect

_SHOWN = 400
"""Characters of a line that a finding keeps."""
_BEFORE = 80
"""Of these, characters before the message when the line is longer."""


class Finding(msgspec.Struct, frozen=True, rename="kebab"):
    """A kind of line that is in a log."""

    signature: Signature
    count: int
    ranks: Mapping[str, int]
    """How often each rank or actor wrote it; an empty name for lines that do not say."""
    first_line: int
    """1-based."""
    text: str
    """The first of them, cut."""
    builds: tuple[str, ...] | None
    """Releases and commits that print this at that line; None when the line names no place."""
    conclusion: str | None
    """What follows about the build."""


@dataclass(frozen=True, slots=True)
class Triage:
    """What a log says."""

    size: int
    """Bytes."""
    lines: int
    findings: tuple[Finding, ...]
    """The fatal ones first, then by first line."""
    builds: tuple[str, ...] | None
    """Builds that print every line of torch_memory_saver in the log, so none when it is of several builds; None when
    there is no line that tells."""

    @property
    def fatal(self) -> bool:
        """Whether something was found that ends a run."""
        return any(finding.signature.severity == "fatal" for finding in self.findings)


def triage(log: BinaryIO, records: SaverRecords) -> Triage:
    """Read a log to its end, in constant memory. Any bytes will do; raises TmsFileError for what is no text at all."""
    known = known_signatures()
    reader = LogReader(log, known.anchors)
    builds = known_builds()
    defect = next((item for item in records.defects if item.id == FIX), None)
    before_fix = frozenset(name for name in builds if defect and has_defect(name, defect))
    teller = Teller(builds, before_fix)
    tracebacks = {item.id: Tracebacks(item.frame) for item in known.signatures if item.frame is not None}

    @lru_cache(maxsize=4096)
    def read(message: str, *, is_cut: bool) -> tuple[tuple[str, ...] | None, tuple[Signature, ...]]:
        """A crash that repeats itself says the same again and again."""
        told = teller.told(message, is_cut=is_cut)
        return told.builds, tuple(item for item in known.signatures if item.is_line(told.text))

    # Lines of different builds say different things, although they are of one kind.
    tallies: dict[tuple[str, tuple[str, ...] | None], _Tally] = {}
    common: tuple[str, ...] | None = None
    for line in reader.lines():
        for before, message in messages(without_terminal(line.raw.decode(errors="replace"))):
            message_builds, possible = read(message.strip(), is_cut=line.is_cut)
            common = _agreeing(common, message_builds)
            signature = next((item for item in possible if _fits(item, line, tracebacks.get(item.id))), None)
            if signature:
                tally = tallies.setdefault((signature.id, message_builds), _Tally(signature, message_builds))
                tally.add(line.number, before, message.strip())
    found = [tally.finding(before_fix) for tally in tallies.values()]
    found.sort(key=lambda item: (item.signature.severity != "fatal", item.first_line))
    return Triage(reader.size, reader.line_count, tuple(found), common)


def _fits(signature: Signature, line: LogLine, tracebacks: Tracebacks | None) -> bool:
    return signature.is_near(line.around) and (
        tracebacks is None or tracebacks.has_frame(line.raw, line.before, line.offset)
    )


def _agreeing(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if one is None or other is None:
        return one if other is None else other
    return tuple(name for name in one if name in other)


@dataclass(slots=True)
class _Tally:
    """A finding while it grows."""

    signature: Signature
    builds: tuple[str, ...] | None
    count: int = 0
    ranks: dict[str, int] = field(default_factory=dict)
    first_line: int = 0
    text: str = ""

    def add(self, number: int, before: str, message: str) -> None:
        if not self.count:
            self.first_line, self.text = number, self._shown(before, message)
        times = times_of(message)
        self.count += times
        rank = rank_of(message, before)
        self.ranks[rank] = self.ranks.get(rank, 0) + times

    def _shown(self, before: str, message: str) -> str:
        """Return the line; of a long one the part that matters."""
        whole = f"{before}{message}".strip()
        if len(whole) <= _SHOWN:
            return whole
        at = len(before.lstrip()) if before else self.signature.place_in(message)
        start = max(0, at - _BEFORE)
        return ("..." if start else "") + whole[start:][: _SHOWN - 3 * bool(start)]

    def finding(self, before_fix: frozenset[str]) -> Finding:
        return Finding(
            signature=self.signature,
            count=self.count,
            ranks=dict(sorted(self.ranks.items())),
            first_line=self.first_line,
            text=self.text,
            builds=self.builds,
            conclusion=_conclusion(self.builds, before_fix),
        )


def _conclusion(names: tuple[str, ...] | None, before_fix: frozenset[str]) -> str | None:
    if names is None:
        return None
    if not names:
        return "no recorded build prints this at that line: a fork, or newer than the records"
    listing = ", ".join(short(name) for name in names)
    if all(name in before_fix for name in names):
        fix = "0.0.10 and b5588e83d"
        return f"it can only come from a build before {fix} ({listing}): a pin with the fix is not what the image had"
    if any(name in before_fix for name in names):
        return f"it comes from one of {listing}; patchkit tms identify or patchkit tms probe in the image tells which"
    return f"it comes from a build with the fix of the double release: {listing}"


def short(build: str) -> str:
    """Return a release as it is, and a commit's first nine digits."""
    return build[:9] if len(build) == 40 else build
