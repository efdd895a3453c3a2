"""Statements that a merged text holds more often than any of its sides.

Both sides brought such a statement, at places that did not meet: as one that both moved, or that one moved and the
other changed. Texts are compared by chunks, from one class or function at module level, or one function of a class, to
the next: what stands in a chunk that the merged text and the target share stands as often in both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from patchkit.core.merging.lexemes import LineKind, LogicalLine
from patchkit.core.merging.logical import cut_lines
from patchkit.core.merging.words import IN_ONE, IN_THREE, SEPARATOR, in_quotes, says_something
from patchkit.core.remembered import remembered

_Place = tuple[tuple[str, ...], str]
"""The headers of the blocks around a statement, the outermost first, and its key."""

_NEXT: Final = re.compile(r"\n(?=class[ \t]|def[ \t]|async[ \t]+def[ \t])")
_MEMBER: Final = re.compile(r"\n( +)(?:async )?def ")
_WORD: Final = re.compile(r"\w+")
_BRACKET: Final = re.compile(r"[()\[\]{}]")
_STEPS: Final = dict.fromkeys("([{", 1) | dict.fromkeys(")]}", -1)
"""How a bracket changes the depth."""
_NO_CODE: Final = re.compile(in_quotes(rf"{IN_THREE}QQQ|(?!QQQ){IN_ONE}Q") + r"|#[^\n]*", re.DOTALL)
"""A string or comment, read from where neither is open."""


class _Chunk(NamedTuple):
    """A part of a text in which whole statements stand."""

    owner: str
    """Name of the class that begins further up; empty at module level."""
    text: str

    def has(self, word: str) -> bool:
        """Tell whether the chunk, or the name of its class, has a word in it."""
        return word in self.text or word in self.owner


def stands_twice(sides: Sequence[str], merged: str) -> bool:
    """Tell whether a statement stands in one block of ``merged`` more often than on any of ``sides``.

    The last one of the sides is the target.
    """
    here, target = _chunks(merged), _chunks(sides[-1])
    more, fewer = (
        _places((Counter(here) - Counter(target)).elements()),
        _places((Counter(target) - Counter(here)).elements()),
    )
    doubtful = {place for place, count in more.items() if count > fewer[place]}
    times = _places(_holding(here, doubtful))
    doubtful = {place for place in doubtful if times[place] > 1}
    if not doubtful:
        return False
    chunks = [*map(_chunks, sides[:-1]), target]
    known = [_places(_holding(each, doubtful)) for each in chunks]
    # What stands below a header of the other side's stands in this block on no side: the function tells then.
    apart = {place for place in doubtful if not any(side[place] for side in known)}
    if any(times[place] > max(side[place] for side in known) for place in doubtful - apart):
        return True
    return bool(apart) and _twice_in_function(apart, [*chunks, here])


def _twice_in_function(apart: Iterable[_Place], chunks: Sequence[Sequence[_Chunk]]) -> bool:
    """Tell whether one of the statements stands in its function more often in the last text than in any other."""
    words = {_longest_word(key) for _, key in apart}
    counts = [_in_functions(_places(chunk for chunk in each if any(map(chunk.has, words)))) for each in chunks]
    return any(counts[-1][place] > max(side[place] for side in counts[:-1]) for place in _in_functions(Counter(apart)))


def _in_functions(places: Counter[_Place]) -> Counter[_Place]:
    """Count by the names of classes and functions alone: the headers of other blocks are left out."""
    found: Counter[_Place] = Counter()
    for (home, key), count in places.items():
        # A name is one word, the key of any other header has at least a colon more.
        found[tuple(header for header in home if SEPARATOR not in header), key] += count
    return found


def _holding(chunks: Iterable[_Chunk], places: Iterable[_Place]) -> Iterator[_Chunk]:
    """Yield the chunks that may hold one of ``places``: they have the longest word of the header and the statement."""
    wanted: dict[str, set[str]] = {}
    for home, key in places:
        wanted.setdefault(_longest_word(home[0]) if home else "", set()).add(_longest_word(key))
    for chunk in chunks:
        if any(chunk.has(name) and any(map(chunk.has, words)) for name, words in wanted.items()):
            yield chunk


def _longest_word(key: str) -> str:
    return max(_WORD.findall(key), key=len, default="")


def _chunks(text: str) -> list[_Chunk]:
    """Cut a text before its classes and functions; not at all where a string may hold what looks so."""
    cuts = [0, *(match.end() for match in _NEXT.finditer(text)), len(text)]
    found = [text[begin:end] for begin, end in pairwise(cuts)]
    return [part for chunk in found for part in _members(chunk)] if all(map(_is_whole, found)) else [_Chunk("", text)]


@remembered(most=1_000_000)
def _members(chunk: str) -> tuple[_Chunk, ...]:
    """Cut a class at module level, and what stands behind it, before its functions; anything else is left whole."""
    first = _MEMBER.search(chunk) if chunk.startswith("class ") else None
    if first is None:
        return (_Chunk("", chunk),)
    member = re.compile(rf"\n(?={first[1]}(?:async )?def )")
    cuts = [0, *(match.end() for match in member.finditer(chunk)), len(chunk)]
    head, *others = (chunk[begin:end] for begin, end in pairwise(cuts))
    header = cut_lines(head).lines[0]
    # What is indented less than the functions would end the class, or stand around them.
    less = re.compile(rf"\n {{0,{len(first[1]) - 1}}}[^\s#)\]}}]")
    if (
        header.definition is None
        or not header.opens
        or not all(map(_is_balanced, (head, *others)))
        or any(less.search("\n" + part) for part in (head[len(header.full) :], *others[:-1]))
    ):
        return (_Chunk("", chunk),)
    return (_Chunk("", head), *(_Chunk(header.definition[1], part) for part in others))


# The versions of a class have most of their functions in common.
@remembered(most=1_000_000)
def _is_balanced(part: str) -> bool:
    """Tell whether no string and no bracket goes on behind a part, as far as signs tell: in Python none can."""
    if not _is_whole(part):
        return False
    # A docstring may have a bracket alone, as that of a half-open range.
    signs = _BRACKET.findall(_NO_CODE.sub("", part))
    depths = list(accumulate(map(_STEPS.__getitem__, signs)))
    return not depths or (min(depths) == depths[-1] == 0)


def _is_whole(chunk: str) -> bool:
    """Tell whether no string of three quotes and no joined line goes on behind the chunk."""
    return chunk.count('"""') % 2 == 0 and chunk.count("'''") % 2 == 0 and not chunk.endswith("\\\n")


