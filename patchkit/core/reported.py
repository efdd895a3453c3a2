"""What has been reported already: a text of one line a target, which people may merge by keeping both sides."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from patchkit.core.carry_report import AlarmReport, DriftReport
from patchkit.core.json_text import to_json
from patchkit.core.upstream_report import PatchAnswer
from patchkit.errors import StoreError

_COMMENT = "# What `patchkit check-upstream --new-only` has reported, by target. Lines may stand in any order.\n"
_LINE = re.compile(r"(\S+) ([0-9a-f]{16})")
_NOT_PLAIN = re.compile(r"[%\s]|^[#<=>|]")
"""What a name of a target has as %XX in the file: the others would end it, or make another kind of line of it."""
_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")
_MARKS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")


def parse_reported(text: str, file: str) -> dict[str, frozenset[str]]:
    """Return the fingerprints by target. Raises StoreError that names file and line.

    A target may have several: two branches that reported different states were merged, and both are known.
    """
    known: dict[str, set[str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(_MARKS):
            raise StoreError(
                f"{file}:{number}",
                None,
                "this is the mark of an unfinished merge",
                hint="keep the lines of both sides, and take the marks out",
            )
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            raise StoreError(f"{file}:{number}", None, "not a target and its fingerprint (16 hexadecimal digits)")
        known.setdefault(_name(match[1]), set()).add(match[2])
    return {target: frozenset(prints) for target, prints in known.items()}


def print_reported(known: Mapping[str, Iterable[str]]) -> str:
    """Print fingerprints by target; the same value always gives the same text, and parsing it gives the value."""
    lines = sorted(f"{_plain(target)} {fingerprint}" for target, prints in known.items() for fingerprint in prints)
    return _COMMENT + "".join(f"{line}\n" for line in lines)


def _plain(name: str) -> str:
    return _NOT_PLAIN.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), name)


def _name(plain: str) -> str:
    return _ESCAPED.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace"), plain)


def fingerprint(blobs: Mapping[str, str | None], patches: Iterable[PatchAnswer], problems: Iterable[str]) -> str:
    """Return the 16 digits that stand for what was found on a target.

    In it: the touched files by blob id, so that new text is news also when all is fine; and of every patch and hunk
    what a person would act on. Not in it: line numbers, wording, commits that were named, so that the same finding in
    other words is none.
    """
    told = (
        sorted(blobs.items(), key=lambda item: item[0]),
        [
            (
                patch.name,
                patch.verdict,
                [(hunk.id, hunk.verdict, hunk.state, _drift(hunk.drift), _rules(hunk.alarms)) for hunk in patch.hunks],
                _rules(patch.alarms),
                [(check.id, check.found) for check in patch.checks if not check.ok],
            )
            for patch in patches
        ],
        sorted(problems),
    )
    return hashlib.sha256(to_json(told)).hexdigest()[:16]


def _drift(drift: Iterable[DriftReport]) -> list[tuple[str, list[str]]]:
    return [(each.scope, sorted(each.kinds)) for each in drift]


def _rules(alarms: Iterable[AlarmReport]) -> list[tuple[str, str]]:
    return sorted((each.rule, each.name) for each in alarms)
