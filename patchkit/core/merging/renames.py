"""One side only gave a name another one in lines that the other side rewrote: what was rewritten takes the new name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchkit.core.merging.lexemes import LineKind, LogicalLine, homes


class Rename(NamedTuple):
    """A name, or an attribute (behind a dot), that became another one."""

    old: str
    new: str
    is_attribute: bool


def rename(old: Sequence[LogicalLine], new: Sequence[LogicalLine]) -> Rename | None:
    """Return the one name that is another one in ``new``, statement by statement; None when anything else differs."""
    if not old or len(old) != len(new):
        return None
    found: set[Rename] = set()
    for one, two in zip(old, new, strict=True):
        if one.kind is not two.kind or one.indent != two.indent or len(one.words) != len(two.words):
            return None
        if one.kind is not LineKind.CODE and one.key != two.key:
            return None
        before = ""
        for word, other in zip(one.words, two.words, strict=True):
            if word != other:
                if not (word.isidentifier() and other.isidentifier()):
                    return None
                found.add(Rename(word, other, before == "."))
            before = word
    return found.pop() if len(found) == 1 else None


def is_everywhere(
    change: Rename, others: Sequence[LogicalLine], base: Sequence[LogicalLine], side: Sequence[LogicalLine]
) -> bool:
    """Tell whether ``side`` has the old name nowhere any more, and ``base`` did not have the new one.

    ``others`` are the base's lines that the other side did not rewrite: the old name has to be there too, or another
    thing may have taken its place in one statement.
    """
    old, new, is_attribute = change
    return (
        stands(old, others, is_attribute=is_attribute)
        and not stands(old, side, is_attribute=is_attribute)
        and not stands(new, base, is_attribute=is_attribute)
    )


def stands(name: str, lines: Sequence[LogicalLine], *, is_attribute: bool) -> bool:
    """Tell whether a name, or an attribute, is anywhere in the code."""
    pattern = re.compile(rf"\.\s*{name}\b" if is_attribute else rf"(?<![\w.]){name}\b")
    return any(pattern.search(line.text) for line in lines if line.kind is LineKind.CODE)


def same_things(
    change: Rename, lines: Sequence[LogicalLine], place: tuple[int, int], base: Sequence[LogicalLine]
) -> bool:
    """Tell whether lines ``[first, end)`` of a text have the name only for what the base has under it.

    That is in the same functions and classes, as a keyword of the same calls, as an attribute of the same objects.
    """
    return set(_uses(change, lines, *place)) <= set(_uses(change, base, 0, len(base)))


def _uses(change: Rename, lines: Sequence[LogicalLine], first: int, end: int) -> Iterator[tuple[str, ...]]:
    """Yield what each place of the name in lines ``[first, end)`` of a text is."""
    around = homes(lines)
    for row in range(first, end):
        line = lines[row]
        if line.kind is not LineKind.CODE or change.old not in line.text:
            continue
        keys = [lexeme.key for lexeme in line.lexemes]
        opened: list[int] = []
        for at, key in enumerate(keys):
            if key in {"(", "[", "{"}:
                opened.append(at)
            elif key in {")", "]", "}"} and opened:
                opened.pop()
            before = keys[at - 1] if at else ""
            if key != change.old or (before == ".") is not change.is_attribute:
                continue
            if change.is_attribute:
                yield "of", keys[at - 2] if at > 1 else ""
                continue
            headers = [lines[header].definition for header in around[row]]
            headers.append(line.definition)
            yield "in", *(each[1] for each in headers if each is not None)
            if opened and keys[at + 1 : at + 2] == ["="]:
                yield "keyword", _callee(keys, opened[-1])
            if "lambda" in keys[:at]:
                yield ("lambda",)


def _callee(keys: Sequence[str], bracket: int) -> str:
    """Return what stands before a bracket: the names of a call, with their dots."""
    at = bracket
    while at and (keys[at - 1] == "." or (keys[at - 1].isidentifier() and (at == bracket or keys[at] == "."))):
        at -= 1
    return "".join(keys[at:bracket])


def applied(change: Rename, line: LogicalLine) -> str:
    """Return the text of a line with the new name in it."""
    if line.kind is not LineKind.CODE:
        return line.text
    words: list[str] = []
    before = ""
    for lexeme in line.lexemes:
        is_it = lexeme.key == change.old and (before == ".") is change.is_attribute
        words.append(lexeme.space + (change.new if is_it else lexeme.text))
        before = lexeme.key
    return "".join(words)
