"""What of a planned result stands in it word for word as in a text that somebody vouches for.

Most results are the target with some functions as the patch has them. What holds inside of such a function holds in the
changed text too, and a gate that compares the two finds nothing. Each property here is True when the rules of the same
name are sure to find nothing, which takes no syntax tree of the whole file; False says only that they have to be asked.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import Final

from patchkit.core.gating.chunk_facts import calls_by_name, is_called, is_doubled, is_known, reads, unbound
from patchkit.core.gating.layout import Chunk, Sides, functions_of, layout
from patchkit.core.gating.loose import GIVEN, bindable_words
from patchkit.core.gating.parsing import Version, parse, parses

_CALL: Final = re.compile(rb"(?<![\w.])(?:(?:self|cls)\.)?([^\W\d]\w*)\(")
# Begun where blanks begin: at each of a long row of blanks, a search would go through all that follow.
_HEAD: Final = re.compile(rb"(?<![ \t])[ \t]*(?:class|(?:async[ \t]+)?def)[ \t]+[\w\x80-\xff]+")
_OPTION: Final = re.compile(rb"[\"'](-[^\"'\n]*)[\"']")

# Lines outside functions about whose coming or going pyflakes may know more than the compiler's table: an order that
# does not fit, an export of nothing, a statement in the wrong place.
_TELLING: Final = re.compile(
    rb"(?!from\b|import\b|class\b|def\b|async\b)[^\s#)\]}\"']"
    rb"|[ \t]*@|[ \t]+[\"']\w+[\"'],|[ \t]+(?:return|yield|break|continue)\b"
)


class Verbatim:
    """The result of carrying a patch, compared with the target and with the changed text."""

    def __init__(self, changed: bytes, target: bytes, result: bytes, python: Version | None) -> None:
        self._result, self._target, self._changed = map(layout, (result, target, changed))
        self._text = result
        self._known_texts = changed, target
        self._python = python
        self._since_target = Sides(self._result, self._target)
        self._beside_changed = Sides(self._result, self._changed)
        self._new, self._old = self._since_target.here, self._since_target.there

    @cached_property
    def readable(self) -> bool:
        """The result is Python, if the target is."""
        if self._tables is None:
            return False
        if self._python is None:
            return True
        return all(parse(chunk.alone(self._of_target), self._python) is not None for chunk in self._new)

    @cached_property
    def names(self) -> bool:
        """No name is unbound that was not so before."""
        if self._tables is None or self.frame_moved:
            return False
        unknown = (name.encode() for name in frozenset[str]().union(*map(unbound, self._tables)) - GIVEN)
        return all(self._result.binds(name) for name in unknown) and self._nothing_lost

    @cached_property
    def flow(self) -> bool:
        """No local is read that has no value."""
        if self._unvouched is None:
            return False
        doubtful = [read for text in self._unvouched for read in reads(text)]
        return all(any(is_known(read, side) for side in (self._changed, self._target)) for read in doubtful)

    @cached_property
    def doubled(self) -> bool:
        """Nothing stands twice in one body, list or call."""
        if self._unvouched is None or any(map(is_doubled, self._unvouched)):
            return False
        if self._same_frame:
            return True
        new = Counter(name for chunk in self._result.chunks if (name := chunk.name))
        new -= Counter(chunk.name for chunk in self._target.chunks)
        imports = Counter(name for chunk in self._new for name in chunk.imports)
        imports -= Counter(name for chunk in self._old for name in chunk.imports)
        if any(len(self._result.places.get(name, ())) > 1 for name in new):
            return False
        there = Counter(name for chunk in self._result.chunks for name in chunk.imports) if imports else {}
        return not any(there[name] > 1 for name in imports)

    @cached_property
    def options(self) -> bool:
        """No option is added that is there."""
        if not any(b"add_argument" in chunk.text for chunk in self._new):
            return True
        here = Counter(name for chunk in self._new for name in _OPTION.findall(chunk.text))
        there = Counter(name for chunk in self._old for name in _OPTION.findall(chunk.text))
        return all(
            self._text.count(b'"' + name + b'"') + self._text.count(b"'" + name + b"'") == 1 for name in here - there
        )

    @cached_property
    def calls(self) -> bool:
        """Every call that is new, or whose callee has a new head, fits as it does where it comes from."""
        return self._vouched_calls_fit and self._fresh_calls_fit and self._callers_fit

    # what these rest on

    @cached_property
    def _of_target(self) -> frozenset[bytes]:
        return self._since_target.functions[1]

    @cached_property
    def _of_changed(self) -> frozenset[bytes]:
        """Functions of the changed text that may stand in what is new: those of the chunks that the target has not."""
        return functions_of(self._changed.beside(self._target))

    @cached_property
    def _fresh(self) -> list[Chunk]:
        """What holds functions that nobody has word for word."""
        vouched = self._of_target | self._of_changed
        return [chunk for chunk in self._new if not chunk.texts <= vouched]

    @cached_property
    def _same_frame(self) -> bool:
        return [chunk.frame for chunk in self._new] == [chunk.frame for chunk in self._old] and [
            chunk.text for chunk in self._result.chunks if chunk.text in self._target.texts
        ] == [chunk.text for chunk in self._target.chunks if chunk.text in self._result.texts]

    @cached_property
    def frame_moved(self) -> bool:
        """A line outside functions came or went that pyflakes may have something to say about."""
        return any(_TELLING.match(line) for line in self._added_frame | self._lost_frame)

    @cached_property
    def _added_frame(self) -> frozenset[bytes]:
        """Lines outside functions that the target does not have."""
        return self._since_target.new_frame

    @cached_property
    def _lost_frame(self) -> frozenset[bytes]:
        """Lines outside functions that the result does not have any more."""
        here = frozenset(line for chunk in self._new for line in chunk.frame)
        return frozenset(line for chunk in self._old for line in chunk.frame) - here

    @cached_property
    def _nothing_lost(self) -> bool:
        """What a lost line outside functions may have bound is bound all the same, or nobody mentions it."""
        lost, added = ({_beginning(line): line for line in lines} for lines in (self._lost_frame, self._added_frame))
        words = {word for start, line in lost.items() if start not in added for word in bindable_words(line)}
        # To search the whole text for a word takes longer.
        return all(self._result.binds(word) or word not in self._text for word in words)

    @cached_property
    def _tables(self) -> list[bytes] | None:
        found = [chunk.alone(self._of_target) for chunk in self._new]
        return found if all(map(parses, found)) else None

    @cached_property
    def _unvouched(self) -> list[bytes] | None:
        """What nobody vouches for; None when it cannot be read."""
        frames = {chunk.frame for chunk in self._old}
        wanted = [chunk for chunk in self._new if chunk in self._fresh or chunk.frame not in frames]
        found = [chunk.alone(self._of_target | self._of_changed) for chunk in wanted]
        return None if None in map(parse, found) else found

    @cached_property
    def _vouched_calls_fit(self) -> bool:
        """What is called in functions of the changed text and outside functions has the head that it has there."""
        vouched = self._since_target.functions[0] & self._of_changed - self._of_target
        frame = (_HEAD.sub(b"", line) for line in self._added_frame)
        called = {name for text in (*vouched, *frame) for name in _CALL.findall(text)}
        return all(map(self._beside_changed.same_heads, called))

    @cached_property
    def _fresh_calls_fit(self) -> bool:
        """Calls in functions that both sides changed stand there as on one of the sides, and so do their callees."""
        sides = self._beside_changed, self._since_target
        for chunk in self._fresh:
            called = calls_by_name(chunk.alone(self._of_target | self._of_changed))
            if called is None:
                return False
            for name, call in called:
                if name in self._defined:
                    same = (side.same_heads(name) for side in sides)
                    both = zip(same, self._known_texts, strict=True)
                    if not any(fits and call in text for fits, text in both):
                        return False
        return True

    @cached_property
    def _defined(self) -> frozenset[bytes]:
        """The names of classes and functions in the result."""
        return frozenset[bytes]().union(*(chunk.defined for chunk in self._result.chunks))

    @cached_property
    def _callers_fit(self) -> bool:
        """Who calls a function whose head is new calls it as in the changed text."""
        new = [name for name in self._since_target.new_heads if is_called(self._text, name)]
        if not new:
            return True
        if not all(map(self._beside_changed.same_heads, new)):
            return False
        here, there = self._beside_changed.functions
        lines = {line for chunk in self._beside_changed.here for line in chunk.frame}
        # Calls in functions that nobody has word for word are looked at one by one, by the rule above.
        merged = functions_of(self._fresh) - self._of_target - self._of_changed
        text = b"\n".join([*(here - there - merged), *lines])
        return not any(_calls(text, name + b"(") for name in new)


def _beginning(line: bytes) -> bytes:
    """Return a definition's head up to its name, and any other line as it is."""
    head = _HEAD.match(line)
    return line if head is None else head[0]


def _calls(text: bytes, word: bytes) -> bool:
    at = text.find(word)
    while at >= 0:
        if text[max(0, at - 6) : at] != b"class " and text[max(0, at - 4) : at] != b"def ":
            return True
        at = text.find(word, at + 1)
    return False
