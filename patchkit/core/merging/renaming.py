"""Names that the target gave other names everywhere: what a patch puts in under the old name takes the new one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set
from typing import Final

from patchkit.core.merging.alignment import edited_lines
from patchkit.core.merging.lexemes import LineKind, LogicalLine
from patchkit.core.merging.logical import logical_lines
from patchkit.core.merging.renames import Rename, applied, stands
from patchkit.core.merging.sides import Version

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_WORD: Final = re.compile(r"(?<!\w)[A-Za-z_]\w*")
"""A name that is a word by itself, as ``_has`` takes it."""
_FEWEST: Final = 2
"""Statements in which a name has to be another one, before it counts as renamed."""
_MANY: Final = 30
"""From so many names on, one pass over the text is quicker than a search for each."""


def may_rename(base: bytes, changed: bytes, target: bytes) -> bool:
    """Tell whether ``renames`` can find anything: False for most, and quickly, since the texts share their lines."""
    # Whatever ``renames`` looks at stands in lines that one side changed.
    gone, brought = edited_lines(base, target)[0], edited_lines(base, changed)[1]
    left = set(_NAME.findall(_decoded(brought))) if gone else set()
    if len(left) > _MANY:
        counts = Counter(_WORD.findall(_decoded(gone)))
        left = {name for name in left if counts[name] >= _FEWEST}
    else:
        left = {name for name in left if gone.count(name.encode()) >= _FEWEST}
    return bool(left) and bool(_without(left, _decoded(target)))


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def renames(base: str, changed: str, target: str) -> list[Rename]:
    """Return the names in lines that the patch puts in or rewrites, and that the target renamed.

    The target has the old name nowhere, the base and the patch do not have the new one, and every statement of the
    base with the old name, two at least, is in the target with the new one at its place.
    """
    old, there = base.splitlines(), set(target.splitlines())
    brought = set(_NAME.findall("\n".join(set(changed.splitlines()).difference(old))))
    doubtful = _without(sorted(brought), target)
    if doubtful:
        with_name = _lines_with(doubtful, [line for line in old if line not in there])
        new = set(_NAME.findall("\n".join(there.difference(old))))
        in_order = sorted(there)
        doubtful = [name for name in doubtful if _could_be(name, with_name[name], in_order, new)]
    if not doubtful:
        return []
    lines = logical_lines(changed)
    side = Version.of(base, target)
    found = [_renamed(name, is_attribute, side) for name in doubtful for is_attribute in (False, True)]
    return [
        change
        for change in found
        if change is not None
        and not any(stands(change.new, each, is_attribute=change.is_attribute) for each in (side.base, lines))
    ]


def _has(text: str, name: str) -> bool:
    """Tell whether a name is a word of a text; names are looked for in whole files, and patterns take much longer."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not _is_part(text[at - 1 : at]) and not _is_part(text[end : end + 1]):
            return True
        at = text.find(name, end)
    return False


def _without(names: Collection[str], text: str) -> list[str]:
    """Return the names that are no word of a text."""
    if len(names) <= _MANY:
        return [name for name in names if not _has(text, name)]
    words = set(_WORD.findall(text))
    return [name for name in names if name not in words]


def _lines_with(names: Sequence[str], lines: Sequence[str]) -> dict[str, list[str]]:
    """Return by name the lines of which it is a word."""
    if len(names) <= _MANY:
        return {name: [line for line in lines if name in line and _has(line, name)] for name in names}
    found: dict[str, list[str]] = {name: [] for name in names}
    for line in lines:
        for word in found.keys() & set(_WORD.findall(line)):
            found[word].append(line)
    return found


def _is_part(character: str) -> bool:
    return character.isalnum() or character == "_"


def _could_be(name: str, lines: Sequence[str], there: Sequence[str], new: Set[str]) -> bool:
    """Tell whether a line with the name is in the target with one of the ``new`` words: the quick half of the proof.

    ``lines`` are those of the base that have the name and are not in the target, ``there`` the target's, sorted.
    """
    if len(lines) < _FEWEST:
        return False
    pattern = re.compile(rf"\b{name}\b")
    return any(_stands_with(pattern.split(line), there, new) for line in lines)


def _stands_with(parts: Sequence[str], there: Sequence[str], new: Set[str]) -> bool:
    """Tell whether one of the sorted lines ``there`` has one of the words ``new`` between all of ``parts``."""
    head, rest, gaps = parts[0], sum(map(len, parts)), len(parts) - 1
    for at in range(bisect_left(there, head), len(there)):
        line = there[at]
        if not line.startswith(head):
            return False
        if line.endswith(parts[-1]):
            word = line[len(head) : len(head) + (len(line) - rest) // gaps]
            if word in new and word.join(parts) == line:
                return True
    return False


def _renamed(name: str, is_attribute: bool, side: Version) -> Rename | None:  # noqa: FBT001 - a part of the name
    """Return what the target calls a name of the base, if it is the same everywhere."""
    new: set[str] = set()
    rewritten: list[LogicalLine] = []
    statements = 0
    for at, line in enumerate(side.base):
        spots = _spots(line, name, is_attribute=is_attribute)
        if not spots:
            continue
        there = side.to_new[at]
        if there < 0:
            return None
        words = side.lines[there].words
        if len(words) != len(line.words):
            rewritten.append(side.lines[there])
            continue
        new.update(words[spot] for spot in spots)
        statements += 1
    if statements < _FEWEST or len(new) != 1:
        return None
    word = new.pop()
    if not word.isidentifier() or not all(_spots(line, word, is_attribute=is_attribute) for line in rewritten):
        return None
    return Rename(name, word, is_attribute)


def _spots(line: LogicalLine, name: str, *, is_attribute: bool) -> list[int]:
    """Return where among the words of a statement a name stands, behind a dot or not."""
    if line.kind is not LineKind.CODE:
        return []
    words = line.words
    return [at for at, word in enumerate(words) if word == name and (at > 0 and words[at - 1] == ".") is is_attribute]


def with_names(text: str, changes: Iterable[Rename]) -> str:
    """Return a text with other names in its code."""
    changes = list(changes)
    return "".join(line.blank + _applied(changes, line) + line.end for line in logical_lines(text))


def _applied(changes: Sequence[Rename], line: LogicalLine) -> str:
    for change in changes:
        if line.kind is LineKind.CODE and change.old in line.text:
            line = line.having(applied(change, line))
    return line.text