def _places(chunks: Iterable[_Chunk]) -> Counter[_Place]:
    """Count the statements of chunks that say something, by place; decorators stand above many functions."""
    found: Counter[_Place] = Counter()
    for chunk in chunks:
        for place, count in _places_in(chunk.text, chunk.owner).items():
            found[place] += count
    return found


@remembered(most=1_000_000)
def _places_in(text: str, owner: str) -> Counter[_Place]:
    return Counter(
        (home, line.key)
        for home, line in _with_homes(cut_lines(text).lines, owner)
        if line.kind is LineKind.CODE and says_something(line.key) and not line.key.startswith("@")
    )


def _with_homes(lines: Iterable[LogicalLine], owner: str) -> Iterator[tuple[tuple[str, ...], LogicalLine]]:
    """Yield each line with the headers of the blocks around it, the outermost first."""
    around: list[tuple[int, tuple[str, ...]]] = [(-1, ())]  # indentation of the innermost header, and all headers
    if owner:
        around.append((0, (owner,)))
    for line in lines:
        if line.kind is LineKind.CODE:
            while around[-1][0] >= line.indent:
                around.pop()
        yield around[-1][1], line
        if line.opens:
            head = line.definition
            around.append((line.indent, (*around[-1][1], head[1] if head else line.key)))
