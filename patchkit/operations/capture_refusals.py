"""Edits that no diff of a series can say, or must not: each is refused by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from patchkit.core.endings import new_ending
from patchkit.core.gating.parsing import Version, parse, parses, syntax_error
from patchkit.core.printing import shell_word
from patchkit.core.rebasing.markers import left_marks
from patchkit.core.report import Problem
from patchkit.core.upstream import MEGATRON, Target, Upstream
from patchkit.operations.capture_tree import Changed
from patchkit.operations.rebase_carry import oldest_python


@dataclass(slots=True)
class Sorted:
    """Edited files, told apart."""

    files: list[Changed] = field(default_factory=list)
    """Those that the series can take."""
    problems: list[Problem] = field(default_factory=list)
    """Why it cannot take the others."""
    notes: list[str] = field(default_factory=list)


def sort_out(
    files: Sequence[Changed], target: Target, has_base: Callable[[str], bool], upstream: Upstream = MEGATRON
) -> Sorted:
    """Tell apart what the series can take on ``target`` and what not; ``has_base`` tells what it is built from has."""
    found = Sorted()
    for file in files:
        problem = (
            _marked(file)
            or _unsayable(file)
            or _out_of_reach(file, target, has_base, upstream)
            or _no_python(file, target, found.notes)
        )
        if problem is None:
            found.files.append(file)
        else:
            found.problems.append(problem)
    return found


def _marked(file: Changed) -> Problem | None:
    """Return where a conflict is still marked that upstream's file has no mark of."""
    marks = left_marks(file.found or b"", [file.expected or b""])
    if not file.path.endswith((".py", ".pyi")):
        # Seven equals signs alone underline a title in Markdown and reStructuredText.
        lines = (file.found or b"").split(b"\n")
        marks = [mark for mark in marks if any(not lines[other - 1].startswith(b"=") for other in marks)]
    return _problem(file, "a conflict is marked here", "solve it, then capture", line=marks[0]) if marks else None


def _unsayable(file: Changed) -> Problem | None:
    """Return why a unified diff in UTF-8 cannot say what became of a file, if so."""
    if not _is_text(file.path.encode("utf-8", "surrogateescape")) or any(mark in file.path for mark in '\t\n\r\\"'):
        return _problem(file, f"the name {file.path!r} cannot stand in a diff of the series")
    for side, content in (("it", file.found), ("upstream's file", file.expected)):
        if content is None or _is_text(content):
            continue
        why = "holds NUL bytes" if b"\0" in content else "is not UTF-8"
        return _problem(file, f"the file {_what(file)}, and binary, which the series cannot carry: {side} {why}")
    ending = new_ending(file.expected or b"", file.found or b"")
    if ending:
        how = "save it with the line endings that it had"
        return _problem(file, f"the file is edited, and lines end with {ending}, which none did before", how)
    return None


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _out_of_reach(file: Changed, target: Target, has_base: Callable[[str], bool], upstream: Upstream) -> Problem | None:
    """Return that a release's wheel, from which the series is built, has no such file or folder."""
    if target.release is None or has_base(file.path):
        return None
    if file.expected is None and upstream.ships(target.release, file.path):
        return None
    packages = " and ".join(target.release.ships)
    message = f"the file {_what(file)}, and the wheel of {target.title} has no such file: it ships {packages}"
    how = "a series for a commit can carry it"
    return _problem(file, message, how)


def _no_python(file: Changed, target: Target, notes: list[str]) -> Problem | None:
    """Return where a Python file is none, as the syntax gate of apply says it.

    What upstream has that this Python cannot read either is no fault of the edit; it is noted.
    """
    python = oldest_python(target)
    if not file.path.endswith((".py", ".pyi")) or file.found is None or _readable(file.found, python):
        return None
    if file.expected is not None and not _readable(file.expected, python):
        notes.append(f"{file.path}: not checked, since this Python can read neither upstream's text nor the edited one")
        return None
    line, message = syntax_error(file.found, python)
    ours = sys.version_info[:2]
    how = ""
    if python is not None and ours < python:
        how = f"this is Python {ours[0]}.{ours[1]}, the release is for {python[0]}.{python[1]}: run patchkit with that"
    return _problem(file, f"the edited file is no Python: {message}", how, line=line)


def _readable(content: bytes, python: Version | None) -> bool:
    """Tell whether our Python and that of the release can read a text (as ``core.gating.gates`` does)."""
    return parses(content) and (python is None or parse(content, python) is not None)


def _what(file: Changed) -> str:
    if file.expected is None:
        return "is new"
    return "is gone" if file.found is None else "is edited"


def _problem(file: Changed, message: str, how: str = "", line: int | None = None) -> Problem:
    rest = f"leave it out with --exclude {shell_word(file.path)}"
    return Problem(message, file.path, line=line, hint=f"{how}; or {rest}" if how else rest)
