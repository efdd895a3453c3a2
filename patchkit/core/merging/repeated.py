"""Statements that a merged text holds more often than any of its sides.

Both sides brought such a statement, at places that did not meet: as one that both moved, or that one moved and the
other changed. Texts are compared by chunks, from one class or function at module level to the next: what stands in a
chunk that the merged text and the target share stands as often in both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from patchkit.core.merging.lexemes import LineKind, LogicalLine, logical_lines
from patchkit.core.merging.sides import says_something
from patchkit.core.merging.words import SEPARATOR
from patchkit.core.remembered import remembered

_Place = tuple[tuple[str, ...], str]
"""The headers of the blocks around a statement, the outermost first, and its key."""

_NEXT: Final = re.compile(r"\n(?=class[ \t]|def[ \t]|async[ \t]+def[ \t])")
_WORD: Final = re.compile(r"\w+")


def stands_twice(sides: Sequence[str], merged: str) -> bool:
    """Tell whether a statement stands in one block of ``merged`` more often than on any of ``sides``.

    The last one of the sides is the target.
    """
    chunks = [_chunks(text) for text in (*sides, merged)]
    here, there = Counter(chunks[-1]), Counter(chunks[-2])
    more, fewer = _places((here - there).elements()), _places((there - here).elements())
    doubtful = {place for place, count in more.items() if count > fewer[place]}
    times = _places(_holding(chunks[-1], doubtful))
    doubtful = {place for place in doubtful if times[place] > 1}
    if not doubtful:
        return False
    known = [_places(_holding(each, doubtful)) for each in chunks[:-1]]
    # What stands below a header of the other side's stands in this block on no side: the function tells then.
    apart = {place for place in doubtful if not any(side[place] for side in known)}
    if any(times[place] > max(side[place] for side in known) for place in doubtful - apart):
        return True
    return bool(apart) and _twice_in_function(apart, chunks)


def _twice_in_function(apart: Iterable[_Place], chunks: Sequence[Sequence[str]]) -> bool:
    """Tell whether one of the statements stands in its function more often in the last text than in any other."""
    words = {_longest_word(key) for _, key in apart}
    counts = [
        _in_functions(_places(chunk for chunk in each if any(word in chunk for word in words))) for each in chunks
    ]
    return any(counts[-1][place] > max(side[place] for side in counts[:-1]) for place in _in_functions(Counter(apart)))


def _in_functions(places: Counter[_Place]) -> Counter[_Place]:
    """Count by the names of classes and functions alone: the headers of other blocks are left out."""
    found: Counter[_Place] = Counter()
    for (home, key), count in places.items():
        # A name is one word, the key of any other header has at least a colon more.
        found[tuple(header for header in home if SEPARATOR not in header), key] += count
    return found


def _holding(chunks: Iterable[str], places: Iterable[_Place]) -> Iterator[str]:
    """Yield the chunks that may hold one of ``places``: they have the longest word of the header and the statement."""
    wanted: dict[str, set[str]] = {}
    for home, key in places:
        wanted.setdefault(_longest_word(home[0]) if home else "", set()).add(_longest_word(key))
    for chunk in chunks:
        if any(name in chunk and any(word in chunk for word in words) for name, words in wanted.items()):
            yield chunk


def _longest_word(key: str) -> str:
    return max(_WORD.findall(key), key=len, default="")


def _chunks(text: str) -> list[str]:
    """Cut a text before its classes and functions at module level; not at all where a string may hold what looks so."""
    cuts = [0, *(match.end() for match in _NEXT.finditer(text)), len(text)]
    found = [text[begin:end] for begin, end in pairwise(cuts)]
    return found if all(map(_is_whole, found)) else [text]


def _is_whole(chunk: str) -> bool:
    """Tell whether no string of three quotes and no joined line goes on behind the chunk."""
    return chunk.count('"""') % 2 == 0 and chunk.count("'''") % 2 == 0 and not chunk.endswith("\\\n")


def _places(chunks: Iterable[str]) -> Counter[_Place]:
    """Count the statements of chunks that say something, by place; decorators stand above many functions."""
    found: Counter[_Place] = Counter()
    for chunk in chunks:
        found.update(_places_in(chunk))
    return found


@remembered(most=1_000_000)
def _places_in(chunk: str) -> Counter[_Place]:
    return Counter(
        (home, line.key)
        for home, line in _with_homes(logical_lines(chunk))
        if line.kind is LineKind.CODE and says_something(line.key) and not line.key.startswith("@")
    )


def _with_homes(lines: Iterable[LogicalLine]) -> Iterator[tuple[tuple[str, ...], LogicalLine]]:
    """Yield each line with the headers of the blocks around it, the outermost first."""
    around: list[tuple[int, tuple[str, ...]]] = [(-1, ())]  # indentation of the innermost header, and all headers
    for line in lines:
        if line.kind is LineKind.CODE:
            while around[-1][0] >= line.indent:
                around.pop()
        yield around[-1][1], line
        if line.opens:
            head = line.definition
            around.append((line.indent, (*around[-1][1], head[1] if head else line.key)))
