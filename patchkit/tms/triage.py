"""What a log says about torch_memory_saver: known lines counted by rank, each with its cause, and which build wrote it.

A log is read in blocks and never held as a whole. Lines that matter hold one of a few texts, for which each block is
searched; everything else is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from patchkit.tms.fingerprints import known_builds
from patchkit.tms.signatures import FIX, Signature, Signatures, known_signatures, told
from patchkit.tms.verdict import SaverRecords, has_defect

BLOCK = 1 << 20
AROUND = 4096
"""Bytes before and after a line in which a second line may stand; a longer line is cut."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_RAY = re.compile(r"\((?P<actor>[\w.:]+) pid=(?P<pid>\d+)(?:, ip=(?P<ip>[\d.a-fA-F:]+))?\)")
_RANK = re.compile(r"\[(?:rank|default)?(?P<rank>\d+)\]:|\brank[ =:]?(?P<other>\d+)\b", re.IGNORECASE)
_REPEATED = re.compile(r"\[repeated (\d+)x across cluster\]")


@dataclass(frozen=True, slots=True)
class Finding:
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
    """Read a log to its end, in constant memory. Any bytes will do."""
    reader = _Reader(log, known_signatures())
    builds = known_builds()
    defect = next((item for item in records.defects if item.id == FIX), None)
    before_fix = frozenset(name for name in builds if defect and has_defect(name, defect))
    # Lines of different builds say different things, although they are of one kind.
    tallies: dict[tuple[str, tuple[str, ...] | None], _Tally] = {}
    common: tuple[str, ...] | None = None
    for number, raw, surroundings in reader.lines():
        line = told(_COLOUR.sub("", raw), builds, before_fix)
        common = _agreeing(common, line.builds)
        signature = next((item for item in reader.known.signatures if item.fits(line.text, surroundings)), None)
        if signature:
            tallies.setdefault((signature.id, line.builds), _Tally(signature, line.builds)).add(number, raw)
    found = [tally.finding(before_fix) for tally in tallies.values()]
    found.sort(key=lambda item: (item.signature.severity != "fatal", item.first_line))
    return Triage(reader.size, reader.line_count, tuple(found), common)


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

    def add(self, number: int, raw: str) -> None:
        plain = _COLOUR.sub("", raw).strip()
        if not self.count:
            self.first_line, self.text = number, plain[:400]
        # Ray shows a line of several actors once, with how many more there were.
        repeated = _REPEATED.search(plain)
        times = 1 + (int(repeated[1]) if repeated else 0)
        self.count += times
        rank = rank_of(plain)
        self.ranks[rank] = self.ranks.get(rank, 0) + times

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


def rank_of(line: str) -> str:
    """Return who wrote a line: ``rank 3``, ``ACTOR pid=12 ip=10.0.0.1``, or an empty name."""
    if found := _RAY.search(line):
        return f"{found['actor']} pid={found['pid']}" + (f" ip={found['ip']}" if found["ip"] else "")
    if found := _RANK.search(line):
        return f"rank {found['rank'] or found['other']}"
    return ""


class _Reader:
    """The lines of a log that hold an anchor, with what is around them."""

    def __init__(self, log: BinaryIO, known: Signatures) -> None:
        self.known = known
        self.size = 0
        self.line_count = 0
        self._log = log
        self._anchors = [(key.encode(), [text.encode() for text in texts]) for key, texts in known.anchors.items()]

    def lines(self) -> Iterator[tuple[int, str, str]]:
        """Yield number, text, and the surroundings of each line that matters."""
        buffer, done, newlines = b"", 0, 0
        passed, seen = 0, -1  # Offsets in the log: of the buffer, and of the last line that was yielded.
        ended_with_newline = True
        while True:
            block = self._log.read(BLOCK)
            self.size += len(block)
            if block:
                ended_with_newline = block.endswith(b"\n")
            buffer += block
            # What follows a line has to be there too before it can be judged.
            limit = len(buffer) if not block else max(done, len(buffer) - AROUND)
            counted, at = newlines, 0
            for start, end in self._found(buffer, done, limit):
                if passed + start <= seen:
                    continue
                seen = passed + start
                counted += buffer.count(b"\n", at, start)
                at = start
                around = buffer[max(0, start - AROUND) : end + AROUND]
                yield counted + 1, buffer[start:end].decode(errors="replace"), around.decode(errors="replace")
            if not block:
                self.line_count = newlines + buffer.count(b"\n") + (not ended_with_newline)
                return
            kept = max(0, limit - AROUND)
            newlines += buffer.count(b"\n", 0, kept)
            buffer, done, passed = buffer[kept:], limit - kept, passed + kept

    def _found(self, buffer: bytes, begin: int, limit: int) -> list[tuple[int, int]]:
        """Return start and end of the lines with an anchor that begins in ``begin`` to ``limit``."""
        lines: dict[int, int] = {}
        for key, texts in self._anchors:
            longest = max(map(len, texts))
            for anchor in texts if buffer.find(key, begin, limit + longest - 1) >= 0 else ():
                lines.update(self._with(anchor, buffer, begin, limit))
        return sorted(lines.items())

    @staticmethod
    def _with(anchor: bytes, buffer: bytes, begin: int, limit: int) -> Iterator[tuple[int, int]]:
        """Yield start and end of the lines with one anchor; a line without end is cut."""
        # An anchor across the limit belongs to this round: the next one looks from the limit on.
        at = buffer.find(anchor, begin, limit + len(anchor) - 1)
        while at >= 0:
            start = buffer.rfind(b"\n", max(0, at - AROUND), at) + 1 or max(0, at - AROUND)
            end = buffer.find(b"\n", at, at + AROUND)
            yield start, end if end >= 0 else min(len(buffer), at + AROUND)
            at = buffer.find(anchor, at + len(anchor), limit + len(anchor) - 1)
