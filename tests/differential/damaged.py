"""Patch texts that something has been at: whitespace hooks, editors, mailers, a hand, a cut.

git apply is the authority for what is no patch at all. Our reader of variants forgives less than git, our reader of
foreign patches forgives more and tells; what both take must give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from patchkit.core.difference import difference, print_git_patch
from patchkit.core.foreign.fitting import Misfits, fit_patches
from patchkit.core.foreign.lenient import read_foreign
from patchkit.core.model import LineKind, Patch
from patchkit.core.placement import FilePlaced, NotPlaced, place_file
from patchkit.core.unified import parse_patch, print_patch
from patchkit.errors import PatchFormatError

from .kinds import kinds_of
from .outcome import Outcome
from .programs import Files, at_once, git_apply, held, lay
from .texts import Maker

FAMILY = "damaged"
NAME = "f.txt"
KINDS: Final = (
    *("none", "number", "drop", "double", "swap", "blank", "cut", "cut-line", "crlf", "mark", "garbage", "space"),
    *("start", "between", "tail", "marker", "zeros"),
)


class Damaged(NamedTuple):
    """A patch text that is none any more, or another one, and the text that it was for."""

    old: bytes
    text: bytes
    how: str


def _some(random: Random, lines: list[bytes], wanted: Callable[[bytes], bool]) -> int | None:
    found = [at for at, line in enumerate(lines) if wanted(line)]
    return random.choice(found) if found else None


def _number(random: Random, line: bytes) -> bytes:
    """Change one number of a hunk header."""
    found = list(re.finditer(rb"\d+", line.split(b" @@")[0]))
    match = random.choice(found)
    value = max(0, int(match[0]) + random.choice((-3, -1, 1, 2, 50)))
    return line[: match.start()] + b"%d" % value + line[match.end() :]


def damage(make: Maker) -> Damaged:  # noqa: PLR0912 - one branch for each damage
    """Return a patch with one thing wrong with it."""
    random = make.random
    while True:
        old = make.real_text() if random.random() < 0.5 else make.hostile_text()
        new = make.edited(old)
        patch = difference(old, new, NAME)
        if patch is not None:
            break
    text = print_git_patch({NAME: (old, new)}, b"") if random.random() < 0.5 else print_patch(Patch((patch,)))
    lines = text.split(b"\n")
    lines.pop()
    kind = random.choice(KINDS)
    at = random.randrange(len(lines))
    header = _some(random, lines, lambda line: line.startswith(b"@@ -"))
    body = [number for number in range(len(lines)) if header is not None and number > header]
    if kind == "number" and header is not None:
        lines[header] = _number(random, lines[header])
    elif kind == "drop":
        del lines[at]
    elif kind == "double":
        lines.insert(at, lines[at])
    elif kind == "swap" and at:
        lines[at - 1], lines[at] = lines[at], lines[at - 1]
    elif kind == "blank":
        lines = [b"" if line == b" " else line for line in lines]
    elif kind == "cut-line":
        return Damaged(old, text[: random.randrange(len(text))], kind)
    elif kind == "cut":
        lines = lines[:at]
    elif kind == "crlf":
        lines = [line + b"\r" for line in lines]
    elif kind == "mark" and body:
        spot = random.choice(body)
        lines[spot] = random.choice((b" ", b"-", b"+", b"")) + lines[spot][1:]
    elif kind == "garbage":
        lines.insert(at, random.choice((b"garbage", b"> quoted", b"", b"--", b"-- ", b"@@", b"index 1..2")))
    elif kind == "space":
        lines = [line.rstrip(b" \t") for line in lines]
    elif kind == "start":
        lines[:0] = [b"Subject: a patch", b"", b"Why.", b"---", b" f.txt | 2 +-", b""]
    elif kind == "between" and header is not None:
        lines[header:header] = [random.choice((b"", b"garbage"))]
    elif kind == "tail":
        lines += random.choice(
            ([b"-- ", b"2.39.5", b""], [b""], [b"--"], [b"garbage"], [b" "], [b"\\ No newline at end of file"])
        )
    elif kind == "marker":
        lines = [line for line in lines if not line.startswith(b"\\")]
    elif kind == "zeros" and header is not None:
        lines[header] = re.sub(rb"(\d+)", rb"0\1", lines[header], count=1)
    return Damaged(old, b"".join(line + b"\n" for line in lines), kind)


def run(numbers: Sequence[int], makers: Mapping[int, Maker], folder: Path) -> Iterator[Outcome]:
    """Compare a batch; ``folder`` is made."""
    made = {number: damage(makers[number]) for number in numbers}

    def applied(number: int) -> tuple[Files | None, str]:
        place = lay(folder / str(number) / "tree", {NAME: made[number].old})
        ran = git_apply(place, made[number].text)
        return None if ran.returncode else held(place), ran.stderr.decode("latin-1")

    for number, (git, told) in zip(numbers, at_once(applied, numbers), strict=True):
        rule, problem = compared(made[number], git, told)
        yield Outcome(FAMILY, number, rule, problem, kinds_of((made[number].old,)))


def compared(one: Damaged, git: Files | None, told: str) -> tuple[str, str]:
    """Return the rule by which our readers differ from git apply (None: it refuses), and what no rule covers."""
    strict, lenient = _strict(one.text, one.old), _lenient(one.text, one.old)
    if strict.files == git == lenient.files:
        return "same", ""
    problem = ""
    if strict.files is not None and strict.files != git and not (git is None and strict.at_line_one):
        problem = f"our own reader takes it; {strict.told}"
    elif (
        lenient.files is not None
        and lenient.files != git
        and not (lenient.told or (git is None and lenient.at_line_one))
    ):
        problem = "the reader of foreign patches takes it and tells of nothing"
    elif one.how == "none" and git is not None and (strict.files is None or lenient.files is None):
        problem = f"nothing is wrong with it, and we refuse it: {strict.told}; {lenient.told}"
    if problem:
        return "", f"{one.how}: git apply {'refuses' if git is None else 'takes'} it ({told[:80]}), {problem}"
    if git is None:
        return ("edge-of-git" if strict.files is not None or not lenient.told else "repaired"), ""
    if lenient.files == git:
        return "forgives-nothing", ""
    return ("repaired" if lenient.files is not None else "refused"), ""


class Taken(NamedTuple):
    """What one of our readers makes of a patch."""

    files: Files | None
    """None: it is refused."""
    told: str
    """Why it is refused, or what was repaired."""
    at_line_one: bool = False
    """Whether a hunk claims to begin at line 1, or has no context below: git holds it to an edge of the file."""


def _strict(text: bytes, old: bytes) -> Taken:
    try:
        patch = parse_patch(text, "p")
    except PatchFormatError as error:
        return Taken(None, error.message)
    made: dict[str, bytes] = {NAME: old}
    for file in patch.files:
        placed = place_file(file, made.pop(file.path, None), {})
        if not isinstance(placed, FilePlaced):
            return Taken(None, ", ".join(hunk.refusal.name for hunk in placed.hunks if isinstance(hunk, NotPlaced)))
        if placed.content is not None:
            made[file.path] = placed.content
    return Taken(made, "", _at_line_one(patch))


def _at_line_one(patch: Patch) -> bool:
    hunks = [hunk for file in patch.files for hunk in file.hunks]
    return any(hunk.old_start <= 1 or hunk.lines[-1].kind is not LineKind.CONTEXT for hunk in hunks)


def _lenient(text: bytes, old: bytes) -> Taken:
    try:
        fitted = fit_patches([read_foreign(text, "p")], {NAME: old}.get)
    except PatchFormatError as error:
        return Taken(None, error.message)
    if isinstance(fitted, Misfits):
        return Taken(None, fitted.problems[0].message)
    contents = {NAME: old, **fitted.contents}
    told = ", ".join([*(repair.rule for repair in fitted.repairs), *fitted.notes])
    made = {name: text for name, text in contents.items() if text is not None}
    return Taken(made, told, _at_line_one(Patch(fitted.squashed())))
