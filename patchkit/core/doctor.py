"""What doctor answers, of one environment and of many ranks, as values that text and JSON are made from."""

# No postponed annotations here: msgspec would compile each one again at every start.
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from patchkit.core.report import REPORT_SCHEMA, Item

Verdict = Literal["ok", "look", "bad", "absent"]
"""bad: training with the patches does not work like this. look: a person should know. absent: it is not here."""


class Examined(Item, frozen=True, kw_only=True):
    """One thing that was looked at."""

    subject: str
    verdict: Verdict
    text: str
    details: tuple[str, ...] = ()
    facts: dict[str, str] = {}
    """What every rank of a job has to have alike."""


class DoctorReport(Item, frozen=True, kw_only=True):
    """The answer of doctor."""

    schema: int = REPORT_SCHEMA
    tool: str
    command: str = "doctor"
    ok: bool
    """Whether nothing is bad."""
    digest: str
    """Of all facts: the same on ranks that are alike."""
    examined: tuple[Examined, ...]

    @property
    def facts(self) -> dict[str, str]:
        """Everything that ranks have to have alike."""
        return {key: value for each in self.examined for key, value in each.facts.items()}


class RankFacts(msgspec.Struct, frozen=True, rename="kebab"):
    """What one rank sends to the others."""

    rank: int
    host: str
    bad: tuple[str, ...]
    """Subjects that are bad there."""
    facts: dict[str, str]


class Difference(Item, frozen=True):
    """A fact that a rank has otherwise than most."""

    fact: str
    here: str | None
    usual: str | None


class RankReport(Item, frozen=True, kw_only=True):
    """One rank."""

    rank: int
    host: str
    digest: str
    bad: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()


class FleetReport(Item, frozen=True, kw_only=True):
    """The answer of doctor --fleet."""

    schema: int = REPORT_SCHEMA
    tool: str
    command: str = "doctor --fleet"
    ok: bool
    """Whether all ranks are alike and nothing is bad on any."""
    usual: str
    """Digest that most ranks have."""
    ranks: tuple[RankReport, ...]


def report(examined: Sequence[Examined], tool: str) -> DoctorReport:
    """Return the answer for one environment."""
    facts = {key: value for each in examined for key, value in each.facts.items()}
    ok = all(each.verdict != "bad" for each in examined)
    return DoctorReport(tool=tool, ok=ok, digest=digest_of(facts), examined=tuple(examined))


def digest_of(facts: Mapping[str, str]) -> str:
    """Return a short digest of facts, whatever their order."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def compare(ranks: Sequence[RankFacts], tool: str) -> FleetReport:
    """Return which ranks differ from most, and in what. Of two equally common digests the lower rank's is the usual."""
    digests = [digest_of(each.facts) for each in ranks]
    counts = Counter(digests)
    usual = max(dict.fromkeys(digests), key=lambda digest: counts[digest])
    facts = ranks[digests.index(usual)].facts
    reports = tuple(
        RankReport(
            rank=each.rank, host=each.host, digest=digest, bad=each.bad, differences=_differences(each.facts, facts)
        )
        for each, digest in zip(ranks, digests, strict=True)
    )
    ok = all(not each.bad and not each.differences for each in reports)
    return FleetReport(tool=tool, ok=ok, usual=usual, ranks=reports)


def _differences(facts: Mapping[str, str], usual: Mapping[str, str]) -> tuple[Difference, ...]:
    keys = sorted({*facts, *usual})
    return tuple(Difference(key, facts.get(key), usual.get(key)) for key in keys if facts.get(key) != usual.get(key))
