"""Edits that fit: the diffs of git, of diff -u and ours are read, applied, taken back and printed.

All of a batch is one patch of many files, so that a program starts once. A difference is never meant here: every text
must come out as it is, and every hunk must fit exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from patchkit.core.difference import difference, print_git_patch
from patchkit.core.foreign.fitting import FittedPatch, fit_patches
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.model import FilePatch, Patch
from patchkit.core.placement import FilePlaced, Verdict, place_file
from patchkit.core.unified import parse_patch, print_patch
from patchkit.errors import PatchFormatError

from .kinds import change_kinds
from .outcome import SAME, Outcome
from .programs import git_apply, git_diff, gnu_diff, gnu_patch, held, lay
from .texts import Maker

FAMILY = "edit"
Change = tuple["bytes | None", "bytes | None"]

NO_HUNK: Final = ((None, b""), (b"", None))
GIT_OPTIONS: Final = (
    (),
    ("--unified=0",),
    ("--unified=1",),
    ("--unified=10",),
    ("--patience",),
    ("--histogram", "--indent-heuristic"),
    ("--minimal", "--inter-hunk-context=5"),
    ("--function-context",),
)
DIFF_OPTIONS: Final = (("-u",), ("-U1",), ("-U8",), ("-u", "-p"), ("-u", "-d"), ("-U0",))


def change(make: Maker) -> Change:
    """Return a text before and after; None: no such file."""
    while True:
        old = make.text()
        kind = make.random.random()
        if kind < 0.06:
            return None, old
        if kind < 0.12:
            return old, None
        if kind < 0.14:
            new = b""
        elif kind < 0.17:
            new = make.text()
        else:
            new = make.edited(old)
        if old != new:
            return old, new


def run(numbers: Sequence[int], makers: Mapping[int, Maker], folder: Path) -> Iterator[Outcome]:
    """Compare a batch; ``folder`` is made."""
    changes = {f"{number}.txt": change(makers[number]) for number in numbers}
    lay(folder / "a", {name: old for name, (old, _) in changes.items()})
    lay(folder / "b", {name: new for name, (_, new) in changes.items()})
    random = makers[numbers[0]].random
    git_text = git_diff(folder, "a", "b", "--no-prefix", *random.choice(GIT_OPTIONS))
    diff_text = gnu_diff(folder, "a", "b", *random.choice(DIFF_OPTIONS))
    texts = {
        "git diff": cut(git_text, rb"^diff --git .*?([0-9]+\.txt)$"),
        "diff -u": cut(diff_text, rb"^diff .*?([0-9]+\.txt)$"),
    }
    ours = {name: print_git_patch({name: sides}, b"") for name, sides in changes.items()}
    authorities = _authorities(ours, changes, folder)
    for number in numbers:
        name = f"{number}.txt"
        old, new = changes[name]
        rule = SAME
        problems = [*_ours(name, old, new, ours[name]), *authorities[name]]
        for tool, parts in texts.items():
            found = [f"{tool}: {problem}" for problem in _read(name, old, new, parts.get(name, b""), tool)]
            if found and tool == "git diff" and _overlap(parts.get(name, b"")):
                rule, found = "hunks-overlap", []
            problems += found
        yield Outcome(FAMILY, number, "" if problems else rule, "; ".join(problems), change_kinds(old, new))


def _overlap(text: bytes) -> bool:
    """Tell whether a hunk begins before the one above it ends: --function-context makes such, and git refuses them."""
    ranges = [
        (int(match[1]), int(match[2] or 1)) for match in re.finditer(rb"^@@ -(\d+)(?:,(\d+))?", text, re.MULTILINE)
    ]
    return any(start + count > other for (start, count), (other, _) in pairwise(ranges))


def cut(text: bytes, header: bytes) -> dict[str, bytes]:
    """Return the parts of a diff by the file that their first line names; lines of a body never begin with its word."""
    found = list(re.finditer(header, text, re.MULTILINE))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return {match[1].decode(): text[match.start() : end] for match, end in zip(found, ends, strict=True)}


def _ours(name: str, old: bytes | None, new: bytes | None, git_text: bytes) -> Iterator[str]:
    patch = difference(old, new, name)
    assert patch is not None
    yield from _fits(patch, old, new)
    plain = print_patch(Patch((patch,)))
    for text in (plain, git_text):
        # Without git's headers there is no way to write a file that is made empty, or was.
        if text is plain and (old, new) in NO_HUNK:
            continue
        if Patch((patch,)) != parse_patch(text, name):
            yield "our diff is read as another one"
    yield from _foreign(name, old, new, git_text)


def _read(name: str, old: bytes | None, new: bytes | None, text: bytes, tool: str) -> Iterator[str]:
    """Read another tool's diff with both of our readers."""
    if tool == "diff -u" and (old, new) in NO_HUNK:
        return
    if not text:
        yield "there is no diff"
        return
    try:
        parsed = parse_patch(text, name)
    except PatchFormatError as error:
        yield error.message
    else:
        file = parsed.files[0]
        if tool == "diff -u":
            # It tells a file that is not there by a time stamp, which is for the other reader.
            file = FilePatch(None if old is None else name, None if new is None else name, file.hunks)
        yield from _fits(file, old, new)
        if parse_patch(print_patch(parsed), name).files != parsed.files and (old, new) not in NO_HUNK:
            yield "printed, it is read as another one"
    yield from _foreign(name, old, new, text)


def _fits(patch: FilePatch, old: bytes | None, new: bytes | None) -> Iterator[str]:
    for direction, before, after, how in ((patch, old, new, "applied"), (patch.reversed(), new, old, "taken back")):
        placed = place_file(direction, before, {})
        if not isinstance(placed, FilePlaced):
            yield f"{how}: {placed.hunks}"
        elif placed.content != after:
            yield f"{how}, it gives another text"
        elif any(hunk.verdict is not Verdict.EXACT for hunk in placed.hunks):
            yield f"{how}, it is not exact: {placed.hunks}"


def _foreign(name: str, old: bytes | None, new: bytes | None, text: bytes) -> Iterator[str]:
    try:
        foreign = read_foreign(text, name)
        fitted = fit_patches([foreign], {name: old}.get)
    except PatchFormatError as error:
        yield f"import: {error.message}"
        return
    if not isinstance(fitted, FittedPatch):
        yield f"import: {fitted.problems}"
    elif fitted.contents != {name: new}:
        yield f"import gives another text; {fitted.repairs}"
    elif fitted.repairs or fitted.notes:
        yield f"import repairs what is whole: {fitted.repairs} {fitted.notes}"


def _authorities(ours: Mapping[str, bytes], changes: Mapping[str, Change], folder: Path) -> dict[str, list[str]]:
    """Apply our diffs and take them back with git apply and GNU patch."""
    found: dict[str, list[str]] = {name: [] for name in ours}
    before = {name: old for name, (old, _) in changes.items()}
    after = {name: new for name, (_, new) in changes.items()}
    whole = b"".join(ours.values())
    for tool, apply in (("git apply", git_apply), ("patch", gnu_patch)):
        for there, given, expected, options in (
            ("there", before, after, ()),
            ("back", after, before, ("--reverse",)),
        ):
            place = lay(folder / f"{tool} {there}", given)
            ran = apply(place, whole, *options)
            made = held(place)
            for name, text in expected.items():
                if made.get(name) != text:
                    found[name].append(f"{tool} {there}: {ran.stderr[:300]!r}")
            if ran.returncode:
                found[next(iter(ours))].append(f"{tool} {there}: exits {ran.returncode}: {ran.stderr[:300]!r}")
    return found
