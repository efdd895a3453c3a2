"""What reports say about a hunk that was carried: its place, drift, alarms, and upstream's commits.

Apart from the engine that finds it, so that a report can be read and shown without loading the engine.
"""

# No postponed annotations here: msgspec would compile each one again at every start.
import re
from collections import Counter

from patchkit.core.report import Item

SKIPPED = "skipped"
"""Verdict of a hunk that a person left out."""


class PlaceReport(Item, frozen=True):
    """Where a hunk stands in one text."""

    scope: str
    first: int
    """1-based."""
    last: int
    """1-based, inclusive; ``first - 1`` when nothing stands there."""


class DriftReport(Item, frozen=True):
    """How a class or function around a hunk differs between base and target."""

    scope: str
    kinds: tuple[str, ...]
    old_signature: str
    new_signature: str
    calls_added: tuple[str, ...] = ()
    calls_removed: tuple[str, ...] = ()


class AlarmReport(Item, frozen=True):
    """What a gate found in the result."""

    rule: str
    line: int
    """1-based line in the result."""
    name: str
    message: str


class CommitReport(Item, frozen=True):
    """An upstream commit that touched the lines of a hunk between base and target."""

    commit: str
    """Abbreviated id."""
    subject: str
    pull_request: int | None = None


def drift_details(drift: DriftReport) -> str:
    """Say what is different in a scope, as ``drift_changes`` has it."""
    return " ".join(drift_changes(drift))


def drift_changes(drift: DriftReport) -> list[str]:
    """Return what is different in a scope: parts of the signature, fields, calls; new ones with +, lost ones with -."""
    parts: list[str] = []
    if drift.old_signature != drift.new_signature and drift.new_signature:
        (old, old_fields), (new, new_fields) = map(_parts_and_fields, (drift.old_signature, drift.new_signature))
        parts += _different(old, new)
        if old_fields != new_fields:
            parts.append(f"fields: {', '.join(_different(old_fields, new_fields)) or 'in another order'}")
    parts += [f"+{name}()" for name in drift.calls_added]
    return parts + [f"-{name}()" for name in drift.calls_removed]


def short_signatures(old: str, new: str) -> tuple[str, str]:
    """Return two signatures with dots in the place of the fields that both have.

    Of a class with many fields nobody sees the one that is different. A signature without fields stays as it is.
    """
    given = old, new
    own = [_parts_and_fields(text)[1] for text in given]
    if not all(own):
        return given
    told = []
    for text, mine, others in zip(given, own, own[::-1], strict=True):
        names = [*(Counter(mine) - Counter(others)), *["..."] * bool(Counter(mine) & Counter(others))]
        told.append(_FIELDS.sub(f" fields {', '.join(names)}", text))
    return told[0], told[1]


def _parts_and_fields(signature: str) -> tuple[list[str], list[str]]:
    """Return the parts of each definition of a signature without its fields, and the fields."""
    parts: list[str] = []
    fields: list[str] = []
    for line in signature.split("\n"):
        parts += signature_parts(_FIELDS.sub("", line))
        for found in _FIELDS.findall(line):
            fields += found.split(", ") if found else ()
    return parts, fields


def _different(old: list[str], new: list[str]) -> list[str]:
    before, after = Counter(old), Counter(new)
    return [*(f"+{part}" for part in after - before), *(f"-{part}" for part in before - after)]


_FIELDS = re.compile(r"(?<=\)) fields (\w+(?:, \w+)*|)$", re.MULTILINE)
"""How the signature of a dataclass ends."""


def signature_parts(signature: str) -> list[str]:
    """Return what a signature on one line is made of: its beginning, each parameter or base, and what follows.

    ``def f(a: Dict[str, int], b=1) -> int`` gives ``def f``, ``a: Dict[str, int]``, ``b=1``, ``-> int``.
    """
    begin = signature.find("(")
    if begin < 0:
        return [signature]
    parts = [signature[:begin]]
    depth = 0
    start = begin + 1
    quote = ""
    for at in range(begin, len(signature)):
        character = signature[at]
        if quote:
            quote = "" if character == quote and signature[at - 1] != "\\" else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                parts += [signature[start:at].strip(), signature[at + 1 :].strip(" :")]
                break
        elif character == "," and depth == 1:
            parts.append(signature[start:at].strip())
            start = at + 1
    return [part for part in parts if part]


_PULL_REQUEST = re.compile(r"\(#(\d{1,9})\)\s*$")
_MERGED = re.compile(r"^Merge pull request #(\d{1,9}) ")


def pull_request(subject: str) -> int | None:
    """Return the number of the pull request that the subject of a commit names; None when it names none."""
    found = _PULL_REQUEST.search(subject) or _MERGED.match(subject)
    return int(found[1]) if found else None
