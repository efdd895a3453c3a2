"""What is wrong with how patches are applied: failures that nobody sees, loose options, patches left unused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from patchkit.core.pins.findings import Finding, Level
from patchkit.core.pins.judging import finding
from patchkit.core.pins.model import Applied, Pin, Status, Word
from patchkit.core.pins.reading import Kind, Reading

_LOST = {
    Status.SWALLOWED: ("failure-swallowed", "its failure is turned into success by what follows ||"),
    Status.LOOP: ("loop-swallows", "the loop goes on after a failure, and ends with the status of its last command"),
    Status.PIPED: ("failure-swallowed", "of a pipeline only the last command's status counts"),
    Status.UNCHECKED: ("failure-not-seen", "the next command runs whatever happened"),
}
_LIBRARIES = re.compile(r"(?:^|/)(?:site-packages|dist-packages|\.?venv|env|node_modules)(?:/|$)")


def patch_findings(reading: Reading) -> Iterator[Finding]:
    """Yield what is wrong with the patches that a file applies, in its order."""
    for pin in reading.pins:
        yield from _lost_install(reading, pin)
    for applied in reading.applied:
        yield from _lost_patch(reading, applied)
        yield from _options(reading, applied)
    yield from _never_applied(reading)


def _shown(words: tuple[Word, ...]) -> str:
    # An array is one word in the file, and several for the shell.
    text = " ".join(
        word.written for word, before in zip(words, [None, *words], strict=False) if not _same(word, before)
    )
    return text if len(text) <= 60 else f"{text[:57]}..."


def _how_to_stop(reading: Reading) -> str:
    if reading.kind is Kind.SHELL:
        return "let it fail: `set -euo pipefail` at the top, and no `|| true` behind it"
    return "let it fail: `set -e` before it, && between commands, and no `|| true` behind it"


def _lost_install(reading: Reading, pin: Pin) -> Iterator[Finding]:
    if pin.command is None or pin.command.status not in _LOST:
        return
    rule, how = _LOST[pin.command.status]
    level: Level = "wrong" if pin.command.status is Status.SWALLOWED else "look"
    yield finding(
        reading,
        pin.command.at,
        rule,
        level,
        message=f"a failure of `{_shown(pin.command.words)}` goes unnoticed: {how}",
        why="the image is built without what the line installs, or with what was there before",
        advice=_how_to_stop(reading),
    )


def _lost_patch(reading: Reading, applied: Applied) -> Iterator[Finding]:
    if applied.command.status not in _LOST:
        return
    rule, how = _LOST[applied.command.status]
    yield finding(
        reading,
        applied.command.at,
        rule,
        "wrong",
        message=f"a failure of `{_shown(applied.command.words)}` goes unnoticed: {how}",
        why="the image is built without the patch, and says so nowhere",
        advice=f"{_how_to_stop(reading)}; `patchkit verify` proves that the patch is in",
    )


def _options(reading: Reading, applied: Applied) -> Iterator[Finding]:
    if applied.loose:
        yield finding(
            reading,
            applied.command.at,
            "loose-apply",
            "look",
            message=f"{applied.tool} with {' '.join(applied.loose)} takes a patch that does not fit",
            why="hunks land beside their place, or are left out, and the exit status is still 0",
            advice="apply without these options; a patch that does not fit then has to be rebased",
        )
    if applied.tool == "git apply" and _LIBRARIES.search(applied.folder):
        yield finding(
            reading,
            applied.command.at,
            "apply-in-libraries",
            "look",
            message=f"git apply runs in {applied.folder}, which is no checkout",
            why="inside a repository that ignores this folder git apply leaves every file out and exits with 0",
            advice="use `patchkit apply --in FOLDER`, or `patch -p1`; `patchkit verify` proves that the patch is in",
        )


def _same(word: Word, other: Word | None) -> bool:
    return other is not None and (word.at, word.written) == (other.at, other.written)


def _never_applied(reading: Reading) -> Iterator[Finding]:
    if reading.applied:
        return
    for copy in reading.script.copies:
        for word in copy.sources:
            if word.text.endswith((".patch", ".diff")) and "megatron" in word.text.lower():
                yield finding(
                    reading,
                    copy.at,
                    "never-applied",
                    "look",
                    message=f"{word.written} is copied, and nothing in this file applies a patch",
                    why="the image looks patched and is not, unless something else applies it",
                    advice="apply it here, or take the copy out",
                )
