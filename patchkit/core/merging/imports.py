"""Both sides changed the same imports: what is imported is merged name by name, since their order says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from patchkit.core.merging.lexemes import LogicalLine

_WIDEST = 100
"""Columns of a line that is put together anew; what needs more is left to a person."""


class _Import(NamedTuple):
    """One name that an import binds."""

    module: str
    """Empty in ``import a.b``."""
    text: str
    """``name`` or ``name as other``."""

    @property
    def bound(self) -> str:
        """The name that it gives what it imports; ``import a.b`` and ``import a.c`` bind two."""
        return self.text.rpartition(" as ")[2]

    @property
    def source(self) -> str:
        """The module that has to have it."""
        return self.module or self.text.partition(" as ")[0]


def merged_imports(
    base: Sequence[LogicalLine], ours: Sequence[LogicalLine], theirs: Sequence[LogicalLine]
) -> list[str] | None:
    """Return the target's imports with the patch's change in them, or None where they do not go together.

    For each name that is bound it counts what the two sides made of it, as for any text: one that only one side put in,
    took out or imports from elsewhere is as that side has it. None for one that both changed, differently, and
    for comments, ``*``, and other statements than imports.
    """
    blank = [line.full for line in theirs if not line.text]
    base, ours, theirs = ([line for line in side if line.text] for side in (base, ours, theirs))
    read = [[_read(line) for line in side] for side in (base, ours, theirs)]
    if len({line.indent for line in (*base, *ours, *theirs)}) != 1:
        return None
    sides: list[dict[str, _Import]] = []
    for entries in read:
        if None in entries:
            return None
        names = [entry for line in entries if line is not None for entry in line]
        sides.append({entry.bound: entry for entry in names})
        if len(sides[-1]) != len(names):
            return None
    wanted = _wanted(*sides)
    lines = None if wanted is None else _written(wanted, ours, theirs)
    return None if lines is None else [*lines, *blank]


def _read(line: LogicalLine) -> list[_Import] | None:
    """Return what an import statement imports; None for another statement, comments and ``*``."""
    words = [lexeme.key for lexeme in line.lexemes if lexeme.key not in ("(", ")")]
    if not line.is_import or any(word == "*" or word[0] in '#"' for word in words) or "import" not in words:
        return None
    at = words.index("import")
    texts = " ".join(words[at + 1 :]).replace(" . ", ".").split(",")
    return [_Import("".join(words[1:at]), text.strip()) for text in texts if text.strip()]


def _wanted(
    base: dict[str, _Import], ours: dict[str, _Import], theirs: dict[str, _Import]
) -> dict[str, _Import] | None:
    """Return what the two changes together import, by the names that are bound."""
    wanted: dict[str, _Import] = {}
    for name in (*theirs, *ours):
        old, mine, yours = base.get(name), ours.get(name), theirs.get(name)
        if mine not in (old, yours) and yours != old:
            return None
        entry = yours if mine == old else mine
        if entry is not None:
            wanted[name] = entry
    return None if _parted(base, ours, theirs) or _parted(base, theirs, ours) else wanted


def _parted(base: dict[str, _Import], one: dict[str, _Import], two: dict[str, _Import]) -> bool:
    """Tell whether what ``two`` puts in could rest on what ``one`` changed.

    That is another name of a module from which ``one`` imports no more what it did, and a name in the place of one that
    ``one`` took out.
    """
    added = {entry.source for name, entry in two.items() if name not in base}
    left = {old.source for name, old in base.items() if name in one and one[name] != old}
    replaced = {old.source for name, old in base.items() if name not in one and name not in two}
    return bool(added & (left | replaced))


def _written(
    wanted: dict[str, _Import], ours: Sequence[LogicalLine], theirs: Sequence[LogicalLine]
) -> list[str] | None:
    """Return the statements: the target's as far as they are wanted, what the patch adds behind them."""
    left = dict(wanted)
    found: list[tuple[LogicalLine, str, list[_Import]]] = []
    for number, line in enumerate((*theirs, *ours)):
        kept = [left.pop(entry.bound) for entry in _read(line) or () if left.get(entry.bound) == entry]
        if not kept:
            continue
        beside = [names for _, _, names in found if kept[0].module and names[0].module == kept[0].module]
        if beside:
            beside[0].extend(kept)
        else:
            # The patch's join the paragraph that the target has there.
            found.append((line, line.blank if number < len(theirs) or not found else "", kept))
    texts = [_statement(line, blank, names) for line, blank, names in found]
    return None if None in texts else [text for text in texts if text is not None]


def _statement(line: LogicalLine, blank: str, names: Sequence[_Import]) -> str | None:
    """Return a line that imports ``names``: as it is if it does, else written anew; None when that gets too wide."""
    text = line.text
    if _read(line) != list(names):
        head = f"from {names[0].module} import" if names[0].module else "import"
        text = f"{' ' * line.indent}{head} {', '.join(name.text for name in names)}"
        if len(text) > _WIDEST:
            return None
    return blank + text + line.end
