"""Three texts: what the carry engine makes of a change on another text, and what git merge-file makes of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from patchkit.core.carry import CarryResult, Status, Verdict, carry_file
from patchkit.core.merging.alignment import line_edits

from .kinds import kinds_of
from .outcome import Outcome
from .programs import git_diff, git_merge_files, lay
from .texts import Maker

FAMILY = "merge"
BINARY: Final = 8000
"""git takes a text for binary when a NUL is among so many first bytes."""


class Sides(NamedTuple):
    """A change from ``base`` to ``changed``, and what became of the base meanwhile."""

    base: bytes
    changed: bytes
    target: bytes
    path: str


def sides(make: Maker) -> Sides:
    """Return three texts of one descent; whole Python files for half of them."""
    if make.random.random() < 0.3:
        base, path = make.python_text(), "x.py"
    else:
        base, path = make.text(), "x.txt"
    return Sides(base, make.edited(base, most=3), make.edited(base, most=3), path)


def run(numbers: Sequence[int], makers: Mapping[int, Maker], folder: Path) -> Iterator[Outcome]:
    """Compare a batch; ``folder`` is made."""
    made = {number: sides(makers[number]) for number in numbers}
    folder.mkdir()
    merged = git_merge_files(folder, [(one.base, one.changed, one.target) for one in made.values()])
    for (number, one), git in zip(made.items(), merged, strict=True):
        rule, problem = compared(one, carry_file(*one), git)
        yield Outcome(FAMILY, number, rule, problem, kinds_of(one[:3]))


def compared(one: Sides, ours: CarryResult, git: bytes | None) -> tuple[str, str]:
    """Return the rule by which our answer differs from git's (None: conflict, or refused), and what no rule covers."""
    if ours.content == git:
        return "same", ""
    lines = ours
    if one.path.endswith(".py"):
        lines = carry_file(*one._replace(path="x.txt"))
        rule = _of_statements(one, ours, lines, git)
        if rule:
            return rule, ""
    rule = _of_lines(one, lines, git)
    theirs = "has a conflict" if git is None else "merges"
    return (rule, "") if rule else ("", f"{one.path}: git {theirs}, ours is {ours.status.value}: {_reasons(ours)}")


def _of_statements(one: Sides, ours: CarryResult, lines: CarryResult, git: bytes | None) -> str | None:
    """Return the rule for Python, where the merge of lines alone does as git does."""
    if lines.content != git:
        return None
    if git is None or ours.content is None:
        return "statements" if git is None else "statements-apart"
    mine, theirs = ([line for line in text.split(b"\n") if line.strip()] for text in (ours.content, git))
    if mine == theirs:
        return "blank-lines"
    if sorted(mine) == sorted(theirs) and "both sides insert here" in _reasons(ours):
        return "insertion-order"
    same_words = sorted(line.strip() for line in mine) == sorted(line.strip() for line in theirs)
    if same_words and ours.status is Status.REVIEW and not any(map(_is_python, (one.changed, one.target))):
        return "no-python"
    is_told = any(hunk.verdict is Verdict.UPSTREAMED and "means the same" in hunk.reason for hunk in ours.hunks)
    return "same-meaning" if is_told else None


def _is_python(text: bytes) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _of_lines(one: Sides, ours: CarryResult, git: bytes | None) -> str | None:
    texts = one[:3]
    if git is None:
        if any(b"\0" in text[:BINARY] for text in texts) and len(set(texts)) < 3:
            return "binary-one-side"
        if "its lines end in" in _reasons(ours):
            return "line-endings"
    elif ours.content is not None:
        if sorted(ours.content.split(b"\n")) != sorted(git.split(b"\n")):
            return None
    elif any(b"\0" in text[BINARY:] for text in texts):
        return "binary-late"
    elif "markers" in _reasons(ours):
        return "markers"
    return "other-alignment" if any(_aligned_otherwise(one.base, text) for text in texts[1:]) else None


def _reasons(ours: CarryResult) -> str:
    return ", ".join(sorted({hunk.reason for hunk in ours.hunks}))


def _aligned_otherwise(base: bytes, text: bytes) -> bool:
    """Tell whether git finds other lines changed between two texts than we do, though as few."""
    with TemporaryDirectory() as room:
        folder = Path(room) / "x"
        lay(folder, {"a/x": base, "b/x": text})
        diff = git_diff(folder, "a", "b", "--unified=0", "--no-indent-heuristic")
    theirs = [
        tuple(int(number or 1) for number in match.groups())
        for match in re.finditer(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", diff, re.MULTILINE)
    ]
    ours = [
        (
            edit.old + (edit.old_end > edit.old),
            edit.old_end - edit.old,
            edit.new + (edit.new_end > edit.new),
            edit.new_end - edit.new,
        )
        for edit in line_edits(base, text)
    ]
    return theirs != ours and sum(hunk[1] for hunk in theirs) >= sum(hunk[1] for hunk in ours)
