"""References of a clone, told by git; one that cannot be read hides no other."""

from __future__ import annotations

import os
from collections.abc import Sequence

from patchkit.errors import TreeError
from patchkit.trees.git_program import GitProgram

_TOGETHER = 1000
"""References that are named to one git process."""


def told_of(program: GitProgram, form: str, under: str) -> list[str]:
    """Return what git's for-each-ref says in ``form`` of each reference below ``under``, such as ``refs/tags``.

    It ends at the first object that it cannot read, whatever is asked about the others. Then those are asked about that
    lead to a commit, so that what is damaged is left out: for whoever needs one of many, and not all of them. Two git
    processes more where one is. Raises TreeError when nothing can be told.
    """
    try:
        return _lines(program.output("for-each-ref", f"--format={form}", under))
    except TreeError:
        found = _commits(program, [under])
        whole = [name for name, commit in found.items() if commit is not None]
        if len(whole) == len(found):
            raise
    told: list[str] = []
    for at in range(0, len(whole), _TOGETHER):
        some = whole[at : at + _TOGETHER]
        told += _lines(program.output("for-each-ref", f"--format={form}", *some))
    return told


def log_of(program: GitProgram, unders: Sequence[str], *words: str) -> bytes:
    """Return what git's log says, asked with ``words``, of the history of all references below ``unders``.

    Those that git cannot read are left out, as in ``told_of``. Raises TreeError when the history cannot be read.
    """
    try:
        return program.output("log", *(f"--glob={under}" for under in unders), *words)
    except TreeError:
        found = _commits(program, unders)
        if None not in found.values():
            raise
    commits = sorted({commit for commit in found.values() if commit is not None})
    return program.output("log", "--stdin", *words, stdin="".join(f"{commit}\n" for commit in commits).encode())


def branches_with(program: GitProgram, commit: str) -> list[str]:
    """Return the names of the branches that contain a commit; those that git cannot follow are left out."""
    try:
        return _lines(program.output("for-each-ref", "--contains", commit, "--format=%(refname:strip=2)", _HEADS))
    except TreeError:
        names = _lines(program.output("for-each-ref", "--format=%(refname:strip=2)", _HEADS))
        ask = ["merge-base", "--is-ancestor", commit]
        return [name for name in names if program.run([*ask, f"{_HEADS}/{name}"])[0] == 0]


_HEADS = "refs/heads"


def _commits(program: GitProgram, unders: Sequence[str]) -> dict[str, str | None]:
    """Return the commit of each reference, by its whole name; None of one that leads to none or cannot be read."""
    # A name is told without a look at the object.
    return program.commits(_lines(program.output("for-each-ref", "--format=%(refname)", *unders)))


def _lines(printed: bytes) -> list[str]:
    # No other line break ends a line: a name may have those of Unicode.
    return os.fsdecode(printed).split("\n")[:-1]
