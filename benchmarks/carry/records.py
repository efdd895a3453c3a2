"""What a run keeps of each case, as one line of JSON."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from benchmarks.carry.carriers import Answer
from benchmarks.carry.cases import Family
from benchmarks.carry.judge import Judge, Judgement, Status


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool's answer to one case."""

    status: Status
    milliseconds: float
    judgement: Judgement | None = None
    """Of the content, for CLEAN and for REVIEW."""
    error: str = ""

    @property
    def mark(self) -> str:
        """One letter: the judgement's, in lower case for a review; C for a conflict, X for an error."""
        match self.status, self.judgement:
            case Status.CLEAN, Judgement(letter=letter):
                return letter.value
            case Status.REVIEW, Judgement(letter=letter):
                return letter.value.lower()
            case Status.CONFLICT, _:
                return "C"
            case _:
                return "X"


class Record(msgspec.Struct, frozen=True):
    """All tools' answers to one case."""

    id: str
    family: Family
    entries: dict[str, Entry]
    """By the tool's name."""


def entry_of(answer: Answer, judge: Judge) -> Entry:
    """Judge an answer. A content with conflict markers is a conflict; none where there must be one is an error."""
    status = answer.status
    if status not in {Status.CLEAN, Status.REVIEW}:
        return Entry(status, answer.milliseconds, error=answer.error)
    if answer.content is None:
        return Entry(Status.ERROR, answer.milliseconds, error=f"{status.value} without a content")
    if judge.has_markers(answer.content):
        return Entry(Status.CONFLICT, answer.milliseconds)
    return Entry(status, answer.milliseconds, judge.judge(answer.content))


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write one record a line."""
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def read_records(path: Path) -> list[Record]:
    """Read what ``write_records`` wrote."""
    decode = msgspec.json.Decoder(Record).decode
    return [decode(line) for line in path.read_bytes().splitlines()]


def changed_marks(before: Iterable[Record], after: Iterable[Record]) -> list[str]:
    """Tell every case and tool of both runs whose mark differs, as ``id family tool: old -> new``."""
    old = {(record.id, tool): entry.mark for record in before for tool, entry in record.entries.items()}
    return [
        f"{record.id} {record.family.value} {tool}: {old[record.id, tool]} -> {entry.mark}"
        for record in after
        for tool, entry in record.entries.items()
        if old.get((record.id, tool), entry.mark) != entry.mark
    ]
