"""Patches on a text that is not theirs: lines were put in, taken out or moved since.

Here we are stricter than the authorities, which take the place that is nearest; docs/conformance.md has the rules. What
we do place must come out as theirs does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from patchkit.core.difference import difference
from patchkit.core.model import FilePatch, Hunk, LineKind, Patch
from patchkit.core.placement import FilePlaced, FileRefused, NotPlaced, Refusal, place_file
from patchkit.core.unified import print_patch

from .kinds import kinds_of
from .outcome import SAME, Outcome
from .programs import git_apply, gnu_patch, held, lay
from .texts import Maker

FAMILY = "drift"


def sides(make: Maker) -> tuple[bytes, FilePatch]:
    """Return a text, and a patch that was made for an earlier or later one."""
    while True:
        old = make.real_text() if make.random.random() < 0.5 else make.hostile_text()
        new = make.edited(old, most=3)
        patch = difference(old, new, "x")
        if patch is None:
            continue
        kind = make.random.random()
        if kind < 0.05:
            return new, patch
        if kind < 0.3:
            above = b"".join(make.line() + b"\n" for _ in range(make.random.randrange(1, 9)))
            return above + old, patch
        if kind < 0.4:
            return old + (b"" if old.endswith(b"\n") else b"\n") + make.line() + b"\n", patch
        return make.edited(old, most=3), patch


def run(numbers: Sequence[int], makers: Mapping[int, Maker], folder: Path) -> Iterator[Outcome]:
    """Compare a batch; ``folder`` is made."""
    made = {number: sides(makers[number]) for number in numbers}
    targets = {f"{number}.txt": target for number, (target, _) in made.items()}
    text = b"".join(
        print_patch(Patch((FilePatch(f"{number}.txt", f"{number}.txt", patch.hunks),)))
        for number, (_, patch) in made.items()
    )
    results: list[dict[str, bytes]] = []
    for tool, apply, options in (("git", git_apply, ("--reject",)), ("patch", gnu_patch, ())):
        place = lay(folder / tool, targets)
        apply(place, text, *options)
        results.append(held(place))
    for number, (target, patch) in made.items():
        name = f"{number}.txt"
        git, gnu = (None if f"{name}.rej" in result else result[name] for result in results)
        rule, problem = compared(patch, place_file(patch, target, {}), git, gnu)
        yield Outcome(FAMILY, number, rule, problem, kinds_of((target, print_patch(Patch((patch,))))))


def compared(patch: FilePatch, ours: FilePlaced | FileRefused, git: bytes | None, gnu: bytes | None) -> tuple[str, str]:
    """Return the rule by which our answer differs from theirs, and what no rule covers; None: they refuse."""
    rule = _of_placed(patch, ours, git, gnu) if isinstance(ours, FilePlaced) else _of_refused(patch, ours, git, gnu)
    told = f"git apply {_told(git, ours)}, patch {_told(gnu, ours)}, ours: {ours.hunks}"
    return (rule, "") if rule else ("", told)


def _of_placed(patch: FilePatch, ours: FilePlaced, git: bytes | None, gnu: bytes | None) -> str | None:
    if git == ours.content == gnu:
        return SAME
    if git in (None, ours.content) and gnu not in (None, ours.content) and not _ends_in_newline(patch):
        return "joined-lines"
    if git not in (None, ours.content) or gnu not in (None, ours.content):
        return None
    rules = sorted({rule for rule, holds in _edges(patch, git=git is None, gnu=gnu is None) if holds})
    return rules[0] if len(rules) == (git is None) + (gnu is None) else None


def _of_refused(patch: FilePatch, ours: FileRefused, git: bytes | None, gnu: bytes | None) -> str | None:
    if git is None and gnu is None:
        return SAME
    refusal = next(hunk.refusal for hunk in ours.hunks if isinstance(hunk, NotPlaced))
    if refusal is Refusal.NOT_UNIQUE:
        return "not-unique"
    if refusal is Refusal.OVERLAP:
        return "order"
    return None if _ends_in_newline(patch) else "joined-lines"


def _ends_in_newline(patch: FilePatch) -> bool:
    return all(line.text.endswith(b"\n") for hunk in patch.hunks for line in hunk.lines)


def _told(theirs: bytes | None, ours: FilePlaced | FileRefused) -> str:
    if theirs is None:
        return "refuses"
    return "does the same" if isinstance(ours, FilePlaced) and ours.content == theirs else "applies"


def _edges(patch: FilePatch, *, git: bool, gnu: bool) -> Iterator[tuple[str, bool]]:
    """Yield rules about edges of the file that one authority has and we have not, and whether a hunk falls under it.

    git holds every hunk that begins at line 1 to the beginning, and every one without context below to the end; GNU
    patch every hunk with less context on one side than on the other.
    """
    # What both have is ours as well (core.edges), and no reason for a difference.
    for hunk in patch.hunks:
        above, below = _context(hunk)
        if git:
            yield "edge-of-git", (hunk.old_start <= 1 and above >= below) or (not above and not below)
        if gnu:
            yield "edge-of-patch", (hunk.old_start > 1 and above < below) or 0 < below < above


def _context(hunk: Hunk) -> tuple[int, int]:
    """Return the lines of context above and below a hunk's changes."""
    changed = [at for at, line in enumerate(hunk.lines) if line.kind is not LineKind.CONTEXT]
    return changed[0], len(hunk.lines) - 1 - changed[-1]
